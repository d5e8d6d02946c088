"""`fn.readers.coco`: images with the boxes, labels and masks of a COCO annotation file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, FLOAT, PATH, REQUIRED, Argument
from videoloader.dali.operators.context import Sample
from videoloader.dali.operators.deprecated import Deprecated
from videoloader.dali.readers.files.annotations import Annotated, read_annotations
from videoloader.dali.readers.files.kept_annotations import load_annotations, save_annotations
from videoloader.dali.readers.files.listing import StoredFiles
from videoloader.dali.readers.files.reader import TEXTS
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.errors import ArgumentError
from videoloader.machinery.system.faults import blamed_on

_SAVE, _SAVE_DIR = "save_preprocessed_annotations", "save_preprocessed_annotations_dir"


def _polygons(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["polygon_masks"] or arguments["masks"])


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    shapes = 2 * _polygons(arguments) + bool(arguments["pixelwise_masks"])
    return 3 + shapes + bool(arguments["image_ids"])


def _check(arguments: Mapping[str, Any]) -> None:
    kept, file = arguments["preprocessed_annotations"], arguments["annotations_file"]
    if not kept and not file:
        raise ArgumentError(
            "fn.readers.coco needs annotations_file, or preprocessed_annotations of an earlier run"
        )
    if kept:
        for other in ("annotations_file", "images", "ltrb", "ratio"):
            if arguments[other]:
                raise ArgumentError(
                    f"fn.readers.coco: give preprocessed_annotations or {other}, not both; what is "
                    "kept is as it was read when it was kept"
                )
    if _polygons(arguments) and arguments["pixelwise_masks"]:
        raise ArgumentError("fn.readers.coco: give polygon_masks or pixelwise_masks, not both")
    if arguments[_SAVE] and not arguments[_SAVE_DIR]:
        raise ArgumentError(f"fn.readers.coco: {_SAVE} needs {_SAVE_DIR}")
    if arguments["images"] is not None and not arguments["images"]:
        raise ArgumentError("fn.readers.coco: images is empty")


class _Coco(StoredFiles):
    """The outputs of annotated images."""

    def __init__(
        self, images: Sequence[Annotated], root: str, arguments: Mapping[str, Any]
    ) -> None:
        super().__init__([image.name for image in images], root)
        self._images = images
        self._ltrb, self._ratio = arguments["ltrb"], arguments["ratio"]
        self._pixelwise, self._with_id = arguments["pixelwise_masks"], arguments["image_ids"]
        self._has_polygons = _polygons(arguments)
        self._in_numbers = 2 if arguments["masks"] else 1

    def read(self, number: int) -> tuple[Sample, ...]:
        image = self._images[number]
        data = torch.from_numpy(self.contents(number))
        outputs = [
            Sample(data, source_info=self.name(number)),
            _sample(self._boxes(image)),
            _sample(image.labels.copy()),
        ]
        with blamed_on(self.name(number)):
            if self._has_polygons:
                spans, vertices = image.polygons()
                spans[:, 1:] *= self._in_numbers
                outputs += [_sample(spans), _sample(self._relative(image, vertices))]
            if self._pixelwise:
                outputs.append(_sample(image.label_image(), "HWC"))
        if self._with_id:
            outputs.append(_sample(np.array([image.number], dtype=np.int32)))
        return tuple(outputs)

    def points(self, image: Annotated) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """The boxes and vertices to keep, in output units; vertices of masks are in pixels."""
        if not self._has_polygons and not self._pixelwise:
            return self._boxes(image), None
        _, vertices = image.polygons()
        return self._boxes(image), vertices if self._pixelwise else self._relative(image, vertices)

    def _boxes(self, image: Annotated) -> NDArray[np.float32]:
        boxes = image.boxes.copy()
        if self._ltrb:
            boxes[:, 2:] += boxes[:, :2]
        return self._relative(image, boxes)

    def _relative(self, image: Annotated, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Columns of x and y in turn, as parts of the width and height if asked for."""
        if not self._ratio:
            return points
        size = np.array(image.size[::-1], dtype=np.float32)
        return (points / np.tile(size, points.shape[1] // 2)).astype(np.float32)


def _sample(array: NDArray[Any], layout: str = "") -> Sample:
    return Sample(torch.from_numpy(array), layout)


@declare_reader(
    "readers.coco",
    num_outputs=_num_outputs,
    arguments=(
        Argument("file_root", PATH, REQUIRED, "folder of the images"),
        Argument("annotations_file", PATH, "", "JSON file of annotations"),
        Argument("images", TEXTS, None, "images to read, in this order; by default all, by id"),
        Argument("ltrb", BOOL, default=False, doc="boxes as left, top, right, bottom"),
        Argument("ratio", BOOL, default=False, doc="coordinates as parts of width and height"),
        Argument("size_threshold", FLOAT, 0.1, "objects narrower or lower are left out, in pixels"),
        Argument("skip_empty", BOOL, default=False, doc="leave out images without objects"),
        Argument("include_iscrowd", BOOL, default=True, doc="whether crowds are objects"),
        Argument(
            "avoid_class_remapping",
            BOOL,
            default=False,
            doc="labels are ids of categories; by default their positions in the file, from 1 on",
        ),
        Argument("polygon_masks", BOOL, default=False, doc="outputs of polygons and vertices"),
        Argument("masks", BOOL, default=False, doc="the same, vertices counted twice"),
        Argument(
            "pixelwise_masks", BOOL, default=False, doc="an output of the label of each pixel"
        ),
        Argument("image_ids", BOOL, default=False, doc="an output of the id of the image"),
        Argument("preprocessed_annotations", PATH, "", "folder of annotations of an earlier run"),
        Argument(
            _SAVE,
            BOOL,
            default=False,
            doc="keep the annotations, which are then read faster",
            writes=True,
        ),
        Argument(_SAVE_DIR, PATH, "", "folder to keep them in"),
    ),
    check=_check,
    deprecated=(
        Deprecated(
            "masks",
            advice="use polygon_masks, which counts vertices in its polygons where masks counts "
            "coordinates, twice as many",
        ),
        Deprecated("dump_meta_files", renamed_to=_SAVE),
        Deprecated("dump_meta_files_path", renamed_to=_SAVE_DIR),
        Deprecated("meta_files_path", renamed_to="preprocessed_annotations"),
        Deprecated("save_img_ids", renamed_to="image_ids"),
    ),
)
def read_coco(**arguments: Any) -> _Coco:
    """Read images and their annotations in a COCO file.

    Images come in the order of their ids. With `images` only those come, in that order and as often
    as they are named; names that the annotations do not have are passed over. What
    `save_preprocessed_annotations` keeps has the choice of images, objects and labels made, and
    boxes as `ltrb` and `ratio` want them. Its files are those of DALI; polygons, masks and ids are
    kept if they are among the outputs.

    Outputs: the bytes of the image (1-D uint8); boxes (float32, (N, 4)): left, top, width, height;
    labels (int32, (N,)). Then with `polygon_masks` polygons (int32, (P, 3)): object, first vertex,
    end vertex; and vertices (float32, (V, 2)): x, y. With `pixelwise_masks` the label of each pixel
    (int32, HWC, one channel), 0 without an object, the highest where objects overlap. With
    `image_ids` the id (int32, shape (1,)).
    """
    if arguments["preprocessed_annotations"]:
        images = load_annotations(
            arguments["preprocessed_annotations"],
            with_ids=arguments["image_ids"],
            with_polygons=_polygons(arguments),
            with_masks=arguments["pixelwise_masks"],
        )
    else:
        images = read_annotations(
            arguments["annotations_file"],
            size_threshold=arguments["size_threshold"],
            with_crowds=arguments["include_iscrowd"],
            keep_labels=arguments["avoid_class_remapping"],
        )
        if arguments["images"] is not None:
            known = {image.name: image for image in images}
            images = [known[name] for name in arguments["images"] if name in known]
    if arguments["skip_empty"]:
        images = [image for image in images if len(image.labels)]
    if not images:
        raise ArgumentError("fn.readers.coco: there is no image to read")
    samples = _Coco(images, arguments["file_root"], arguments)
    if arguments[_SAVE]:
        save_annotations(
            arguments[_SAVE_DIR],
            images,
            samples.points,
            with_ids=arguments["image_ids"],
            with_masks=arguments["pixelwise_masks"],
        )
    return samples
