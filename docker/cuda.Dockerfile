# docker build -f docker/cuda.Dockerfile -t videoloader:cuda .
# docker run --rm --gpus all --shm-size 8g -v /data:/data videoloader:cuda doctor
FROM nvidia/cuda:13.0.1-runtime-ubuntu24.04

# `video` mounts the driver's libnvcuvid, without which NVDEC is not there.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,video
ENV PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/venv/bin:$PATH

RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/venv

WORKDIR /src
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY videoloader videoloader
RUN pip install --constraint constraints.txt ".[cuda,query,remote]"

WORKDIR /
ENTRYPOINT ["videoloader"]
CMD ["doctor"]
