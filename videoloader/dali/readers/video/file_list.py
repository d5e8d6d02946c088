"""Which files, with which labels: folders, lists in memory, and list files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, SourceError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.address import shown
from videoloader.machinery.system.faults import unreadable
from videoloader.sources.lists import check_length, exact_number, lines_of
from videoloader.training.labels.label_values import as_classes, as_labels

ROUNDINGS = {
    "start_down_end_up": (False, True),
    "start_up_end_down": (True, False),
    "all_up": (True, True),
    "all_down": (False, False),
}
"""For each rounding of times: whether the start and the end go to the later frame."""

_FIELD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One video, or a range of one, as it was asked for.

    `start` and `end` are frame numbers or seconds from the first frame; `where` names the line
    of a list file for errors.
    """

    path: str
    label: int | None = None
    start: Fraction | None = None
    end: Fraction | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class FrameRange:
    """How the start and end of an `Entry` become frame numbers."""

    unit: str = "timestamps"
    rounding: str = "start_down_end_up"
    include_end: bool = False

    def resolve(self, entry: Entry, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive).

        Without an end, or with one past the last frame, a range reaches to the last frame.
        """
        count = index.num_frames
        later_start, later_end = ROUNDINGS[self.rounding]
        start = 0 if entry.start is None else self._frame(entry.start, later_start, index)
        stop = count
        if entry.end is not None:
            stop = self._frame(entry.end, later_end, index) + self.include_end
        start, stop = max(start, 0), min(stop, count)
        if start >= stop:
            raise ArgumentError(
                f"{entry.where or shown(entry.path)}: the range from {_show(entry.start)} to "
                f"{_show(entry.end)} holds no frame of {shown(entry.path)}, which has {count}"
            )
        return start, stop

    def _frame(self, value: Fraction, later: bool, index: VideoIndex) -> int:
        if self.unit == "frames":
            frame = math.ceil(value) if later else math.floor(value)
            return frame + index.num_frames if frame < 0 else frame
        if float(value) >= index.duration:  # behind the last frame, not within it
            return index.num_frames
        ticks: NDArray[np.int64] = index.pts - index.pts[0] if len(index.pts) else index.pts
        time = value / Fraction(index.time_base)
        if later:  # the first frame at that time or after it
            return int(np.searchsorted(ticks, -(-time.numerator // time.denominator), "left"))
        return int(np.searchsorted(ticks, time.numerator // time.denominator, "right")) - 1


@dataclass(frozen=True, slots=True)
class EntryScopes:
    """The frames that entries of a list are about, by their numbers.

    Attributes:
        ranges: those that are not about all of their video.
        limits: how these become frame numbers.
    """

    ranges: dict[int, Entry]
    limits: FrameRange

    def __call__(self, number: int, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive)."""
        wanted = self.ranges.get(number)
        return (0, index.num_frames) if wanted is None else self.limits.resolve(wanted, index)


def list_folders(root: str | Path, classes: Sequence[str] | None = None) -> list[Entry]:
    """The files of every folder in `root`, in order; the label is the folder's position.

    Args:
        root: the folder.
        classes: names of the folders in the order of their labels; another one that has a file is
            an error.
    """
    if not os.path.isdir(root):
        raise SourceError(f"file_root {shown(os.fspath(root))} is no folder")
    root = Path(root)
    folders = sorted(folder for folder in root.iterdir() if _is_shown(folder) and folder.is_dir())
    files = [
        (str(file), folder.name)
        for folder in folders
        for file in sorted(folder.rglob("*"))
        if _is_shown(file) and file.is_file()
    ]
    names = [folder.name for folder in folders] if classes is None else as_classes(classes)
    labels = as_labels([folder for _, folder in files], lambda at: shown(files[at][0]), names)
    entries = [
        Entry(file, label) for (file, _), label in zip(files, labels.values.tolist(), strict=True)
    ]
    if not entries:
        raise ArgumentError(
            f"file_root {root} has no folder with files in it (a folder is a class); "
            "for files without classes use filenames"
        )
    return entries


def read_file_list(path: str | Path, unit: str = "timestamps") -> list[Entry]:
    """The lines of a list file: `path label [start [end]]`, blanks in the path allowed.

    A relative path is relative to the working directory. Empty lines are skipped.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise unreadable(os.fspath(path), error) from None
    name = shown(os.fspath(path))
    lines = lines_of(text, name)
    entries = [_parse(line, f"{name}, line {number}", unit) for number, line in lines]
    if not entries:
        raise ArgumentError(f"file_list {name} lists no file")
    return entries


def _parse(line: str, where: str, unit: str) -> Entry:
    """Read a line from the right: up to three numbers; the rest on the left is the path."""
    fields = list(_FIELD.finditer(line))
    numbers = 0
    while numbers < min(3, len(fields) - 1) and _number(fields[-1 - numbers].group()) is not None:
        numbers += 1
    splits = [(_path(line, fields, count), count) for count in range(numbers, 0, -1)]
    # A path may itself end in a number: the reading whose file exists is the right one.
    path, count = next((split for split in splits if os.path.exists(split[0])), (None, numbers))
    if path is None:
        _check_label(line, fields, numbers, where)
        path = splits[0][0]
        check_length(path, where)
    values = [_number(field.group()) for field in fields[len(fields) - count :]]
    label, start, end = (*values, None, None)[:3]
    if label is None or label.denominator != 1:
        raise ArgumentError(f"{where}: label {fields[-count].group()!r} is not an integer")
    if unit == "frames" and any(value and value.denominator != 1 for value in (start, end)):
        raise ArgumentError(f"{where}: start and end are frame numbers, which are integers")
    return Entry(path, int(label), start, end, where)


def _check_label(line: str, fields: Sequence[re.Match[str]], numbers: int, where: str) -> None:
    """Raise an error for a label that is no number, if the line seems to have one."""
    for field in fields[max(len(fields) - 3, 1) :]:
        try:
            exact_number(field.group())
        except OverflowError as error:
            raise ArgumentError(f"{where}: {error}") from None
        except ValueError:
            continue
    if len(fields) == 1:
        raise ArgumentError(f"{where}: no label after {fields[0].group()!r}")
    word = fields[-1 - numbers].group() if numbers < len(fields) else ""
    shorter = _path(line, fields, numbers + 1) if len(fields) > numbers + 1 else ""
    if numbers == 0 or (shorter and os.path.exists(shorter)):
        raise ArgumentError(f"{where}: label {word[:80]!r} is not an integer")


def _path(line: str, fields: Sequence[re.Match[str]], count: int) -> str:
    return line[: fields[-count].start()].strip()


def _number(text: str) -> Fraction | None:
    try:
        return exact_number(text)
    except (OverflowError, ValueError):
        return None


def _show(value: Fraction | None) -> Any:
    return "the beginning or end" if value is None else float(value)


def _is_shown(path: Path) -> bool:
    return not path.name.startswith(".")
