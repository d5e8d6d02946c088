"""The folder that annotations of a COCO file are kept in, with DALI's files and their names.

A file has the number of its elements, uint32, then these, little-endian; without elements there is
none. Boxes are as the reader gives them; of objects, polygons, vertices and run lengths each image
has a range.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.readers.files.annotations import Annotated
from videoloader.dali.readers.files.masks import read_counts
from videoloader.errors import ArgumentError, FormatError, SourceError, VideoError
from videoloader.machinery.system.address import scrubbed, shown

_NAMES, _IDS, _RUNS = "filenames.dat", "original_ids.dat", "masks_rles.dat"
_ELEMENTS: Mapping[str, tuple[str, int]] = {  # type, and numbers in an element
    "offsets.dat": ("<i4", 1),
    "counts.dat": ("<i4", 1),
    "boxes.dat": ("<f4", 1),
    "labels.dat": ("<i4", 1),
    _IDS: ("<i4", 1),
    "polygon_data.dat": ("<i4", 3),  # object, first vertex, end vertex
    "polygon_offset.dat": ("<i8", 1),
    "polygons_count.dat": ("<i8", 1),
    "vertices.dat": ("<f4", 2),
    "vertices_offset.dat": ("<i8", 1),
    "vertices_count.dat": ("<i8", 1),
    "masks_rles_idx.dat": ("<i4", 1),  # object
    "masks_offset.dat": ("<i8", 1),
    "mask_count.dat": ("<i8", 1),
    "heights.dat": ("<i4", 1),
    "widths.dat": ("<i4", 1),
}
_RUNS_HEAD = np.dtype([("height", "<u8"), ("width", "<u8"), ("count", "<u8")])


def save_annotations(
    folder: str,
    images: Sequence[Annotated],
    points: Callable[[Annotated], tuple[NDArray[np.float32], NDArray[np.float32] | None]],
    *,
    with_ids: bool,
    with_masks: bool,
) -> None:
    """Keep images and their objects in a folder, for `load_annotations` and for DALI.

    Args:
        folder: to write to.
        images: to keep.
        points: gives the boxes of an image as the reader does, and the vertices of its polygons;
            None for the latter if there are to be no polygons.
        with_ids: whether the ids of images are kept.
        with_masks: whether run lengths and the sizes of images are kept.
    """
    given = [points(image) for image in images]
    arrays: dict[str, Any] = {
        "boxes.dat": _joined([boxes for boxes, _ in given]),
        "labels.dat": _joined([image.labels for image in images]),
        **_ranges("offsets.dat", "counts.dat", [len(image.labels) for image in images]),
    }
    if with_ids:
        arrays[_IDS] = [image.number for image in images]
    if all(vertices is not None for _, vertices in given):
        spans = [image.polygons()[0] for image in images]
        vertices = [vertices for _, vertices in given if vertices is not None]
        arrays["polygon_data.dat"], arrays["vertices.dat"] = _joined(spans), _joined(vertices)
        arrays |= _ranges("polygon_offset.dat", "polygons_count.dat", list(map(len, spans)))
        arrays |= _ranges("vertices_offset.dat", "vertices_count.dat", list(map(len, vertices)))
    files = {_NAMES: b"".join(os.fsencode(image.name) + b"\n" for image in images)}
    if with_masks:
        runs = [
            [(number, each) for number, each in enumerate(image.segmentations) if _has_runs(each)]
            for image in images
        ]
        arrays["heights.dat"], arrays["widths.dat"] = zip(
            *(each.size for each in images), strict=True
        )
        arrays["masks_rles_idx.dat"] = [number for own in runs for number, _ in own]
        arrays |= _ranges("masks_offset.dat", "mask_count.dat", list(map(len, runs)))
        packed = [
            _packed_runs(image.name, number, image.size, each["counts"])
            for image, own in zip(images, runs, strict=True)
            for number, each in own
        ]
        files[_RUNS] = _with_count(len(packed), b"".join(packed))
    for name, array in arrays.items():
        dtype, width = _ELEMENTS[name]
        values = np.asarray(array, dtype=dtype).reshape(-1)
        files[name] = _with_count(len(values) // width, values.tobytes())
    try:
        for name in (*_ELEMENTS, _RUNS):  # of earlier annotations
            (Path(folder) / name).unlink(missing_ok=True)
        for name, content in files.items():
            if not content.startswith(bytes(4)):
                (Path(folder) / name).write_bytes(content)
    except OSError as error:
        raise SourceError(f"{shown(folder)}: cannot be written ({error.strerror})") from error


def load_annotations(
    folder: str, *, with_ids: bool, with_polygons: bool, with_masks: bool
) -> list[Annotated]:
    """Read the annotations kept by `save_annotations` or DALI; boxes as the reader gave them.

    Args:
        folder: to read.
        with_ids: whether ids of images are needed, which are else their positions.
        with_polygons: whether polygons are needed, which are else not read.
        with_masks: whether run lengths and the sizes of images are needed, likewise.

    Raises:
        SourceError: there is no such folder, or what is needed was not kept.
        ArgumentError: its files are damaged.
    """
    try:
        return _images(Path(folder), with_ids, with_polygons or with_masks, with_masks)
    except OSError as error:
        raise SourceError(
            f"{shown(folder)}: has no annotations as save_preprocessed_annotations=True writes "
            f"them for these outputs ({error.strerror}: {error.filename})"
        ) from error
    except (ValueError, OverflowError, IndexError, MemoryError) as error:
        reason = scrubbed(str(error), "")
        raise ArgumentError(f"{shown(folder)}: its annotations are damaged ({reason})") from None


def _images(place: Path, with_ids: bool, with_polygons: bool, with_masks: bool) -> list[Annotated]:
    names = [os.fsdecode(line) for line in (place / _NAMES).read_bytes().split(b"\n")[:-1]]
    count = len(names)
    boxes = _elements(place, "boxes.dat").reshape(-1, 4).astype(np.float32)
    labels = _elements(place, "labels.dat").astype(np.int32)
    objects = _cut(place, "offsets.dat", "counts.dat", count, min(len(boxes), len(labels)))
    ids = _of(place, _IDS, count) if with_ids else np.arange(count)
    shapes: list[list[Any]] = [[None] * (end - begin) for begin, end in objects]
    sizes = [(0, 0)] * count
    if with_polygons:
        _add_polygons(place, shapes)
    if with_masks:
        heights, widths = (
            _of(place, name, count).tolist() for name in ("heights.dat", "widths.dat")
        )
        sizes = list(zip(heights, widths, strict=True))
        _add_runs(place, shapes, sizes)
    return [
        Annotated(name, number, size, boxes[begin:end], labels[begin:end], tuple(own))
        for name, number, size, (begin, end), own in zip(
            names, ids.tolist(), sizes, objects, shapes, strict=True
        )
    ]


def _add_polygons(place: Path, shapes: Sequence[list[Any]]) -> None:
    """Set the shapes of objects that are polygons: lists of x, y, x, y, ..."""
    rows, vertices = _elements(place, "polygon_data.dat"), _elements(place, "vertices.dat")
    of_rows = _cut(place, "polygon_offset.dat", "polygons_count.dat", len(shapes), len(rows))
    of_points = _cut(place, "vertices_offset.dat", "vertices_count.dat", len(shapes), len(vertices))
    for own, (first, last), (begin, end) in zip(shapes, of_rows, of_points, strict=True):
        for number, start, stop in rows[first:last].tolist():
            if not (0 <= number < len(own) and 0 <= start <= stop <= end - begin):
                raise ValueError(f"polygon_data.dat: {(number, start, stop)}")
            own[number] = [*(own[number] or ()), vertices[begin + start : begin + stop].reshape(-1)]


def _add_runs(place: Path, shapes: Sequence[list[Any]], sizes: Sequence[tuple[int, int]]) -> None:
    """Set the shapes of objects that are run lengths."""
    numbers = _elements(place, "masks_rles_idx.dat").tolist()
    ranges = _cut(place, "masks_offset.dat", "mask_count.dat", len(shapes), len(numbers))
    counts = _unpacked_runs(_content(place, _RUNS), len(numbers))
    for own, size, (first, last) in zip(shapes, sizes, ranges, strict=True):
        for at in range(first, last):
            if not 0 <= numbers[at] < len(own):
                raise ValueError(f"masks_rles_idx.dat: object {numbers[at]} of {len(own)}")
            own[numbers[at]] = {"counts": counts[at], "size": size}


def _has_runs(segmentation: Any) -> bool:
    return isinstance(segmentation, dict) and "counts" in segmentation


def _packed_runs(name: str, number: int, size: tuple[int, int], counts: Any) -> bytes:
    try:
        values = np.array(read_counts(counts) if isinstance(counts, str) else counts, dtype="<u4")
    except (VideoError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{shown(name)}: object {number}: {error}") from error
    return np.array([(*size, len(values))], dtype=_RUNS_HEAD).tobytes() + values.tobytes()


def _unpacked_runs(content: bytes, expected: int) -> list[NDArray[np.int64]]:
    """The run lengths of each mask."""
    if int.from_bytes(content[:4], "little") != expected:
        raise ValueError(f"{_RUNS}: not the run lengths of {expected} masks")
    found, at = [], 4
    for _ in range(expected):
        (head,) = np.frombuffer(content, _RUNS_HEAD, 1, at)
        at += _RUNS_HEAD.itemsize
        count = int(head["count"])
        if count * 4 > len(content) - at:
            raise ValueError(f"{_RUNS} ends within a mask")
        found.append(np.frombuffer(content, "<u4", count, at).astype(np.int64))
        at += count * 4
    return found


def _with_count(count: int, content: bytes) -> bytes:
    return count.to_bytes(4, "little") + content


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([array.reshape(-1) for array in arrays])


def _ranges(starts: str, counts: str, lengths: Sequence[int]) -> dict[str, Any]:
    """The two files that say which elements each image has."""
    ends = np.cumsum(lengths, dtype=np.int64)
    return {starts: ends - lengths, counts: lengths}


def _content(place: Path, name: str) -> bytes:
    """A file, or one without elements."""
    try:
        return (place / name).read_bytes()
    except FileNotFoundError:
        return bytes(4)


def _elements(place: Path, name: str) -> NDArray[Any]:
    """The elements of a file, of which there may be none."""
    return _parsed(name, _content(place, name))


def _parsed(name: str, content: bytes) -> NDArray[Any]:
    dtype, width = _ELEMENTS[name]
    values = np.frombuffer(content, dtype, offset=4) if len(content) > 4 else np.empty(0, dtype)
    if int.from_bytes(content[:4], "little") * width != len(values):
        raise ValueError(f"{name} has other elements than it says")
    return values.reshape(-1, width) if width > 1 else values


def _of(place: Path, name: str, count: int) -> NDArray[Any]:
    """The elements of a file with one for each image."""
    values = _parsed(name, (place / name).read_bytes())
    if len(values) != count:
        raise ValueError(f"{name} has {len(values)} elements for {count} images")
    return values


def _cut(place: Path, starts: str, counts: str, images: int, most: int) -> list[tuple[int, int]]:
    """(begin, end) of the elements of each image, of which there are `most`."""
    begins, lengths = (_of(place, name, images).tolist() for name in (starts, counts))
    ranges = [(begin, begin + length) for begin, length in zip(begins, lengths, strict=True)]
    if sum(map(abs, lengths)) > most or any(not 0 <= a <= b <= most for a, b in ranges):
        raise ValueError(f"{starts} and {counts} lead beyond {most} elements")
    return ranges
