"""What DALI 2.4 makes of float arguments that stand for whole pixels or samples, on its CPU.

    python tests/dali/references/rounding.py             # with nvidia-dali==2.4.0: rounding.npz
    python tests/dali/references/rounding.py FILE 4096   # as many samples of each case, into a file

    VIDEOLOADER_ROUNDING=FILE python -m pytest tests/dali/operators/test_rounding.py     # compares

The tests read the cases from here and the values from the file; they need no DALI. Inputs count
their own elements, so the shape and the first element of an output say where it was cut. Arguments
are decimal fractions, many of which land near a half or a whole number.
"""

from __future__ import annotations

import json
import operator
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

VALUES = Path(__file__).with_suffix(".npz")
COUNT = 64
"""Samples of each case in the file."""


class Case(NamedTuple):
    """A call of an operator on a batch; `varying` has a value for each sample."""

    name: str
    operator: str
    inputs: list[np.ndarray]
    layout: str
    arguments: dict[str, Any]
    varying: dict[str, list[Any]]


def counted(*sides: int) -> np.ndarray:
    """The position of each element, int16 (*sides, dimensions)."""
    return np.stack(np.meshgrid(*map(np.arange, sides), indexing="ij"), -1).astype(np.int16)


def png(height: int, width: int) -> np.ndarray:
    """A PNG whose pixels are (row % 251, column % 251, 0)."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.arange(height)[:, None] % 251
    pixels[..., 1] = np.arange(width) % 251
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
    return np.frombuffer(b"\x89PNG\r\n\x1a\n" + parts, np.uint8)


def wave(length: int, rate: int) -> np.ndarray:
    """A WAV file whose samples count themselves."""
    data = (np.arange(length) % 32768).astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16)
    body = (
        b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    )
    return np.frombuffer(b"RIFF" + struct.pack("<I", len(body)) + body, np.uint8)


def cases(count: int) -> Iterator[Case]:
    """The cases, each a batch of `count` samples."""
    rng = np.random.default_rng(36)

    def parts(most: float = 1.0) -> list[float]:
        """Decimal fractions, the last tenth of them any numbers."""
        found = rng.choice([10, 20, 50, 100, 1000], count)
        fractions = rng.integers(0, (most * found).astype(int) + 1) / found
        return np.where(rng.random(count) < 0.9, fractions, most * rng.random(count)).tolist()

    def wholes(least: int, most: int) -> list[int]:
        return rng.integers(least, most, count).tolist()

    def pictures(most: int = 120, least: int = 2) -> list[np.ndarray]:
        each = zip(wholes(least, most), wholes(least, most), strict=True)
        return [counted(*sides) for sides in each]

    def small() -> list[np.ndarray]:
        """Pictures to resize, of which only the size matters."""
        return [picture[..., :1].astype(np.uint8) for picture in pictures(60, least=10)]

    def windows(images: list[np.ndarray], names: str = "hw") -> dict[str, list[Any]]:
        """A window that fits into each, with fractions of a pixel, and its place."""
        sizes = {
            f"crop_{name}": [
                float(rng.integers(10, 10 * image.shape[at] + 1)) / 10 for image in images
            ]
            for at, name in enumerate(names)
        }
        return sizes | {f"crop_pos_{'zyx'[-len(names) :][at]}": parts() for at in range(len(names))}

    for rounding in ("round", "truncate"):
        images = pictures()
        given = {"rounding": rounding}
        yield Case(f"crop {rounding}", "crop", images, "HWC", given, windows(images))
        images = pictures()
        yield Case(
            *(f"crop_mirror_normalize {rounding}", "crop_mirror_normalize", images, "HWC"),
            given | {"dtype": "FLOAT", "output_layout": "HWC"},
            windows(images),
        )
        files = [
            (file := (*sides,), png(*file))[1]
            for sides in zip(wholes(2, 90), wholes(2, 90), strict=True)
        ]
        shown = [np.zeros(np.frombuffer(file[16:24].tobytes(), ">u4")[::-1]) for file in files]
        yield Case(
            f"image_crop {rounding}", "decoders.image_crop", files, "", given, windows(shown)
        )
        volumes = [counted(*rng.integers(2, 20, 3)) for _ in range(count)]
        yield Case(
            f"crop of volumes {rounding}", "crop", volumes, "DHWC", given, windows(volumes, "dhw")
        )
        for policy in ("pad", "trim_to_shape"):
            images = pictures(40)
            larger = {
                "crop": [
                    [float(a), float(b)] for a, b in zip(wholes(1, 60), wholes(1, 60), strict=True)
                ],
                "crop_pos_x": parts(),
                "crop_pos_y": parts(),
            }
            yield Case(
                *(f"crop {policy} {rounding}", "crop", images, "HWC"),
                given | {"out_of_bounds_policy": policy, "fill_values": -1.0},
                larger,
            )

    def halves(images: list[np.ndarray]) -> tuple[list[Any], list[Any]]:
        """Where parts begin and how long they are, relative, (x, y)."""
        begin = np.array([parts(0.5), parts(0.5)]).T
        return begin.tolist(), (np.array([parts(0.45), parts(0.45)]).T + 0.05).tolist()

    for names in (("rel_start", "rel_shape"), ("rel_start", "rel_end"), ("start", "rel_shape")):
        images = pictures(least=20)
        start, length = halves(images)
        given = {names[0]: start, names[1]: length}
        if names[1] == "rel_end":
            given["rel_end"] = (np.array(start) + length).tolist()
        if names[0] == "start":
            given["start"] = [
                [int(a * image.shape[1]), int(b * image.shape[0])]
                for (a, b), image in zip(start, images, strict=True)
            ]
        yield Case(f"slice {names}", "slice", images, "HWC", {}, given)
        files = [png(*image.shape[:2]) for image in images]
        yield Case(f"image_slice {names}", "decoders.image_slice", files, "", {}, given)
    for policy in ("pad", "trim_to_shape"):
        images = pictures()
        start = (np.array([parts(1.5), parts(1.5)]).T - 0.5).tolist()
        given = {
            "rel_start": start,
            "rel_shape": (np.array([parts(1.5), parts(1.5)]).T + 0.05).tolist(),
        }
        options = {"out_of_bounds_policy": policy, "fill_values": -1.0}
        yield Case(f"slice beyond {policy}", "slice", images, "HWC", options, given)
    for normalized in ((True, True), (False, False), (True, False), (False, True)):
        images = pictures()
        start, length = halves(images)
        scales = [np.array([image.shape[1], image.shape[0]]) for image in images]
        at = [
            list(a if normalized[0] else np.round(np.array(a) * s, 1))
            for a, s in zip(start, scales, strict=True)
        ]
        size = [
            list(a if normalized[1] else np.round(np.array(a) * s, 1))
            for a, s in zip(length, scales, strict=True)
        ]
        yield Case(
            *(f"slice by position {normalized}", "slice", images, "HWC"),
            {
                "normalized_anchor": normalized[0],
                "normalized_shape": normalized[1],
                "out_of_bounds_policy": "pad",
            },
            {"anchor": at, "shape_input": size},
        )

    for how in ("resize_x", "resize_y", "resize_shorter", "resize_longer"):
        images = small()
        length = [each / 10 for each in wholes(5, 400)]
        yield Case(f"resize {how}", "resize", images, "HWC", {}, {how: length})
    for mode in ("default", "stretch", "not_larger", "not_smaller"):
        images = small()
        size = (np.array([wholes(1, 600), wholes(1, 600)]).T / 10).tolist()
        yield Case(f"resize {mode}", "resize", images, "HWC", {"mode": mode}, {"size": size})
        images = small()
        given = {"mode": mode, "max_size": [31.5, 17.3]}
        yield Case(f"resize {mode} bounded", "resize", images, "HWC", given, {"size": size})
        images = small()
        length = [each / 10 for each in wholes(5, 400)]
        yield Case(
            f"resize {mode} one side", "resize", images, "HWC", {"mode": mode}, {"resize_x": length}
        )
    images = small()
    start, length = halves(images)
    end = (np.array(start) + length)[:, ::-1].tolist()
    yield Case(
        *("resize roi", "resize", images, "HWC", {"roi_relative": True}),
        {
            "roi_start": [each[::-1] for each in start],
            "roi_end": end,
            "resize_shorter": [each / 10 for each in wholes(5, 400)],
        },
    )
    for rounding in ("round", "truncate", "ceil"):
        images = small()
        scales = np.array([parts(3), parts(3)]).T + 0.05
        given = {"size_rounding": rounding, "axes": [0, 1]}
        yield Case(
            f"tensor_resize scales {rounding}",
            "tensor_resize",
            images,
            "HWC",
            given,
            {"scales": scales.tolist()},
        )
        images = small()
        sizes = (np.array([wholes(5, 600), wholes(5, 600)]).T / 10).tolist()
        yield Case(
            f"tensor_resize sizes {rounding}",
            "tensor_resize",
            images,
            "HWC",
            given,
            {"sizes": sizes},
        )

    signals = [np.zeros(length, np.float32) for length in wholes(1, 9000)]
    yield Case(
        "audio_resample scale",
        "audio_resample",
        signals,
        "",
        {"quality": 0.0},
        {"scale": [each + 0.01 for each in parts(2)]},
    )
    rates = [8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000]
    signals = [np.zeros(length, np.float32) for length in wholes(1, 9000)]
    pairs = {
        "in_rate": [float(x) for x in rng.choice(rates, count)],
        "out_rate": [float(x) for x in rng.choice(rates, count)],
    }
    yield Case("audio_resample rates", "audio_resample", signals, "", {"quality": 0.0}, pairs)
    signals = [np.zeros(length, np.float32) for length in wholes(1, 9000)]
    tenths = {
        "in_rate": [0.1 + each for each in parts(2)],
        "out_rate": [0.1 + each for each in parts(2)],
    }
    yield Case("audio_resample fractions", "audio_resample", signals, "", {"quality": 0.0}, tenths)
    files = [
        wave(length, rate)
        for length, rate in zip(wholes(1, 9000), rng.choice(rates, count).tolist(), strict=True)
    ]
    wanted = [
        float(rate) + extra for rate, extra in zip(rng.choice(rates, count), parts(), strict=True)
    ]
    yield Case(
        "decoders.audio", "decoders.audio", files, "", {"quality": 0.0}, {"sample_rate": wanted}
    )

    tall = [
        np.zeros((side, 10 * other), np.int16)
        for side, other in zip(wholes(1, 90), wholes(1, 9), strict=True)
    ]
    factors = [[rng.integers(1, 2 * array.shape[0] + 1) / array.shape[0], -1.0] for array in tall]
    kept = [
        (a, f) for a, f in zip(tall, factors, strict=True) if a.size % round(f[0] * a.shape[0]) == 0
    ]
    kept = (kept * count)[:count]
    yield Case(
        "reshape",
        "reshape",
        [a for a, _ in kept],
        "",
        {},
        {"rel_shape": [[float(x) for x in f] for _, f in kept]},
    )

    images = [image.astype(np.uint8) for image in pictures(60)]
    given = {"ratio": [1 + each for each in parts(2)], "paste_x": parts(), "paste_y": parts()}
    yield Case(
        "paste", "paste", images, "HWC", {"fill_value": [250.0, 250.0], "n_channels": 2}, given
    )
    yield Case(
        *(
            "paste on a least canvas",
            "paste",
            images,
            "HWC",
            {"fill_value": [250.0, 250.0], "n_channels": 2},
        ),
        given | {"min_canvas_size": [each / 10 for each in wholes(0, 1500)]},
    )
    images = [np.ascontiguousarray(image[..., :1] * 0 + 1) for image in pictures(60)]
    for centered in (False, True):
        for normalized in (False, True):
            anchor, shape = np.array([parts(1.2), parts(1.2)]).T, np.array([parts(), parts()]).T
            if not normalized:
                anchor, shape = np.round(anchor * 50, 1), np.round(shape * 50, 1)
            yield Case(
                *(f"erase {centered=} {normalized=}", "erase", images, "HWC"),
                {"centered_anchor": centered, "normalized": normalized},
                {"anchor": anchor.tolist(), "shape": shape.tolist()},
            )
    yield Case(
        "rotate", "rotate", pictures(60), "HWC", {}, {"angle": [each * 36 for each in parts(10)]}
    )
    yield Case(
        *("rotate into a size", "rotate", pictures(60), "HWC", {"angle": 0.0}),
        {"size": (np.array([wholes(10, 600), wholes(10, 600)]).T / 10).tolist()},
    )
    yield Case(
        *(
            "warp_perspective",
            "experimental.warp_perspective",
            [each.astype(np.uint8) for each in pictures(60)],
            "HWC",
            {"matrix": [1.0, 0, 0, 0, 1, 0, 0, 0, 1]},
        ),
        {"size": (np.array([wholes(10, 600), wholes(10, 600)]).T / 10).tolist()},
    )
    yield Case(
        *("warp_affine", "warp_affine", pictures(60), "HWC", {"matrix": [1.0, 0, 0, 0, 1, 0]}),
        {"size": (np.array([wholes(10, 600), wholes(10, 600)]).T / 10).tolist()},
    )
    spots = []
    for _ in range(count):
        spots.append(np.zeros((61, 61, 1), np.float32))
        spots[-1][30, 30] = 1
    arrays = pictures()
    start, length = halves(arrays)
    regions = {"rel_roi_start": start, "rel_roi_shape": length}
    yield Case("readers.numpy", "readers.numpy", arrays, "", {"roi_axes": [1, 0]}, regions)
    files = [
        wave(length, rate)
        for length, rate in zip(wholes(9000, 20000), rng.choice(rates, count).tolist(), strict=True)
    ]
    spans = {  # DALI reads numbers of more digits with less precision than Python
        "offset": [round(each / 10, 6) for each in parts()],
        "duration": [round(each / 10 + 0.01, 6) for each in parts()],
    }
    for rate in (-1.0, 16000.0, 22050.0):
        given = {"sample_rate": rate, "quality": 0.0, "dtype": "INT16"}
        yield Case(f"readers.nemo_asr {rate}", "readers.nemo_asr", files, "", given, spans)
    yield Case(
        "gaussian_blur",
        "gaussian_blur",
        spots,
        "HWC",
        {},
        {"sigma": [[each + 0.05] for each in parts(5)]},
    )


def summary(case: Case, output: np.ndarray) -> list[int]:
    """Shape, where what is not filled lies (its first and last row and column), the first element.

    Of a resized or rotated picture the shape only: its pixels may lie between two numbers.
    """
    found = [*output.shape, *[-1] * (4 - output.ndim)]
    if not output.size or any(word in case.operator for word in ("resize", "rotate")):
        return [*found, *[-1] * 7]
    if output.ndim == 1:
        return [*found, *[-1] * 4, int(output[0]) if output.dtype.kind in "iu" else -1, -1, -1]
    empty = 250 if output.dtype == np.uint8 else 0 if output.max() == 1 else -1
    low, high = [-2, -2], [-2, -2]
    if len(inside := np.argwhere((output != empty).any(axis=-1))):
        low, high = inside.min(axis=0)[-2:].tolist(), inside.max(axis=0)[-2:].tolist()
    first = output[(0,) * (output.ndim - 1)].astype(int).tolist()[:3]
    return [*found, *low, *high, *first, *[-1] * (3 - len(first))]


def are_whole(values: list[Any]) -> bool:
    """Whether an argument is given as integers."""
    return isinstance(np.asarray(values[0]).reshape(-1)[0].item(), int)


def stored(case: Case, folder: Path) -> dict[str, Any]:
    """Write the files that a reader reads; the arguments that name them."""
    if case.operator == "readers.numpy":
        names = [str(folder / f"{at}.npy") for at in range(len(case.inputs))]
        for name, array in zip(names, case.inputs, strict=True):
            np.save(name, array)
        return {"files": names}
    lines = []
    for at, file in enumerate(case.inputs):
        (folder / f"{at}.wav").write_bytes(file.tobytes())
        fields = {name: values[at] for name, values in case.varying.items()}
        lines.append(
            json.dumps({"audio_filepath": str(folder / f"{at}.wav"), "text": "", **fields})
        )
    (folder / "manifest.json").write_text("\n".join(lines))
    return {
        "manifest_filepaths": [str(folder / "manifest.json")],
        "read_sample_rate": False,
        "read_text": False,
    }


def by_dali(case: Case) -> list[np.ndarray]:
    """The outputs of DALI."""
    from nvidia.dali import fn, pipeline_def, types

    count = len(case.inputs)
    arguments = dict(case.arguments)
    if "dtype" in arguments:
        arguments["dtype"] = getattr(types, arguments["dtype"])

    def given(values: list[Any]) -> Any:
        kind = np.int32 if are_whole(values) else np.float32
        arrays = [np.array(value, kind) for value in values]
        return fn.external_source(source=[arrays], cycle=True)

    with tempfile.TemporaryDirectory() as folder:
        is_reader = case.operator.startswith("readers.")
        if is_reader:
            arguments |= stored(case, Path(folder))

        @pipeline_def(batch_size=count, num_threads=2, device_id=None)
        def pipeline() -> Any:
            varying = {name: given(values) for name, values in case.varying.items()}
            called = operator.attrgetter(case.operator)(fn)
            if case.operator == "readers.nemo_asr":
                return called(**arguments)
            if is_reader:
                return called(**arguments, **varying)
            layout = {"layout": case.layout} if case.layout else {}
            data = [fn.external_source(source=[case.inputs], cycle=True, **layout)]
            data += [
                varying.pop(name)
                for name in ("anchor", "shape_input")
                if case.operator == "slice" and name in varying
            ]
            made = called(*data, **arguments, **varying)
            return made[0] if isinstance(made, (list, tuple)) else made

        (outputs,) = pipeline().run()
        return [np.array(outputs.at(at)) for at in range(count)]


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else VALUES
    count = int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
    results = {
        case.name: np.array([summary(case, each) for each in by_dali(case)], np.int32)
        for case in cases(count)
    }
    np.savez_compressed(target, **results)
