# Written by `python -m videoloader.fn.stubs`; do not edit.

from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

def random_mask_pixel(
    masks: _Data,
    /,
    *,
    foreground: int | _Values = 0,
    threshold: float | _Values = 0.0,
    value: int | _Values | None = None,
    seed: int | None = None,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Draw the coordinates of a pixel, each equally likely, of the foreground if there is any.

    Inputs:
        masks

    Args:
        foreground: draw pixels of the foreground unless 0 (int; default 0; may be per sample).
        threshold: the foreground is larger than this (float; default 0.0; may be per sample).
        value: the foreground is equal to this (int; may be per sample).
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def random_object_bbox(
    masks: _Data,
    /,
    *,
    background: int | _Values | None = None,
    foreground_prob: float | _Values = 1.0,
    classes: int | _Sequence[int] | _Values | None = None,
    class_weights: float | _Sequence[float] | _Values | None = None,
    threshold: int | _Sequence[int] | _Values | None = None,
    k_largest: int | None = None,
    ignore_class: bool | int = False,
    output_class: bool | int = False,
    format: str = 'anchor_shape',
    seed: int | None = None,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    cache_objects: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Draw a class, then one of its objects, and give the box around it.

    An object is pixels of one label that touch. Where nothing is left to draw, the box is the whole
    mask, and the label that of the background.

    Inputs:
        masks

    Args:
        background: label that is no object; by default 0, or one that is not in classes (int; may
            be per sample).
        foreground_prob: of an object, not the whole mask (float; default 1.0; may be per sample).
        classes: labels of objects; all but the background by default (int or list of int; may be
            per sample).
        class_weights: chances of the classes, or of the labels from 0 on without the background
            (float or list of float, at least 0; may be per sample).
        threshold: least sides of a box (int or list of int; may be per sample).
        k_largest: only that many largest boxes (int, at least 1).
        ignore_class: every object is equally likely, of any class (bool (0 or 1); default False).
        output_class: give the label too (bool (0 or 1); default False).
        format: two outputs, start and shape or start and end; or one with both, start and end (one
            of 'anchor_shape', 'start_end', 'box'; default 'anchor_shape').
        seed: of these draws, wherever the operator stands; -1: by the pipeline's and its place
            there (int, at least -1).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.

    Taken, no effect: cache_objects.
    """

def select_masks(
    mask_ids: _Data,
    polygons: _Data,
    vertices: _Data,
    /,
    *,
    reindex_masks: bool | int = False,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Keep the polygons of some masks and their vertices, in the order of `mask_ids`.

    Polygons are rows (mask, first vertex, end), as `fn.readers.coco` gives them. All polygons of a
    mask are kept, in their order.

    Inputs:
        mask_ids
        polygons
        vertices

    Args:
        reindex_masks: masks get their places among mask_ids (bool (0 or 1); default False).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """
