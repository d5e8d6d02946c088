"""`fn.readers.file`, `fn.io.file.read`: the bytes of files, and their labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import from_numpy

from videoloader.dali.operators.arguments import BOOL, INTS, PATH, Argument, Kind
from videoloader.dali.operators.context import Context, Sample
from videoloader.dali.operators.operator import declare
from videoloader.dali.readers.files.listing import (
    PATHS,
    StoredFiles,
    folders_below,
    listed,
    matching,
)
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError
from videoloader.machinery.system.address import absolute_path
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.training.labels.label_values import as_labels

_MEDIA = (
    "*.jpg *.jpeg *.png *.bmp *.tif *.tiff *.pnm *.ppm *.pgm *.pbm *.jp2 *.webp *.flac *.ogg *.wav"
)


def _texts(value: Any) -> tuple[str, ...]:
    value = (value,) if isinstance(value, str | os.PathLike) else value
    return tuple(map(os.fspath, value))


TEXTS = Kind("str or list of str", _texts)
FILE_ROOT = Argument("file_root", PATH, None, "folder, or the folder that paths are relative to")
FILE_LIST = Argument("file_list", PATH, None, "text file that lists paths")
FILES = Argument("files", PATHS, None, "paths, URLs or `Item`s of archives")


class _LabelledFiles(StoredFiles):
    def __init__(self, names: Sequence[str | Item], root: str, labels: Sequence[int]) -> None:
        super().__init__(names, root)
        self._labels = as_labels(labels, self.name).in_32_bits(self.name)

    def read(self, number: int) -> tuple[Sample, ...]:
        data, label = self.contents(number), self._labels.values[number : number + 1].copy()
        return Sample(from_numpy(data), "", self.name(number)), Sample(from_numpy(label))


def check_places(arguments: Mapping[str, Any], operator: str) -> None:
    """Look at the arguments together that say which files are read."""
    files, listed = arguments["files"] is not None, arguments["file_list"] is not None
    if files and listed:
        raise ArgumentError(f"fn.{operator}: give files or file_list, not both")
    if not (files or listed) and arguments["file_root"] is None:
        raise ArgumentError(f"fn.{operator} needs file_root, file_list or files")
    if files and not arguments["files"]:
        raise ArgumentError(f"fn.{operator}: files is empty")


def stored_places(arguments: Mapping[str, Any], operator: str) -> tuple[Sequence[str | Item], str]:
    """The names of the files that `files`, `file_list` or else `file_filter` say, and their root.

    Without a list these are the files in the root that match, then those directly in its folders.
    """
    root = arguments["file_root"]
    if arguments["files"] is not None:
        return arguments["files"], root or ""
    if arguments["file_list"] is not None:
        place = arguments["file_list"]
        names = [path for path, _ in listed(place, labelled=False)]
        return names, os.path.dirname(absolute_path(place)) if root is None else root
    wanted = matching((arguments["file_filter"],), case_sensitive=True)
    names = [
        name if folder == "." else f"{folder}/{name}"
        for folder, inside in folders_below(root, wanted, with_root=True)
        for name in inside
    ]
    if not names:
        raise ArgumentError(
            f"fn.{operator}: {root} has no file that matches {arguments['file_filter']!r}"
        )
    return names, root


def _check(arguments: Mapping[str, Any]) -> None:
    check_places(arguments, "readers.file")
    labels = arguments.get("labels")
    if labels is None:
        return
    if arguments["files"] is None:
        raise ArgumentError("fn.readers.file: labels go with files")
    if len(labels) != len(arguments["files"]):
        raise ArgumentError(
            f"fn.readers.file: {len(labels)} labels for {len(arguments['files'])} files"
        )


@declare_reader(
    "readers.file",
    num_outputs=lambda _: 2,
    arguments=(
        FILE_ROOT,
        FILE_LIST,
        FILES,
        Argument("labels", INTS, None, "of `files`; by default their positions"),
        Argument("file_filters", TEXTS, tuple(_MEDIA.split()), "patterns for names of files"),
        Argument("dir_filters", TEXTS, ("*",), "patterns for names of folders"),
        Argument(
            "case_sensitive_filter", BOOL, default=False, doc="whether case matters in patterns"
        ),
    ),
    owns_outputs=True,
    check=_check,
)
def read_files(**arguments: Any) -> _LabelledFiles:
    """Read whole files as they are, and give each its label.

    With `file_root` alone the files directly in its folders are read, in the order of their names;
    the label of a file is the position of its folder among those that match `dir_filters`. A line
    of `file_list` is a path and a label; paths are relative to `file_root`, or to the folder of the
    list. `files` are relative to `file_root` if there is one; labels are their positions, or
    `labels`. `random_shuffle` permutes all files before they are divided into shards, so
    `initial_fill` has no effect.

    Outputs: the bytes (1-D uint8), and the label (int32, shape (1,)).
    """
    root = arguments["file_root"]
    if arguments["files"] is not None:
        names = arguments["files"]
        labels = arguments["labels"]
        labels = range(len(names)) if labels is None else labels
        return _LabelledFiles(names, root or "", labels)
    if arguments["file_list"] is not None:
        entries = listed(arguments["file_list"], labelled=True)
        if root is None:
            root = os.path.dirname(absolute_path(arguments["file_list"]))
    else:
        sensitive = arguments["case_sensitive_filter"]
        folders = folders_below(
            root,
            matching(arguments["file_filters"], case_sensitive=sensitive),
            matching(arguments["dir_filters"], case_sensitive=sensitive),
        )
        entries = [
            (f"{folder}/{name}", label)
            for label, (folder, inside) in enumerate(folders)
            for name in inside
        ]
        if not entries:
            raise ArgumentError(
                f"fn.readers.file: no folder in {root} has files that match file_filters "
                "(a folder is a class)"
            )
    names, numbers = zip(*entries, strict=True)
    return _LabelledFiles(names, root, numbers)


def _infer(context: Context, filepaths: Spec) -> Spec:
    return Spec((), torch.uint8)  # the sizes are those of the files


@declare(
    "io.file.read",
    inputs=("filepaths",),
    devices=("cpu",),
    infer=_infer,
    unused=("dont_use_mmap", "use_o_direct"),
)
def read_contents(context: Context, filepaths: Batch) -> Batch:
    """Read whole files; a path is a vector of its bytes in UTF-8, and may be a URL."""
    return Batch([_contents(path) for path in filepaths])


def _contents(path: Any) -> torch.Tensor:
    if isinstance(path, torch.Tensor):
        if path.ndim != 1 or path.dtype not in (torch.uint8, torch.int8):
            raise ArgumentError(
                "fn.io.file.read takes paths as vectors of bytes (1-D uint8 or int8), got "
                f"{path.dtype} of shape {tuple(path.shape)}"
            )
        path = path.numpy().tobytes().rstrip(b"\0").decode(errors="surrogateescape")
    with open_source(path) as source:
        return torch.from_numpy(source.array(0, source.size))
