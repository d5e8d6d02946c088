"""How far colours of decoded video are from those of DALI's CPU decoder, for each `chroma`.

A test pattern of 640x360, half blocks of colours and half gradients, in codecs that DALI decodes on
the CPU; VP9 keeps it exactly. The differences are between uint8 values::

    python benchmarks/dali/colors.py --dali /path/to/python/with/nvidia-dali

DALI's interpreter needs no other package than DALI and numpy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from videoloader.decoding.options import Chroma

sys.path.insert(0, str(Path(__file__).parents[1]))  # the modules of benchmarks/ that it shares

SIZE = (360, 640)
CHROMA: tuple[Chroma, ...] = ("nearest", "linear", "centered")
UNTAGGED, BT709, BT601 = 2, 1, 6
LOSSLESS = {"lossless": "1"}
VIDEOS: dict[str, tuple[str, str, str, int, dict[str, str]]] = {
    "VP9, 4:2:0": ("libvpx-vp9", "webm", "yuv420p", BT601, LOSSLESS),
    "VP9, 4:2:2": ("libvpx-vp9", "webm", "yuv422p", BT601, LOSSLESS),
    "VP9, 4:4:4": ("libvpx-vp9", "webm", "yuv444p", BT601, LOSSLESS),
    "VP9, 4:2:0, tagged BT.709": ("libvpx-vp9", "webm", "yuv420p", BT709, LOSSLESS),
    "VP8, 4:2:0": ("libvpx", "webm", "yuv420p", UNTAGGED, {"b": "20M", "qmin": "0", "qmax": "4"}),
    "MJPEG, 4:2:0": ("mjpeg", "avi", "yuvj420p", BT601, {"qmin": "1", "qmax": "1"}),
}


def pattern(pixel_format: str) -> Any:
    """Gradients above, blocks of 8 pixels below; chroma has the whole range of limited video."""
    import av

    height, width = SIZE
    frame = av.VideoFrame(width, height, pixel_format)
    random = np.random.default_rng(0)
    for number, plane in enumerate(frame.planes):
        rows, columns = plane.height, plane.width
        y, x = np.mgrid[:rows, :columns] / [[[rows]], [[columns]]]
        values = 16 + 219 * x if number == 0 else 16 + 224 * (y if number == 1 else x)
        step = 8 * columns // width
        cells = random.integers(16, 240, (rows, -(-columns // step)))
        blocks = np.repeat(np.repeat(cells[:: 8 * rows // height], step, 1), 8 * rows // height, 0)
        values = np.where(y < 0.5, values, blocks[:rows, :columns])
        memory = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        memory[:rows, :columns] = values.astype(np.uint8)
    return frame


def encode(path: Path, codec: str, pixel_format: str, matrix: int, options: Any) -> None:
    """Two frames of the pattern."""
    import av

    color_range = 2 if pixel_format.startswith("yuvj") else 1
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream(codec, rate=10, options=options)
        stream.width, stream.height, stream.pix_fmt = SIZE[1], SIZE[0], pixel_format
        stream.codec_context.colorspace = matrix
        stream.codec_context.color_range = color_range
        for number in range(2):
            frame = pattern(pixel_format)
            frame.pts, frame.colorspace, frame.color_range = number, matrix, color_range
            output.mux(stream.encode(frame))
        output.mux(stream.encode())


def decode_by_dali(folder: str) -> None:
    """Decode the first frame of each video in a folder with DALI; save it as `<name>.npy` there."""
    from nvidia.dali import fn, pipeline_def

    for path in sorted(Path(folder).glob("*.*")):

        def graph(name: str = str(path)) -> Any:
            return fn.experimental.readers.video(filenames=[name], sequence_length=1)

        made = pipeline_def(batch_size=1, num_threads=1, device_id=None)(graph)()
        made.build()
        np.save(path.with_suffix(".npy"), np.array(made.run()[0].at(0))[0])


def compare(dali: str) -> list[dict[str, Any]]:
    """Differences for each video and option, printed as they come."""
    import videoloader as vl

    results = []
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for number, (name, (codec, suffix, form, tag, options)) in enumerate(VIDEOS.items()):
            paths[name] = Path(folder) / f"{number}.{suffix}"
            encode(paths[name], codec, form, tag, options)
        subprocess.run([dali, __file__, "--decode", folder], check=True)
        for name, path in paths.items():
            theirs = np.load(path.with_suffix(".npy")).astype(int)
            for matrix in ("auto", "bt601"):
                for chroma in CHROMA:
                    with vl.Video(path, chroma=chroma, matrix=matrix) as video:
                        error = np.abs(video[0].numpy() - theirs)
                    row = {
                        "video": name,
                        "matrix": matrix,
                        "chroma": chroma,
                        "mean": round(float(error.mean()), 3),
                        "largest": int(error.max()),
                    }
                    results.append(row)
                    sys.stdout.write(
                        "{video:26} {matrix:6} {chroma:9} {mean:7} {largest:4}\n".format(**row)
                    )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dali", metavar="PYTHON", help="interpreter with nvidia-dali")
    parser.add_argument("--no-results", action="store_true", help="write no file")
    parser.add_argument("--decode", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.decode:
        decode_by_dali(arguments.decode)
        return
    if not arguments.dali:
        parser.error("--dali is needed")
    from machine import RESULTS, machine, today

    results = compare(arguments.dali)
    if not arguments.no_results:
        path = RESULTS / f"colors-{today()}.json"
        report = {"machine": machine(("numpy", "av", "opencv-python-headless")), "cases": results}
        path.write_text(json.dumps(report, indent=2) + "\n")
        sys.stdout.write(f"written to {path}\n")


if __name__ == "__main__":
    main()
