"""`fn.readers.caffe` and `fn.readers.caffe2`: images and labels of LMDB databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, INT, REQUIRED, Argument
from videoloader.dali.operators.context import Sample
from videoloader.dali.readers.files.reader import TEXTS
from videoloader.dali.readers.records.lmdb_file import data_file, find_values
from videoloader.dali.readers.records.protobuf import fields, floats, integers
from videoloader.dali.readers.records.record_file import StoredRecords
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.errors import ArgumentError, FormatError
from videoloader.machinery.system.address import shown
from videoloader.machinery.system.faults import blamed_on

_SINGLE, _SPARSE, _DENSE, _WEIGHTED, _NONE = range(5)

_PATH = Argument("path", TEXTS, REQUIRED, "folders of the databases")
_IMAGE = Argument("image_available", BOOL, default=True, doc="whether there is an output of images")


class _Values(StoredRecords):
    """The values of databases, each in the order of its keys."""

    def __init__(self, paths: Sequence[str]) -> None:
        found = [find_values(data_file(path)) for path in paths]
        super().__init__([data_file(path) for path in paths], [places for _, places in found])
        self._databases = paths
        self._keys = [key for keys, _ in found for key in keys]

    def name(self, number: int) -> str:
        """The database of a value and its key."""
        key = self._keys[number].decode(errors="backslashreplace")
        return f"{shown(self._databases[self.file(number)])} at key {key}"


class _Datums(_Values):
    """Caffe's `Datum` messages."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments["path"])
        self._with_image = arguments["image_available"]
        self._with_label = arguments["label_available"]

    def read(self, number: int) -> tuple[Sample, ...]:
        name, image, labels = self.name(number), memoryview(b""), []
        with blamed_on(name, FormatError):
            for field in fields(self.data(number)):
                if field.number == 4 and isinstance(field.value, memoryview):
                    image = field.value
                elif field.number == 5:
                    labels = integers(field.value)
        outputs = [Sample(_pixels(image), source_info=name)] if self._with_image else []
        if self._with_label:
            outputs.append(Sample(torch.tensor(labels[-1:], dtype=torch.int32)))
        return tuple(outputs)


class _Protos(_Values):
    """Caffe2's `TensorProtos` messages."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments["path"])
        self._arguments = arguments

    def read(self, number: int) -> tuple[Sample, ...]:
        name, given = self.name(number), self._arguments
        with blamed_on(name, FormatError):
            tensors = [
                _proto(field.value)
                for field in fields(self.data(number))
                if field.number == 1 and isinstance(field.value, memoryview)
            ]
            outputs: list[Any] = []
            if given["image_available"]:
                outputs.append(_taken(tensors, "image").astype(np.uint8))
            if given["label_type"] != _NONE:
                outputs.append(_labels(tensors, given["label_type"], given["num_labels"]))
            outputs += [_taken(tensors, "input") for _ in range(given["additional_inputs"])]
            if given["bbox"]:
                outputs.append(_taken(tensors, "box"))
        return tuple(
            Sample(torch.from_numpy(array.copy()), source_info=name if position == 0 else "")
            for position, array in enumerate(outputs)
        )


def _taken(tensors: list[NDArray[Any]], what: str) -> NDArray[Any]:
    """The next tensor of a message."""
    if not tensors:
        raise FormatError(f"the value has no tensor for the {what}")
    return tensors.pop(0)


def _labels(tensors: list[NDArray[Any]], kind: int, count: int) -> NDArray[Any]:
    stored = _taken(tensors, "label").reshape(-1)
    if kind == _SINGLE:
        if not np.issubdtype(stored.dtype, np.integer) or not len(stored):
            raise FormatError("a label that is no integer")
        return stored[:1].astype(np.int32)
    if kind == _DENSE:
        return stored
    if not np.issubdtype(stored.dtype, np.integer) or ((stored < 0) | (stored >= count)).any():
        raise FormatError(f"labels {stored.tolist()[:8]} for num_labels={count}")
    if kind == _SPARSE:
        found = np.zeros(count, np.int32)
        found[stored] = 1
        return found
    weights = _taken(tensors, "weights").reshape(-1)
    if len(weights) != len(stored):
        raise FormatError(f"{len(weights)} weights for {len(stored)} labels")
    weighted = np.zeros(count, np.float32)
    weighted[stored] = weights
    return weighted


def _proto(message: memoryview) -> NDArray[Any]:
    """The values of a `TensorProto`, in its shape if they fill it; text as its bytes."""
    shape: list[int] = []
    numbers: list[int] = []
    found: NDArray[Any] | None = None
    for field in fields(message):
        if field.number == 1:
            shape += integers(field.value)
        elif field.number in (4, 10):  # int32_data, int64_data
            numbers += integers(field.value)
            found = np.array(numbers, np.int32 if field.number == 4 else np.int64)
        elif field.number in (3, 9):  # float_data, double_data
            more = floats(field.value, "<f4" if field.number == 3 else "<f8")
            found = more if found is None else np.concatenate([found, more])
        elif field.number in (5, 6) and isinstance(field.value, memoryview):
            found = np.frombuffer(field.value, np.uint8)  # byte_data, string_data
            shape = []
    if found is None:
        raise FormatError("a tensor without values")
    return found.reshape(shape) if shape and int(np.prod(shape)) == found.size else found


def _pixels(data: memoryview) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(bytearray(data), np.uint8))


def _caffe_outputs(arguments: Mapping[str, Any]) -> int:
    return int(arguments["image_available"]) + int(arguments["label_available"])


def _caffe2_outputs(arguments: Mapping[str, Any]) -> int:
    own = int(arguments["image_available"]) + int(arguments["label_type"] != _NONE)
    return own + int(arguments["additional_inputs"]) + int(arguments["bbox"])


def _check_caffe(arguments: Mapping[str, Any]) -> None:
    if not _caffe_outputs(arguments):
        raise ArgumentError("fn.readers.caffe: without images and labels nothing is read")


def _check_caffe2(arguments: Mapping[str, Any]) -> None:
    if not _caffe2_outputs(arguments):
        raise ArgumentError("fn.readers.caffe2: without images and labels nothing is read")


@declare_reader(
    "readers.caffe",
    num_outputs=_caffe_outputs,
    arguments=(
        _PATH,
        _IMAGE,
        Argument("label_available", BOOL, default=True, doc="whether there is an output of labels"),
    ),
    check=_check_caffe,
)
def read_caffe(**arguments: Any) -> _Datums:
    """Read images and labels of Caffe's LMDB databases, in the order of their keys.

    Outputs: the bytes of the image (1-D uint8), and the label (int32, shape (1,), or (0,) where the
    database has none).
    """
    return _Datums(arguments)


@declare_reader(
    "readers.caffe2",
    num_outputs=_caffe2_outputs,
    arguments=(
        _PATH,
        _IMAGE,
        Argument(
            "label_type",
            INT,
            0,
            "0: one integer; 1: `num_labels` numbers, 1 where the stored integers say; 2: numbers "
            "as they are stored; 3: as 1, with the stored weights; 4: no output",
            least=0,
            most=4,
        ),
        Argument("num_labels", INT, 1, "number of classes", least=1),
        Argument("additional_inputs", INT, 0, "further tensors of each value", least=0),
        Argument("bbox", BOOL, default=False, doc="whether a tensor with a box is the last"),
    ),
    check=_check_caffe2,
)
def read_caffe2(**arguments: Any) -> _Protos:
    """Read images, labels and further tensors of Caffe2's LMDB databases, by the order of keys.

    Outputs: the bytes of the image (1-D uint8), the labels (int32, or float32 with weights), the
    additional tensors, the box.
    """
    return _Protos(arguments)
