"""Stores videos, and what DALI 2.4's CPU decoder makes of their first frames, in chroma.npz.

python tests/dali/references/chroma.py    # needs nvidia-dali and PyAV
"""

import io
import tempfile
from pathlib import Path

import av
import numpy as np

LOSSLESS = {"lossless": "1"}
VIDEOS = {
    "vp8": ("libvpx", "webm", "yuv420p", {"b": "20M", "qmin": "0", "qmax": "4"}),
    "vp9-420": ("libvpx-vp9", "webm", "yuv420p", LOSSLESS),
    "vp9-422": ("libvpx-vp9", "webm", "yuv422p", LOSSLESS),
    "vp9-444": ("libvpx-vp9", "webm", "yuv444p", LOSSLESS),
    "mjpeg": ("mjpeg", "avi", "yuvj420p", {"qmin": "1", "qmax": "1"}),
}
WIDTH, HEIGHT = 80, 48
BT601, LIMITED, FULL = 6, 1, 2


def picture(pixel_format):
    """Blocks of chroma that jump, on flat luma, so that no colour is clamped."""
    frame = av.VideoFrame(WIDTH, HEIGHT, pixel_format)
    random = np.random.default_rng(0)
    for number, plane in enumerate(frame.planes):
        cells = random.integers(90, 166, (HEIGHT // 4, WIDTH // 4)) if number else [[120]]
        size = 4 if number else max(WIDTH, HEIGHT)
        values = np.kron(cells, np.ones((size, size)))[: plane.height, : plane.width]
        memory = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        memory[: plane.height, : plane.width] = values.astype(np.uint8)
    return frame


def encoded(codec, container, pixel_format, options):
    """A file of two such frames."""
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        stream = output.add_stream(codec, rate=10, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixel_format
        color_range = FULL if pixel_format.startswith("yuvj") else LIMITED
        for number in range(2):
            frame = picture(pixel_format)
            frame.pts, frame.colorspace, frame.color_range = number, BT601, color_range
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return file.getvalue()


def decoded_by_dali(path):
    """The first frame of a file."""
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return fn.experimental.readers.video(filenames=[path], sequence_length=1)

    made = pipeline()
    made.build()
    return np.array(made.run()[0].at(0))[0]


def main():
    stored = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, how in VIDEOS.items():
            data = encoded(*how)
            path = Path(folder) / f"{name}.{how[1]}"
            path.write_bytes(data)
            stored[f"{name} file"] = np.frombuffer(data, np.uint8)
            stored[f"{name} frame"] = decoded_by_dali(str(path))
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **stored)


if __name__ == "__main__":
    main()
