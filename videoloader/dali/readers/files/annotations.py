"""The annotations of a COCO file, as arrays."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.readers.files.masks import label_image
from videoloader.errors import FormatError
from videoloader.machinery.system.address import scrubbed, shown
from videoloader.machinery.system.faults import unreadable


@dataclass(frozen=True, slots=True)
class Annotated:
    """An image and its objects.

    Attributes:
        name: of its file.
        number: its id.
        size: (height, width).
        boxes: float32 (N, 4): left, top, width, height, in pixels; of kept annotations as the
            reader gave them.
        labels: int32 (N,).
        segmentations: of each object: polygons, run lengths or None.
    """

    name: str
    number: int
    size: tuple[int, int]
    boxes: NDArray[np.float32]
    labels: NDArray[np.int32]
    segmentations: tuple[Any, ...]

    def polygons(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """(object, first vertex, end vertex) of each polygon, and the vertices (V, 2)."""
        spans, vertices, count, name = [], [], 0, shown(self.name)
        for number, polygons in enumerate(self.segmentations):
            for polygon in polygons if isinstance(polygons, list) else ():
                try:
                    with np.errstate(over="ignore"):
                        points = np.asarray(polygon, dtype=np.float32).reshape(len(polygon))
                except (TypeError, ValueError) as error:
                    raise FormatError(f"{name}: object {number}: {error}") from error
                if not np.isfinite(points).all():
                    raise FormatError(f"{name}: object {number}: a vertex that is no number")
                end = count + len(points) // 2
                spans.append((number, count, end))
                vertices.append(points[: 2 * (end - count)])
                count = end
        joined = np.concatenate(vertices) if vertices else np.empty(0, np.float32)
        return np.array(spans, dtype=np.int32).reshape(-1, 3), joined.reshape(-1, 2)

    def label_image(self) -> NDArray[np.int32]:
        """The label of each pixel, as `masks.label_image` gives it."""
        try:
            return label_image(self.segmentations, self.labels.tolist(), *self.size)
        except FormatError as error:
            raise FormatError(f"{shown(self.name)}: {error}") from error


def read_annotations(
    path: str, *, size_threshold: float, with_crowds: bool, keep_labels: bool
) -> list[Annotated]:
    """The images of a COCO annotation file, in the order of their ids.

    Args:
        path: of the file.
        size_threshold: objects that are narrower or lower are left out, in pixels.
        with_crowds: whether those marked as crowds are in.
        keep_labels: labels are the ids of categories, and not their positions from 1 on.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it is no such file.
    """
    name = shown(path)
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise unreadable(os.fspath(path), error) from None
    except (ValueError, RecursionError) as error:
        # `from None`, here and below: the cause would show what stands in the file.
        raise FormatError(f"{name}: no JSON ({error})") from None
    try:
        return _images(content, size_threshold, with_crowds, keep_labels)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from error
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        reason = scrubbed(f"no {error}" if isinstance(error, KeyError) else str(error), "")
        raise FormatError(f"{name}: no annotations as COCO has them ({reason})") from None


def _images(
    content: Mapping[str, Any], size_threshold: float, with_crowds: bool, keep_labels: bool
) -> list[Annotated]:
    labels = {
        int(category["id"]): int(category["id"]) if keep_labels else position
        for position, category in enumerate(content["categories"], start=1)
    }
    objects: dict[int, list[tuple[array[float], int, Any]]] = {}
    for each in content["annotations"]:
        if each.get("iscrowd", 0) and not with_crowds:
            continue
        box = array("f", map(float, each["bbox"]))  # in single precision, like the threshold
        if len(box) != 4:
            raise FormatError(f"a box of {len(box)} numbers")
        if box[2] < size_threshold or box[3] < size_threshold:
            continue
        category = int(each["category_id"])
        if category not in labels:
            raise FormatError(f"an object of category {category}, which is not among categories")
        segmentation = each.get("segmentation")
        objects.setdefault(int(each["image_id"]), []).append((box, labels[category], segmentation))
    images = []
    for each in sorted(content["images"], key=lambda image: int(image["id"])):
        own = objects.get(int(each["id"]), [])
        images.append(
            Annotated(
                str(each["file_name"]),
                int(each["id"]),
                (int(each["height"]), int(each["width"])),
                np.array([box for box, _, _ in own], dtype=np.float32).reshape(-1, 4),
                np.array([label for _, label, _ in own], dtype=np.int32),
                tuple(segmentation for _, _, segmentation in own),
            )
        )
    return images
