"""`fn.experimental.readers.fits`: images of FITS files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from videoloader.dali.operators.arguments import DTYPES, INTS, TEXT, Argument
from videoloader.dali.operators.context import Sample
from videoloader.dali.readers.files.fits_file import read_image
from videoloader.dali.readers.files.listing import StoredFiles
from videoloader.dali.readers.files.reader import (
    FILE_LIST,
    FILE_ROOT,
    FILES,
    check_places,
    stored_places,
)
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.errors import ArgumentError
from videoloader.sources.items import Item


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return len(arguments["hdu_indices"])


def _check(arguments: Mapping[str, Any]) -> None:
    check_places(arguments, "experimental.readers.fits")
    indices, dtypes = arguments["hdu_indices"], arguments["dtypes"]
    if not indices:
        raise ArgumentError("fn.experimental.readers.fits: hdu_indices is empty")
    if dtypes is not None and len(dtypes) != len(indices):
        raise ArgumentError(
            f"fn.experimental.readers.fits: {len(dtypes)} dtypes for {len(indices)} hdu_indices"
        )


class _Images(StoredFiles):
    def __init__(self, names: Sequence[str | Item], root: str, indices: Sequence[int]) -> None:
        super().__init__(names, root)
        self._indices = indices

    def read(self, number: int) -> tuple[Sample, ...]:
        with self.item(number).open() as source:
            arrays = [read_image(source, index) for index in self._indices]
        info = self.name(number)
        return tuple(Sample(torch.from_numpy(array), source_info=info) for array in arrays)


@declare_reader(
    "experimental.readers.fits",
    num_outputs=_num_outputs,
    arguments=(
        FILE_ROOT,
        FILE_LIST,
        FILES,
        Argument("file_filter", TEXT, "*.fits", "pattern for names of files"),
        Argument("hdu_indices", INTS, (2,), "HDUs, counted from 1, an output for each", least=1),
        Argument(
            "dtypes",
            DTYPES,
            None,
            "one for each output; DALI counts them too, and takes the types of the file",
        ),
    ),
    check=_check,
)
def read_fits(**arguments: Any) -> _Images:
    """Read images of FITS files.

    Which files are read, and in which order, is as in `readers.numpy`. The shape is NAXISn, ...,
    NAXIS1: rows, then columns. Elements have the type of BITPIX, or by BSCALE and BZERO the one
    that CFITSIO chooses: int16 with BZERO=32768 is uint16, other integer scales give the smallest
    type that holds them, and others float32 (float64 of 32 and 64 bits). BLANK is not looked at.
    Images that are compressed in tiles need astropy (the extra `fits`).

    Outputs: the array of each HDU of `hdu_indices`. The primary HDU is 1, and often empty.
    """
    names, root = stored_places(arguments, "experimental.readers.fits")
    return _Images(names, root, arguments["hdu_indices"])
