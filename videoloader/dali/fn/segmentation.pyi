# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def random_mask_pixel(
    masks: _Data, /, *, foreground: int | _Values = 0, threshold: float | _Values = 0.0,
    value: int | _Values | None = None, seed: int | None = None, device: str | None = None, name: str | None = None,
    bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Draw the coordinates of a pixel, each equally likely, of the foreground if there is any."""

def random_object_bbox(
    masks: _Data, /, *, background: int | _Values | None = None, foreground_prob: float | _Values = 1.0,
    classes: _Ints | _Values | None = None, class_weights: _Floats | _Values | None = None,
    threshold: _Ints | _Values | None = None, k_largest: int | None = None, ignore_class: bool | int = False,
    output_class: bool | int = False, format: str = 'anchor_shape', seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., cache_objects: Any = ..., preserve: Any = ...
) -> Any:
    """Draw a class, then one of its objects, and give the box around it."""

def select_masks(
    mask_ids: _Data, polygons: _Data, vertices: _Data, /, *, reindex_masks: bool | int = False,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Keep the polygons of some masks and their vertices, in the order of `mask_ids`."""
