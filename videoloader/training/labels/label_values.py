"""The labels of all videos as one array: integers, floats, vectors, or texts that are classes."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

Name = Callable[[int], str]
"""The name of a video by its number, for messages."""

_INT64 = np.iinfo(np.int64)
_SHOWN = 12  # classes in a message


@dataclass(frozen=True, slots=True, eq=False)
class VideoLabels:
    """The label of each video.

    Attributes:
        values: int64 (N,) of integers and of classes, float32 (N,) of floats; or either of these
            with more dimensions, (N, K), of vectors.
        classes: the names that the integers stand for, if there are names.
    """

    values: NDArray[Any]
    classes: list[str] = field(default_factory=list)

    def take(self, videos: NDArray[np.int64]) -> VideoLabels:
        """The labels of some of the videos."""
        return replace(self, values=self.values[videos])

    def at(self, videos: Sequence[int]) -> torch.Tensor:
        """The labels of some videos, in memory of their own."""
        return torch.from_numpy(self.values[list(videos)])

    def of(self, video: int) -> int | torch.Tensor:
        """The label of one video: an int, or a float32 scalar or a vector."""
        if self.values.ndim == 1 and self.values.dtype.kind == "i":
            return int(self.values[video])
        return self.at([video])[0]

    def in_32_bits(self, name: Name) -> VideoLabels:
        """The same labels with integers as int32, as readers of pipelines give them.

        Raises:
            ArgumentError: an integer needs more bits.
        """
        if self.values.dtype.kind == "f":
            return self
        shorter = self.values.astype(np.int32)
        wrong = np.argwhere(shorter != self.values)
        if len(wrong):
            number = int(wrong[0, 0])
            raise ArgumentError(f"{name(number)}: the label {self.values[number]} is over 32 bits")
        return replace(self, values=shorter)

    def to_balance(self) -> NDArray[np.int64]:
        """The class of each video.

        Raises:
            ArgumentError: the labels are no classes.
        """
        if self.values.ndim > 1 or self.values.dtype.kind != "i":
            raise ArgumentError(
                "balanced draws every class as often: labels are integers or texts then, not "
                "floats or vectors; weights= says how often each video is drawn"
            )
        return self.values


def as_classes(classes: Iterable[str] | None) -> list[str] | None:
    """Names of classes in the order of their numbers.

    Raises:
        ArgumentError: it is no list of different texts.
    """
    if classes is None:
        return None
    names = [classes] if isinstance(classes, str) else list(classes)
    if isinstance(classes, str) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"classes are names in the order of their numbers, got {classes!r:.80}")
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ArgumentError(f"classes has {twice!r} twice")
    return names


def as_labels(
    values: Sequence[Any] | NDArray[Any], name: Name, classes: Sequence[str] | None = None
) -> VideoLabels:
    """Labels of one kind, with their type.

    Args:
        values: one for each video.
        name: of a video.
        classes: the names of the classes in the order of their numbers; by default the texts
            among `values` in alphabetical order. Integers are checked to be below their number.

    Raises:
        ArgumentError: a label is missing, not finite, of another kind or shape than the first, or
            not among `classes`.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        found = _numbers(values, name)
    else:
        plain = [_plain(value) for value in values]
        match _kind_of(plain, name):
            case "text":
                return _numbered(plain, name, classes)
            case "vector":
                found = _numbers(_stacked(plain, name), name)
            case "float":
                found = _numbers(np.array(plain, dtype=np.float64), name)
            case _:
                found = _numbers(np.array(plain, dtype=object), name)
    labels = VideoLabels(found, list(classes or ()))
    _check_range(labels, name)
    return labels


def _plain(value: Any) -> Any:
    """A label as Python has it, where it is a scalar of NumPy, torch or Arrow."""
    if hasattr(value, "as_py"):
        return value.as_py()
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _kind(of: type) -> str:
    if issubclass(of, str):
        return "text"
    if issubclass(of, numbers.Integral):
        return "integer"
    if issubclass(of, numbers.Real):
        return "float"
    if issubclass(of, list | tuple | np.ndarray | torch.Tensor):
        return "vector"
    return "missing" if of is type(None) else "other"


def _kind_of(values: Sequence[Any], name: Name) -> str:
    """The kind of all labels; integers among floats are floats."""
    kinds = {of: _kind(of) for of in set(map(type, values))}
    found = set(kinds.values())
    if found <= {"integer", "float"} and found:
        return "float" if "float" in found else "integer"
    if found == {"vector"} or (found == {"text"} and "" not in values):
        return found.pop()
    for number, value in enumerate(values):
        kind, first = kinds[type(value)], kinds[type(values[0])]
        if kind == "missing" or (kind == "text" and not value):
            raise ArgumentError(f"{name(number)}: has no label, got {value!r}")
        if kind == "other":
            raise ArgumentError(
                f"{name(number)}: the label {value!r:.80} is no integer, float, text or vector of "
                "numbers"
            )
        if kind != first and {kind, first} != {"integer", "float"}:
            raise ArgumentError(
                f"{name(number)}: the label {value!r:.80} is of another kind than that of "
                f"{name(0)}, {values[0]!r:.80}"
            )
    return "integer"  # there are no videos


def _stacked(values: Sequence[Any], name: Name) -> NDArray[Any]:
    """Vectors of one length as one array."""
    vectors: list[NDArray[Any]] = []
    for number, value in enumerate(values):
        try:
            vector = np.asarray(value)
        except ValueError as error:  # lists of several lengths
            raise ArgumentError(f"{name(number)}: the label {value!r:.80} is ragged") from error
        if not vector.size or vector.dtype.kind not in "biuf":
            raise ArgumentError(f"{name(number)}: the label {value!r:.80} is no vector of numbers")
        if vectors and vector.shape != vectors[0].shape:
            raise ArgumentError(
                f"{name(number)}: its label has the shape {vector.shape}, that of {name(0)} "
                f"{vectors[0].shape}; all labels have one shape"
            )
        vectors.append(vector)
    return np.stack(vectors)


def _numbers(values: NDArray[Any], name: Name) -> NDArray[Any]:
    """int64 of integers, float32 of floats."""
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            result = values.astype(np.float32)
        bad = ~np.isfinite(result)
        wanted = "a finite float32"
    else:
        bad = np.asarray((values < _INT64.min) | (values > _INT64.max), dtype=bool)
        result = np.where(bad, 0, values).astype(np.int64)
        wanted = "an integer of 64 bits"
    if bad.any():
        number = int(np.argwhere(bad)[0, 0])
        raise ArgumentError(f"{name(number)}: the label {values[number]!s:.80} is not {wanted}")
    return result


def _numbered(texts: Sequence[str], name: Name, classes: Sequence[str] | None) -> VideoLabels:
    """Texts as numbers of classes."""
    order = sorted(set(texts)) if classes is None else list(classes)
    number_of = {text: number for number, text in enumerate(order)}
    for number, text in enumerate(texts):
        if text not in number_of:
            known = ", ".join(order[:_SHOWN]) + ", ..." * (len(order) > _SHOWN)
            raise ArgumentError(
                f"{name(number)}: its class {text!r} is not among the {len(order)} classes"
                f"{f': {known}' if order else ''}"
            )
    return VideoLabels(np.array([number_of[text] for text in texts], dtype=np.int64), order)


def _check_range(labels: VideoLabels, name: Name) -> None:
    """Fail if numbers are of no class, where the classes are known."""
    if not labels.classes:
        return
    if labels.values.ndim > 1 or labels.values.dtype.kind != "i":
        raise ArgumentError("classes go with labels that are texts, or integers that number them")
    outside = np.flatnonzero((labels.values < 0) | (labels.values >= len(labels.classes)))
    if len(outside):
        number = int(outside[0])
        raise ArgumentError(
            f"{name(number)}: the label {labels.values[number]} is the number of no class; there "
            f"are {len(labels.classes)}, counted from 0"
        )
