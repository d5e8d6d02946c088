"""JPEG by OpenCV into memory that is there already.

`cv2.imdecode` gives a copy of memory of its own, whose pages are new each time: that takes a fifth
of the time of decoding. `cv2.imread` writes where it is told, but takes the name of a file.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["JpegDecoder"]

_KEPT = 1 << 24  # bytes of pixels from which memory is not kept for the next image
_MARK = np.frombuffer(bytes.fromhex("00ff17e8a55ac33cf00f817e42bd1ce3"), np.uint8)
"""Stands at the end of the pixels until the codec, which goes row by row, writes them."""


class JpegDecoder:
    """Decodes one JPEG after another, each into memory of the caller's or over the one before.

    Not for sharing by threads, nor by a fork.
    """

    def __init__(self) -> None:
        self._file = -1
        self._pixels = np.empty(0, np.uint8)

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def decode(
        self,
        data: memoryview,
        shape: tuple[int, int, int],
        flags: int,
        room: NDArray[np.uint8] | None = None,
    ) -> NDArray[np.uint8] | None:
        """The pixels of a JPEG; None where OpenCV cannot decode it into memory.

        Only for what `ImageHeader.is_simple` is true of: where a file ends too early, OpenCV makes
        up the rest of the pixels.

        Args:
            data: the whole file.
            shape: (H, W, C) of the pixels.
            flags: of `cv2.imread`.
            room: memory for them, if it is of their size; otherwise they lie in memory of this
                object until the next call.
        """
        import cv2

        size = math.prod(shape)
        memory = room if room is not None and room.size == size else self._scratch(size)
        pixels, end = memory.reshape(shape), memory[-len(_MARK) :]
        end[...] = mark = _MARK[: len(end)]
        try:
            if self._file < 0:
                self._file = os.memfd_create("videoloader-jpeg")
            os.ftruncate(self._file, os.pwrite(self._file, data, 0))
            cv2.imread(f"/proc/self/fd/{self._file}", pixels, flags)
        except (cv2.error, TypeError, OSError):
            return None  # this OpenCV takes no memory, or there is no file
        return None if np.array_equal(end, mark) else pixels

    def _scratch(self, size: int) -> NDArray[Any]:
        if size > _KEPT:
            return np.empty(size, np.uint8)
        if size > self._pixels.size:
            self._pixels = np.empty(size, np.uint8)
        return self._pixels[:size]
