"""The samples of WebDataset archives: consecutive members of a tar file with one name.

The name of a sample is that of its members up to the first dot of the last part of the path; what
stands behind that dot is the extension of a member. Members that begin with a dot belong to no
sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from videoloader.errors import FormatError
from videoloader.machinery.system.address import shown
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source
from videoloader.sources.tar import read_members

_VERSIONS = {"v1.1": 3, "v1.2": 4}  # fields of a component in an index file


class Component(NamedTuple):
    """A member of an archive: its extension, where its bytes are, and its name."""

    extension: str
    offset: int
    size: int
    name: str = ""


def read_archive(path: str) -> list[list[Component]]:
    """The samples of an uncompressed archive; needs a look at each of its members.

    Raises:
        SourceError: the archive cannot be read.
        FormatError: it is no uncompressed tar archive, or damaged.
    """
    try:
        with open_source(path) as source:
            return [
                [component for _, component in members]
                for _, members in groupby(_components(source), key=lambda member: member[0])
            ]
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{shown(path)}: no uncompressed tar archive, or damaged ({error})"
        ) from error


def _components(source: Source) -> Iterator[tuple[str, Component]]:
    """(name of the sample, member) of each file in an archive."""
    for member in read_members(source):
        folder, slash, short = member.name.rpartition("/")
        stem, _, extension = short.partition(".")
        if not stem:
            continue
        if member.is_sparse:
            raise FormatError(
                f"{source.name}/{member.name} is stored with holes; pack the archive without"
            )
        place = Component(extension, member.offset, member.size, member.name)
        yield f"{folder}{slash}{stem}", place


def read_index(path: str) -> list[list[Component]]:
    """The samples of an archive as its index file lists them.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it is no such file.
    """
    with open_source(path) as source:
        lines = source.read(0, source.size).decode(errors="surrogateescape").splitlines()
    head = lines[0].split()
    if len(head) != 2 or head[0] not in _VERSIONS or not re.fullmatch("[0-9]{1,18}", head[1]):
        raise FormatError(
            f"{shown(path)}: no index of an archive, whose first line is `v1.2 <samples>`; got "
            f"{lines[0][:60]!r}"
        )
    width = _VERSIONS[head[0]]
    samples = []
    for number, line in enumerate(lines[1 : 1 + int(head[1])], start=2):
        fields = line.split()
        try:
            if not fields or len(fields) % width:
                raise ValueError(f"{len(fields)} fields")
            samples.append(
                [
                    Component(
                        fields[at],
                        int(fields[at + 1]),
                        int(fields[at + 2]),
                        *fields[at + 3 : at + width],
                    )
                    for at in range(0, len(fields), width)
                ]
            )
        except ValueError as error:
            raise FormatError(
                f"{shown(path)}, line {number}: {width} fields for each component are expected "
                f"({error})"
            ) from error
        if any(each.offset < 0 or each.size < 0 for each in samples[-1]):
            raise FormatError(f"{shown(path)}, line {number}: a negative offset or size")
    if len(samples) != int(head[1]):
        raise FormatError(f"{shown(path)}: lists {len(samples)} of {head[1]} samples")
    return samples


def write_index(archive: str, path: str) -> int:
    """Write the index file of an archive; gives the number of its samples.

    Members without an extension cannot be listed there.

    Raises:
        FormatError: a name has blanks, which separate the fields of an index.
    """
    members = [[each for each in sample if each.extension] for sample in read_archive(archive)]
    samples = [sample for sample in members if sample]
    for component in (each for sample in samples for each in sample):
        if len(component.name.split()) != 1:
            raise FormatError(f"{shown(archive)}: the name {component.name!r} has blanks")
    lines = [f"v1.2 {len(samples)}\n"]
    lines += [
        " ".join(f"{extension} {offset} {size} {name}" for extension, offset, size, name in sample)
        + "\n"
        for sample in samples
    ]
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(lines)
    return len(samples)
