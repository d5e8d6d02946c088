# docker build -f docker/cpu.Dockerfile -t videoloader:cpu .
# docker run --rm -v /data:/data videoloader:cpu index /data/videos -o /data/set.parquet
FROM python:3.12-slim

# The index of PyTorch's CPU builds may be given; the default build brings CUDA's libraries along.
ARG PIP_EXTRA_INDEX_URL=
ENV PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1

WORKDIR /src
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY videoloader videoloader
RUN pip install --constraint constraints.txt ".[query,remote]"

WORKDIR /
ENTRYPOINT ["videoloader"]
CMD ["doctor"]
