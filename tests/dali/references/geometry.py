"""What DALI 2.4 gives for operators of geometry on its CPU: the cases, and how they were run.

    python tests/dali/references/geometry.py        # with nvidia-dali-cuda130==2.4.0: geometry.npz

The tests read the cases from here and the values from the file; they need no DALI.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

VALUES = Path(__file__).with_suffix(".npz")


class Case(NamedTuple):
    """A call of an operator; `interp_type`, filters and `dtype` are names in `types`."""

    operator: str
    shape: tuple[int, ...]
    layout: str
    dtype: str
    arguments: dict[str, Any]

    @property
    def name(self) -> str:
        """A key of the file."""
        return f"{self.operator} {self.shape} {self.layout} {self.dtype} {self.arguments}"

    def values(self) -> np.ndarray:
        """The input: waves with a sharp edge, and a little noise."""
        rng = np.random.default_rng(len(self.shape))
        if not self.layout:  # points, or a matrix
            return rng.uniform(-9, 9, self.shape).astype(self.dtype)
        places = np.indices(self.shape)
        waves = np.sin(places[-2] / 3 + places[0]) + np.cos(places[-3] / 4 + 2 * places[-1])
        values = 127 + 50 * waves + 20 * (places[-2] > 5) + rng.integers(0, 8, self.shape)
        if self.dtype in ("uint8", "int16"):
            return values.clip(0, 255).astype(self.dtype)
        if self.dtype == "uint16":
            return (values * 200).clip(0, 65535).astype(self.dtype)
        return values.astype(self.dtype)

    def given(self, types: Any) -> dict[str, Any]:
        """The arguments with the names of types looked up."""
        named = ("interp_type", "mag_filter", "min_filter", "dtype")
        return {
            key: getattr(types, value) if key in named else value
            for key, value in self.arguments.items()
        }


def _cases() -> list[Case]:
    cases = []

    def add(
        operator: str, shape: tuple[int, ...], layout: str, kind: str = "uint8", **arguments: Any
    ) -> None:
        cases.append(Case(operator, shape, layout, kind, arguments))

    image, clip, volume = (11, 14, 3), (2, 9, 12, 3), (6, 7, 8, 2)
    for policy in ("pad", "trim_to_shape"):
        for rounding in ("round", "truncate"):
            for place in (0.0, 0.3, 1.0):
                add(
                    *("crop", image, "HWC"),
                    crop=[16, 9],
                    crop_pos_y=place,
                    out_of_bounds_policy=policy,
                    rounding=rounding,
                )
    add("crop", clip, "FHWC", crop=[4, 30], out_of_bounds_policy="pad", fill_values=[1, 2.6, 3])
    add("crop", (3, 9, 12), "CHW", crop=[4, 5], crop_pos_x=0.3)
    add("crop", (2, 3, 9, 12), "FCHW", "int16", crop=[4, 5], crop_pos_x=0.3)
    add("crop", (3, 2, 9, 12), "CFHW", crop_d=1, crop_h=4, crop_w=5, crop_pos_z=0.9)
    add("crop", volume, "DHWC", crop=[3, 4, 5], crop_pos_z=0.2, dtype="FLOAT")
    add("crop", clip, "FHWC", crop=[1, 4, 5], crop_pos_z=1.0)

    normal = {"mean": [100.0, 110.0, 120.0], "std": [50.0, 51.0, 52.0]}
    add("crop_mirror_normalize", image, "HWC", **normal, crop=[5, 6], mirror=1)
    add("crop_mirror_normalize", (3, 9, 12), "CHW", **normal, output_layout="HWC", mirror=1)
    add("crop_mirror_normalize", clip, "FHWC", **normal, output_layout="FCHW", scale=3.0, shift=0.5)
    add("crop_mirror_normalize", clip, "FHWC", output_layout="CFHW", pad_output=True)
    add(
        *("crop_mirror_normalize", image, "HWC"),
        **normal,
        crop=[16, 9],
        crop_pos_y=0.3,
        mirror=1,
        out_of_bounds_policy="pad",
        fill_values=[7.0, 8.0, 9.0],
    )
    add(
        "crop_mirror_normalize",
        image,
        "HWC",
        "int16",
        dtype="INT8",
        output_layout="HWC",
        shift=-90.5,
    )
    add("crop_mirror_normalize", volume, "DHWC", crop=[3, 4, 5], output_layout="CDHW")

    for depth in (0, 1):
        for side in (0, 1):
            add("flip", volume, "DHWC", depthwise=depth, vertical=side, horizontal=1 - side)
    add("flip", (2, 6, 7, 8), "CDHW", depthwise=1, horizontal=0)

    filters = ("NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN")
    for kind in filters:
        for antialias in (True, False):
            for size in ([5, 6], [19, 30], [5, 30]):
                add(
                    *("resize", image, "HWC"),
                    size=size,
                    interp_type=f"INTERP_{kind}",
                    antialias=antialias,
                )
    for dtype in ("uint8", "uint16", "int16", "float32"):
        add("resize", image, "HWC", dtype, resize_shorter=6.7)
        add("resize", image, "HWC", dtype, resize_x=6.5, subpixel_scale=False, dtype="FLOAT")
    add("resize", image, "HWC", size=[-6, 7])
    add("resize", image, "HWC", resize_longer=23, max_size=[12, 20])
    add("resize", image, "HWC", size=[20, 6], mode="not_larger")
    add("resize", image, "HWC", size=[20, 6], mode="not_smaller", max_size=17)
    add("resize", image, "HWC", resize_y=5, mode="stretch", min_filter="INTERP_NN")
    add("resize", image, "HWC", size=[5, 30], mag_filter="INTERP_CUBIC", min_filter="INTERP_NN")
    add("resize", image, "HWC", size=[7, 7], roi_start=[1.5, 2.0], roi_end=[9.0, 11.5])
    add("resize", image, "HWC", size=[7, 7], roi_start=[9.0, -2.0], roi_end=[1.5, 16.0])
    add(
        *("resize", image, "HWC"),
        resize_shorter=6,
        roi_start=[0.1, 0.2],
        roi_end=[0.9, 0.7],
        roi_relative=True,
    )
    add("resize", (3, 9, 12), "CHW", size=[5, 30])
    add("resize", clip, "FHWC", resize_x=7)
    add("resize", (2, 3, 9, 12), "FCHW", resize_x=7)
    add("resize", volume, "DHWC", size=[3, 9, 5])
    add("resize", volume, "DHWC", resize_z=4)
    add("resize_crop_mirror", image, "HWC", resize_shorter=9, crop=[6, 7], mirror=1, crop_pos_x=0.2)
    add("resize_crop_mirror", clip, "FHWC", size=[20, 25], crop=[11, 12], crop_pos_y=0.9)

    for angle in (30.0, 45.0, 90.0, 133.0, -250.0):
        add("rotate", image, "HWC", angle=angle, fill_value=9.0)
        add("rotate", (2, 10, 13, 3), "FHWC", "int16", angle=angle, interp_type="INTERP_NN")
    add("rotate", image, "HWC", angle=30.0, keep_size=True)
    add("rotate", image, "HWC", "float32", angle=30.0, size=[7, 20], fill_value=-3.0)
    for axis in ([1.0, 0.0, 0.0], [0.3, -0.5, 0.8]):
        for kind in ("INTERP_NN", "INTERP_LINEAR"):
            add("rotate", volume, "DHWC", angle=37.0, axis=axis, fill_value=9.0, interp_type=kind)
    tilted = [0.91, 0.23, 0.1, -1.03, -0.31, 1.13, 0.2, 2.57, 0.11, -0.13, 0.87, 0.4]
    add("warp_affine", volume, "DHWC", matrix=tilted, size=[5.0, 8.0, 7.0])
    matrix = [0.91, 0.23, -1.03, -0.31, 1.13, 2.57]
    for kind in ("INTERP_NN", "INTERP_LINEAR"):
        add("warp_affine", image, "HWC", matrix=matrix, interp_type=kind, inverse_map=False)
        add("warp_affine", image, "HWC", matrix=matrix, interp_type=kind, fill_value=50.0)
        add(
            "warp_affine",
            clip,
            "FHWC",
            matrix=matrix,
            interp_type=kind,
            size=[5.4, 20],
            dtype="FLOAT",
        )

    for ratio in (1.0, 1.6, 2.4):
        add("paste", image, "HWC", ratio=ratio, paste_x=0.3, paste_y=0.7, fill_value=[1, 2, 3])
    add("paste", image, "HWC", ratio=1.2, min_canvas_size=16, fill_value=7)

    points = (4, 5, 2)
    add("coord_transform", points, "", "float32", M=[1.0, 2.0, 3.0, 4.0], T=[0.5, -3.0])
    add("coord_transform", points, "", "float32", MT=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    add("coord_transform", points, "", "int16", M=0.3, T=1.0)
    add("coord_flip", (6, 2), "", "float32", flip_y=1, center_y=3.0)
    add("coord_flip", (6, 3), "", "float32", flip_z=1, flip_x=0, center_z=-1.0)

    add("transforms.translation", (), "", offset=[1.0, 2.0, 3.0])
    add("transforms.scale", (), "", scale=[2.0, 3.0], center=[1.0, 5.0])
    add("transforms.scale", (), "", scale=2.0, ndim=3)
    add("transforms.rotation", (), "", angle=30.0, center=[1.0, 2.0])
    add("transforms.rotation", (), "", angle=30.0, axis=[1.0, 2.0, 3.0], center=[1.0, 0.5, 3.0])
    add("transforms.shear", (), "", shear=[1.0, 2.0], center=[1.0, 1.5])
    add("transforms.shear", (), "", angles=[10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    add("transforms.crop", (), "", from_start=[0.0, 0.1], from_end=[1.0, 0.5], to_end=[3.0, 5.0])
    add("transforms.crop", (), "", from_start=1.0, from_end=0.2, absolute=True)
    for reverse in (False, True):
        add(
            "transforms.translation",
            (2, 3),
            "",
            "float32",
            offset=[1.0, 2.0],
            reverse_order=reverse,
        )
        add("transforms.rotation", (2, 3), "", "float32", angle=20.0, reverse_order=reverse)
    return cases


CASES = _cases()


def _run(case: Case) -> np.ndarray:
    from nvidia.dali import Pipeline, fn, types

    operator = fn
    for part in case.operator.split("."):
        operator = getattr(operator, part)
    pipe = Pipeline(1, 1, device_id=None)
    with pipe:
        inputs = []
        if case.shape:
            layout = {"layout": case.layout} if case.layout else {}
            inputs = [fn.external_source(source=[[case.values()]], cycle=True, **layout)]
        pipe.set_outputs(operator(*inputs, **case.given(types)))
    pipe.build()
    return pipe.run()[0].at(0)


if __name__ == "__main__":
    np.savez_compressed(VALUES, **{f"case_{at}": _run(case) for at, case in enumerate(CASES)})
