"""`fn.readers.sequence`: clips of videos that are stored as folders of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import IMAGE, INT, PATH, REQUIRED, Argument
from videoloader.dali.operators.context import Sample
from videoloader.dali.readers.files.listing import StoredFiles, folders_below
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.dali.types import ImageType
from videoloader.errors import ArgumentError, DecodeError, FormatError

_IMAGE_TYPES = (ImageType.RGB, ImageType.BGR, ImageType.GRAY)


class _Clips(StoredFiles):
    """Clips of `length` files, `stride` apart, from each of some files on."""

    def __init__(
        self,
        names: Sequence[str],
        root: str,
        firsts: NDArray[np.int64],
        offsets: NDArray[np.int64],
        image_type: ImageType,
    ) -> None:
        super().__init__(names, root)
        self._firsts = firsts
        self._offsets = offsets
        self._image_type = image_type

    def __len__(self) -> int:
        return len(self._firsts)

    def name(self, number: int) -> str:
        return super().name(int(self._firsts[number]))

    def read(self, number: int) -> tuple[Sample, ...]:
        files = (self._firsts[number] + self._offsets).tolist()
        pictures = [self._picture(file) for file in files]
        if len({picture.shape for picture in pictures}) > 1:
            raise FormatError(f"{self.name(number)}: the pictures of a clip differ in size")
        clip = torch.from_numpy(np.stack(pictures))
        return (Sample(clip, "FHWC", self.name(number)),)

    def _picture(self, file: int) -> NDArray[np.uint8]:
        import cv2

        is_gray = self._image_type is ImageType.GRAY
        flags = cv2.IMREAD_GRAYSCALE if is_gray else cv2.IMREAD_COLOR
        name = super().name(file)
        try:
            picture = cv2.imdecode(self.contents(file), flags)
        except cv2.error as error:
            raise DecodeError(f"{name}: cannot be decoded ({error})") from error
        if picture is None:
            raise DecodeError(f"{name}: is no picture, or damaged")
        pixels = np.asarray(picture, np.uint8)
        pixels = pixels[..., None] if is_gray else pixels
        return pixels[..., ::-1] if self._image_type is ImageType.RGB else pixels


@declare_reader(
    "readers.sequence",
    arguments=(
        Argument("file_root", PATH, REQUIRED, "folder of folders, each a video"),
        Argument("sequence_length", INT, REQUIRED, "pictures in a clip", least=1),
        Argument("step", INT, 1, "from clip to clip", least=1),
        Argument("stride", INT, 1, "from picture to picture", least=1),
        Argument(
            "image_type", IMAGE, ImageType.RGB, "colour space of the output", choices=_IMAGE_TYPES
        ),
    ),
    after_epoch=False,
)
def read_sequence(**arguments: Any) -> _Clips:
    """Read clips of videos whose frames are picture files.

    Each folder in `file_root` is a video, its files in the order of their names are the frames. A
    clip never crosses from one video to the next, and what does not fill one is left out.

    Output: the clip, uint8 (F, H, W, C).
    """
    length, stride = arguments["sequence_length"], arguments["stride"]
    root = arguments["file_root"]
    offsets = np.arange(length) * stride
    names: list[str] = []
    firsts: list[int] = []
    for folder, files in folders_below(root, lambda name: not name.startswith(".")):
        last = len(names) + len(files) - int(offsets[-1])
        firsts += range(len(names), last, arguments["step"])
        names += [f"{folder}/{name}" for name in files]
    if not firsts:
        raise ArgumentError(
            f"fn.readers.sequence: no folder in {root} has the {int(offsets[-1]) + 1} pictures "
            "that a clip spans"
        )
    return _Clips(names, root, np.array(firsts), offsets, arguments["image_type"])
