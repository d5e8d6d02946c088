"""`fn.readers.tfrecord`: features of the records of TFRecord files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import REQUIRED, Argument, Kind
from videoloader.dali.operators.context import Sample
from videoloader.dali.readers.files.reader import TEXTS
from videoloader.dali.readers.records.protobuf import fields, floats, integers
from videoloader.dali.readers.records.record_file import (
    StoredRecords,
    find_tfrecords,
    read_offsets,
    tfrecord_payload,
)
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.dali.tfrecord import Feature, FeatureType
from videoloader.errors import ArgumentError, ArgumentTypeError, FormatError
from videoloader.machinery.system.faults import blamed_on

_DTYPES: dict[FeatureType, np.dtype[Any]] = {
    FeatureType.int64: np.dtype(np.int64),
    FeatureType.string: np.dtype(np.uint8),
    FeatureType.float32: np.dtype(np.float32),
}


def _features(value: Any) -> dict[str, Feature]:
    return dict(value)


def _check(arguments: Mapping[str, Any]) -> None:
    features, indexes = arguments["features"], arguments["index_path"]
    for name, feature in features.items():
        if not isinstance(feature, Feature):
            raise ArgumentTypeError(
                f"fn.readers.tfrecord: the feature {name!r} is a FixedLenFeature or VarLenFeature "
                f"of videoloader.dali.tfrecord, got {feature!r}"
            )
    if not features:
        raise ArgumentError("fn.readers.tfrecord: features is empty")
    if not arguments["path"]:
        raise ArgumentError("fn.readers.tfrecord: path is empty")
    if indexes and len(indexes) != len(arguments["path"]):
        raise ArgumentError(
            f"fn.readers.tfrecord: {len(indexes)} index files for {len(arguments['path'])} files"
        )


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return len(arguments["features"])


def _names(arguments: Mapping[str, Any]) -> Sequence[str]:
    return tuple(arguments["features"])


class _Examples(StoredRecords):
    def __init__(
        self,
        paths: Sequence[str],
        places: Sequence[NDArray[np.int64]],
        features: Mapping[str, Feature],
    ) -> None:
        super().__init__(paths, places)
        self._features = features

    def read(self, number: int) -> tuple[Sample, ...]:
        name = self.name(number)
        with blamed_on(name, FormatError):
            values = _example(tfrecord_payload(self.data(number)), self._features.keys())
            return tuple(
                Sample(torch.from_numpy(_tensor(key, feature, values.get(key))), source_info=name)
                for key, feature in self._features.items()
            )


def _example(message: memoryview, wanted: Collection[str]) -> dict[str, tuple[int, memoryview]]:
    """The wanted features of an `Example` message: the kind of their list, and the list."""
    found: dict[str, tuple[int, memoryview]] = {}
    for features in fields(message):
        if features.number != 1 or isinstance(features.value, int):
            continue
        for entry in fields(features.value):
            if entry.number != 1 or isinstance(entry.value, int):
                continue
            parts = {part.number: part.value for part in fields(entry.value)}
            key, feature = parts.get(1, memoryview(b"")), parts.get(2)
            if isinstance(key, int) or not isinstance(feature, memoryview):
                continue
            name = bytes(key).decode(errors="replace")
            for each in fields(feature) if name in wanted else ():
                if isinstance(each.value, memoryview):
                    found[name] = (each.number, each.value)
    return found


_LISTS = {1: FeatureType.string, 2: FeatureType.float32, 3: FeatureType.int64}


def _tensor(name: str, feature: Feature, stored: tuple[int, memoryview] | None) -> NDArray[Any]:
    """The values of a feature as it was asked for; a scalar where the record has none."""
    dtype = _DTYPES[feature.dtype]
    if stored is None:
        is_text = feature.dtype is FeatureType.string
        return np.array(0 if is_text else feature.default or 0, dtype)
    kind = _LISTS.get(stored[0])
    lists = [each.value for each in fields(stored[1]) if each.number == 1]
    if not lists:
        return np.array(0 if feature.dtype is FeatureType.string else feature.default or 0, dtype)
    if kind is not feature.dtype:
        kept = "of unknown type" if kind is None else f"of {kind.name}"
        raise FormatError(
            f"the feature {name!r} has values {kept}, {feature.dtype.name} was asked for"
        )
    if feature.dtype is FeatureType.string:
        if len(lists) > 1 and (feature.shape is None or int(np.prod(feature.shape)) > 1):
            raise FormatError(f"the feature {name!r} has {len(lists)} strings; one is read")
        text = lists[0]
        return np.array(bytearray() if isinstance(text, int) else bytearray(text), dtype)
    if feature.dtype is FeatureType.float32:
        values = np.concatenate([floats(each) for each in lists]).astype(dtype)
    else:
        values = np.array([number for each in lists for number in integers(each)], dtype)
    return _shaped(name, feature, values)


def _shaped(name: str, feature: Feature, values: NDArray[Any]) -> NDArray[Any]:
    if feature.shape is None:
        return values
    count = int(np.prod(feature.shape, dtype=np.int64))
    if feature.is_partial:
        if not count or len(values) % count:
            raise FormatError(
                f"the feature {name!r} has {len(values)} values, which do not fill rows of shape "
                f"{list(feature.shape)}"
            )
        return values.reshape(-1, *feature.shape)
    if len(values) > count:
        raise FormatError(
            f"the feature {name!r} has {len(values)} values, more than shape "
            f"{list(feature.shape)} holds; use VarLenFeature"
        )
    if len(values) < count:  # the rest has the default
        rest = np.full(count - len(values), feature.default or 0, values.dtype)
        values = np.concatenate([values, rest])
    return values.reshape(feature.shape)


@declare_reader(
    "readers.tfrecord",
    num_outputs=_num_outputs,
    output_names=_names,
    arguments=(
        Argument("path", TEXTS, REQUIRED, "TFRecord files: paths or URLs"),
        Argument(
            "index_path",
            TEXTS,
            (),
            "an index file for each, as `tfrecord2idx` writes; without any the files are scanned",
        ),
        Argument(
            "features",
            Kind("dict of features by name", _features),
            REQUIRED,
            "what to take of a record: `FixedLenFeature`s and `VarLenFeature`s of "
            "`videoloader.dali.tfrecord`",
        ),
    ),
    check=_check,
    by_files=True,
)
def read_tfrecord(**arguments: Any) -> _Examples:
    """Read features of the `Example` records of TFRecord files.

    Returns a dict of data nodes by the names of the features. Strings are vectors of their bytes
    (uint8), numbers int64 or float32 in the shape of the feature; fewer values than the shape holds
    are filled up with the default. A record without the feature gives a scalar: the default.
    `shuffle_after_epoch` permutes the files and keeps the order in each.
    """
    paths, indexes = arguments["path"], arguments["index_path"]
    places = [read_offsets(index) for index in indexes] or [find_tfrecords(path) for path in paths]
    return _Examples(paths, places, arguments["features"])
