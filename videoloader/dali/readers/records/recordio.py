"""`fn.readers.mxnet`: images and labels of MXNet's RecordIO files."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import REQUIRED, Argument
from videoloader.dali.operators.context import Sample
from videoloader.dali.readers.files.reader import TEXTS
from videoloader.dali.readers.records.record_file import (
    StoredRecords,
    read_offsets,
    recordio_payload,
)
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.errors import ArgumentError, FormatError
from videoloader.machinery.system.faults import blamed_on
from videoloader.sources.opening import open_source

_HEADER = struct.Struct("<IfQQ")  # number of labels behind it, the label if there are none, two ids


class _Images(StoredRecords):
    def read(self, number: int) -> tuple[Sample, ...]:
        name = self.name(number)
        with blamed_on(name, FormatError):
            data = recordio_payload(self.data(number))
            if len(data) < _HEADER.size:
                raise FormatError(f"{name}: a record of {len(data)} bytes, shorter than its header")
            count, label, _, _ = _HEADER.unpack_from(data)
            labels, at = np.array([label], np.float32), _HEADER.size
            if count:
                at += 4 * count
                if at > len(data):
                    raise FormatError(f"{name}: {count} labels in a record of {len(data)} bytes")
                labels = np.frombuffer(data, "<f4", count, _HEADER.size).astype(np.float32)
            image = np.frombuffer(bytearray(data[at:]), np.uint8)
        return (Sample(torch.from_numpy(image), source_info=name), Sample(torch.from_numpy(labels)))


def _check(arguments: Mapping[str, Any]) -> None:
    paths, indexes = arguments["path"], arguments["index_path"]
    if not paths or len(paths) != len(indexes):
        raise ArgumentError(
            f"fn.readers.mxnet: {len(paths)} files and {len(indexes)} index files; each has one"
        )


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return 2


@declare_reader(
    "readers.mxnet",
    num_outputs=_num_outputs,
    arguments=(
        Argument("path", TEXTS, REQUIRED, "RecordIO files: paths or URLs"),
        Argument("index_path", TEXTS, REQUIRED, "an index file for each, as `im2rec` writes"),
    ),
    check=_check,
)
def read_mxnet(**arguments: Any) -> _Images:
    """Read images and labels of RecordIO files, in the order of their places in the file.

    Outputs: the bytes of the image (1-D uint8), and its labels (float32, shape (1,), or as many as
    the record has).
    """
    places = [
        _places(path, index)
        for path, index in zip(arguments["path"], arguments["index_path"], strict=True)
    ]
    return _Images(arguments["path"], places)


def _places(path: str, index: str) -> NDArray[np.int64]:
    """Where the records of a file lie: from each offset to the next, or the end of the file."""
    offsets: Sequence[int] = np.sort(read_offsets(index)[:, 1]).tolist()
    with open_source(path) as source:
        ends = [*offsets[1:], source.size]
    if offsets[-1] >= ends[-1]:
        raise FormatError(f"{index}: names places behind the end of {path}")
    return np.array(
        [(start, end - start) for start, end in zip(offsets, ends, strict=True)], dtype=np.int64
    )
