"""What DALI 2.4 gives for boxes, masks and erased regions on its CPU: the cases, and how they ran.

    python tests/dali/references/boxes.py        # with nvidia-dali-cuda130==2.4.0: boxes.npz

The tests read the cases from here and the values from the file; they need no DALI.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

VALUES = Path(__file__).with_suffix(".npz")


class Case(NamedTuple):
    """A call of an operator on batches with a layout each; `varying` arguments are per sample."""

    operator: str
    inputs: list[tuple[list[np.ndarray], str]]
    arguments: dict[str, Any]
    varying: dict[str, list[np.ndarray]]

    @property
    def name(self) -> str:
        """What tells a failing case."""
        return f"{self.operator} {self.inputs[0][1]} {self.arguments} {list(self.varying)}"


def boxes(rng: np.random.Generator, count: int, *, sizes: bool = False) -> np.ndarray:
    """Boxes inside the unit square, float32 (count, 4)."""
    corners = np.sort(rng.random((count, 2, 2)), axis=1).reshape(count, 4)
    if sizes:
        corners[:, 2:] -= corners[:, :2]
    return corners.astype(np.float32)


def picture(rng: np.random.Generator, shape: tuple[int, ...], kind: str = "uint8") -> np.ndarray:
    """Values from 1 on: what is erased differs."""
    return rng.integers(1, 120, shape).astype(kind)


def _cases() -> list[Case]:
    cases: list[Case] = []
    rng = np.random.default_rng(12)

    def add(
        operator: str, *inputs: Any, varying: dict[str, Any] | None = None, **given: Any
    ) -> None:
        batches = [each if isinstance(each, tuple) else (each, "") for each in inputs]
        cases.append(Case(operator, batches, given, varying or {}))

    for ltrb in (False, True):
        given = [boxes(rng, 4, sizes=not ltrb), boxes(rng, 0), boxes(rng, 1, sizes=not ltrb)]
        for horizontal, vertical in ((0, 1), (1, 0), (2, 1)):
            add("bb_flip", given, ltrb=ltrb, horizontal=horizontal, vertical=vertical)
        add("bb_flip", given, varying={"horizontal": [np.int32(at % 2) for at in range(3)]})
        add("bb_flip", [given[0].reshape(-1), given[2][0]], ltrb=ltrb)
        add("bbox_paste", given, ltrb=ltrb, ratio=1.7, paste_x=0.2)
        add("bbox_paste", given, ltrb=ltrb, varying={"ratio": [np.float32(x) for x in (1, 2, 4)]})

    label = np.arange(6, dtype=np.int32)
    for angle in (30.0, -77.0, 90.0, 135.5):
        for mode in ("expand", "halfway", "fixed"):
            for keep in (False, True):
                add(
                    *("bbox_rotate", [boxes(rng, 6), boxes(rng, 0)]),
                    *([label, label[:0]],),
                    angle=angle,
                    mode=mode,
                    keep_size=keep,
                    remove_threshold=0.4,
                    input_shape=[61, 100, 3],
                )
    add("bbox_rotate", [boxes(rng, 6)], [label[:, None]], angle=20.0, input_shape=[31, 52])
    add("bbox_rotate", [boxes(rng, 6)], angle=20.0, input_shape=[31, 52], shape_layout="WH")
    add(
        *("bbox_rotate", [boxes(rng, 5, sizes=True)]),
        angle=-20.0,
        input_shape=[31, 52],
        bbox_layout="xyWH",
        size=[40.0, 30.0],
    )
    pixels = boxes(rng, 5) * np.float32([52, 31, 52, 31])
    for layout in ("xyXY", "xyWH"):
        add(
            *("bbox_rotate", [pixels]),
            angle=33.0,
            input_shape=[31, 52],
            bbox_normalized=False,
            keep_size=True,
            bbox_layout=layout,
            remove_threshold=0.0,
        )
    add(
        *("bbox_rotate", [boxes(rng, 3), boxes(rng, 2)]),
        varying={
            "angle": [np.float32(10), np.float32(-50)],
            "input_shape": [np.int64([20, 30, 3]), np.int64([31, 30, 3])],
        },
    )

    anchors = boxes(rng, 24).reshape(-1).tolist()
    coarse = (np.round(boxes(rng, 9) * 4) / 4).astype(np.float32)
    coarse = coarse[(coarse[:, 2:] > coarse[:, :2]).all(axis=1)]
    squares = [0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 0.25, 0.25, 0.75, 0.75, 0.0, 0.0, 1.0, 1.0]
    for criteria in (0.1, 0.25, 0.5):
        given = [boxes(rng, 5), boxes(rng, 0), boxes(rng, 1)]
        kinds = [label[:5] + 3, label[:0], label[:1] + 7]
        add("box_encoder", given, kinds, anchors=anchors, criteria=criteria)
        add(
            *("box_encoder", given, kinds),
            anchors=anchors,
            criteria=criteria,
            offset=True,
            scale=30.0,
            means=[0.1, 0.2, 0.3, 0.4],
            stds=[0.1, 0.2, 0.5, 1.5],
        )
        kinds = [np.arange(len(coarse), dtype=np.int32) + 1]
        add("box_encoder", [coarse], kinds, anchors=squares * 2, criteria=criteria)
    add("box_encoder", [coarse[:2]], [label[:2, None]], anchors=squares)

    polygons = np.int32([[0, 0, 3], [1, 3, 7], [2, 7, 10]])
    for ids in ([1], [2, 0], []):
        for again in (False, True):
            for kind in ("float32", "int16"):
                points = rng.integers(0, 99, (10, 2)).astype(kind)
                chosen = [np.array(ids, dtype=np.int32)]
                add(
                    *("segmentation.select_masks", chosen, [polygons], [points]),
                    reindex_masks=again,
                )
    spot = np.zeros((4, 5), dtype=np.int32)
    spot[2, 3], spot[1, 1] = 7, 2
    pixel = "segmentation.random_mask_pixel"
    add(pixel, [spot], foreground=1, threshold=5.0)
    for kind in ("uint8", "int64", "float32", "uint16"):
        add(pixel, [spot.astype(kind)], foreground=1, value=2)

    images = [picture(rng, (9, 12, 2)), picture(rng, (7, 10, 2))]
    planar = [picture(rng, (2, 9, 12)), picture(rng, (2, 7, 10))]
    clips = [picture(rng, (3, 8, 9, 2)), picture(rng, (2, 8, 9, 2))]
    for data in ((images, "HWC"), (planar, "CHW")):
        add("erase", data, anchor=[1.0, 2.0], shape=[3.0, 4.0], fill_value=[5.0, 6.5])
        add("erase", data, anchor=[1.0, 2.0, 5.0, -3.0], shape=[3.0, 4.0, 9.0, 5.0])
        add("erase", data, anchor=[1.0, 6.0], shape=[3.0, 2.0], axis_names="W", fill_value=9.0)
        add("erase", data, shape=[3.0, 2.0], axis_names="WH")
        add("erase", data, anchor=[1.0], shape=[1.0], axes=[0])
    for place in np.linspace(-0.3, 0.9, 9).tolist():
        size = abs(place) * 0.7 + 0.2
        for centered in (False, True):
            add(
                *("erase", (images, "HWC")),
                anchor=[place, place / 2],
                shape=[size, size],
                normalized=True,
                centered_anchor=centered,
            )
        far = place * 10
        add("erase", (images, "HWC"), anchor=[far, far], shape=[0.3, size], normalized_shape=True)
        add("erase", (images, "HWC"), anchor=[place, 0.1], shape=[2.5, far], normalized_anchor=True)
    for kind in ("int8", "uint16", "int32", "float16", "float32", "int64"):
        data = ([image.astype(kind) for image in images], "HWC")
        add("erase", data, anchor=[1.0, 2.0], shape=[2.0, 3.0], fill_value=[7.0, 8.0])
    add("erase", (clips, "FHWC"), anchor=[1.0, 2.0, 3.0], shape=[1.0, 3.0, 4.0])
    add("erase", (clips, "FHWC"), anchor=[1.0, 2.0], shape=[3.0, 4.0], axis_names="HW")
    add(
        *("erase", (images, "HWC")),
        varying={
            "anchor": [np.float32([1, 2]), np.float32([3, 4, 0, 0])],
            "shape": [np.float32([1, 2]), np.float32([2, 2, 1, 1])],
            "fill_value": [np.float32([3, 4]), np.float32([5, 6])],
        },
    )

    larger = [picture(rng, (60, 71, 1)), picture(rng, (50, 40, 1))]
    for tile, ratio, angle in ((13, 0.4, 0.0), (20, 0.5, 0.7), (7, 0.61, -2.0), (30, 0.3, 1.57)):
        for shift in (0.0, 3.7):
            add(
                *("grid_mask", (larger, "HWC")),
                tile=tile,
                ratio=ratio,
                angle=angle,
                shift_x=shift,
                shift_y=-2 * shift,
            )
    add("grid_mask", ([larger[0].astype("float32")], "HWC"), tile=9, angle=0.3)

    alike = [picture(rng, (6, 8, 2)), picture(rng, (6, 8, 2))]
    add("multi_paste", (alike, "HWC"), (alike[::-1], "HWC"))
    add("multi_paste", (images, "HWC"), in_ids=[1, 0], output_size=[9, 13], dtype="FLOAT")
    numbers = [np.int32([0, 1, 1]), np.int32([])]
    points = [np.int32([[0, 0], [2, 1], [4, 3]]), np.zeros((0, 2), np.int32)]
    sizes = [np.int32([[3, 3], [1, 5], [4, 2]]), np.zeros((0, 2), np.int32)]
    shares = [np.float32([[0.3, 0.3], [0.1, 0.2], [0.44, 0.1]]), np.zeros((0, 2), np.float32)]
    for varying in (
        {"in_anchors": points, "out_anchors": points},
        {"in_anchors_rel": shares, "shapes": sizes, "out_anchors_rel": shares},
        {
            "in_anchors": points,
            "shapes_rel": [share / 2 for share in shares],
            "out_anchors": points,
        },
    ):
        add(
            *("multi_paste", (images, "HWC")),
            output_size=[14, 17],
            varying={"in_ids": numbers, **varying},
        )
    return cases


CASES = _cases()


def pack(results: list[list[np.ndarray]]) -> dict[str, np.ndarray]:
    """Arrays of all cases as few arrays of a file: archives have a price for each."""
    flat = [array for case in results for array in case]
    return {
        "values": np.frombuffer(b"".join(array.tobytes() for array in flat), np.uint8),
        "shapes": np.array([[*array.shape, *[-1] * (4 - array.ndim)] for array in flat], np.int16),
        "dtypes": np.array([array.dtype.str for array in flat]),
        "counts": np.array([len(case) for case in results], np.int16),
    }


def unpack(file: Any) -> list[list[np.ndarray]]:
    """What `pack` packed."""
    data, at, flat = file["values"].tobytes(), 0, []
    for shape, dtype in zip(file["shapes"].tolist(), file["dtypes"].tolist(), strict=True):
        sides = [side for side in shape if side >= 0]
        count = int(np.prod(sides, dtype=int))
        flat.append(np.frombuffer(data, dtype, count, at).reshape(sides))
        at += count * np.dtype(dtype).itemsize
    ends = np.cumsum(file["counts"])
    return [flat[end - count : end] for end, count in zip(ends, file["counts"], strict=True)]


def _run(case: Case) -> list[np.ndarray]:
    """The samples of the first output, then of the next."""
    from nvidia.dali import Pipeline, fn, types

    operator = fn
    for part in case.operator.split("."):
        operator = getattr(operator, part)
    count = len(case.inputs[0][0])
    pipe = Pipeline(count, 1, device_id=None)
    with pipe:
        inputs = [
            fn.external_source(source=[batch], cycle=True, **({"layout": layout} if layout else {}))
            for batch, layout in case.inputs
        ]
        given = dict(case.arguments)
        if "dtype" in given:
            given["dtype"] = getattr(types, given["dtype"])
        for key, values in case.varying.items():
            given[key] = fn.external_source(source=[values], cycle=True)
        outputs = operator(*inputs, **given)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    pipe.build()
    return [np.array(batch.at(at)) for batch in pipe.run() for at in range(count)]


if __name__ == "__main__":
    np.savez_compressed(VALUES, **pack([_run(case) for case in CASES]))
