"""A row of a data set index: readable columns, and the encoded index of the video."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from videoloader import errors
from videoloader.codecs.color import Color
from videoloader.errors import ArgumentError, FormatError, SourceError, VideoError
from videoloader.indexing.dataset.measures import measures_of
from videoloader.indexing.index import VideoIndex, decode_index, encode_index
from videoloader.indexing.video import index_video
from videoloader.machinery.system.address import escaped, shown
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.sources.items import Item
from videoloader.sources.source import Fingerprint

if TYPE_CHECKING:
    import pyarrow as pa

_LENGTH = struct.Struct("<I")
_FORMAT = "5"  # of the columns
_OF_5 = (
    *("has_audio", "audio_codec", "audio_sample_rate", "audio_channels"),
    *("variable_rate", "max_gap", "bit_rate", "mean_gop", "max_gop", "keyframe_interval"),
    *("open_gops", "sample_aspect_ratio", "interlaced", "is_hdr", "mastering_display"),
    *("max_cll", "max_fall", "edit_list", "num_discarded"),
)
_OF_4 = ("key", "head", "error_kind")
_LATER = {_FORMAT: (), "4": _OF_5, "3": (*_OF_4, *_OF_5)}  # columns that files of a format lack
_SHARED = (  # columns that are attributes of an index
    *("codec", "container", "width", "height", "rotation", "num_frames", "duration"),
    *("pixel_format", "bit_depth", "stream", "exactness", "has_headers"),
)
_FACTS = (  # columns that describe a video, in the order in which rows are encoded
    *(*_SHARED, "num_keyframes", "fps", "start"),
    *(*(f"color_{name}" for name in Color.__slots__), *_OF_5, "warnings"),
)
_COLUMNS = {  # of the Parquet file, in order, with their Arrow types
    "key": "string",
    "path": "string",
    "member": "string",
    "offset": "int64",
    "size": "int64",
    "mtime_ns": "int64",
    "etag": "string",
    "head": "string",
    "error": "string",
    "error_kind": "string",
    "codec": "string",
    "container": "string",
    "width": "int32",
    "height": "int32",
    "rotation": "int32",
    "num_frames": "int64",
    "num_keyframes": "int64",
    "duration": "double",
    "fps": "double",
    "start": "double",
    "pixel_format": "string",
    "bit_depth": "int32",
    "color_matrix": "string",
    "color_primaries": "string",
    "color_transfer": "string",
    "color_range": "string",
    "stream": "int32",
    "exactness": "string",
    "has_headers": "bool",
    "has_audio": "bool",
    "audio_codec": "string",
    "audio_sample_rate": "int32",
    "audio_channels": "int32",
    "variable_rate": "bool",
    "max_gap": "double",
    "bit_rate": "int64",
    "mean_gop": "double",
    "max_gop": "int64",
    "keyframe_interval": "double",
    "open_gops": "int64",
    "sample_aspect_ratio": "double",
    "interlaced": "bool",
    "is_hdr": "bool",
    "mastering_display": "string",
    "max_cll": "int32",
    "max_fall": "int32",
    "edit_list": "bool",
    "num_discarded": "int64",
    "warnings": "string",
    "index": "large_binary",
}
_OF_KIND = {  # types of the values of a column, and the bound of integers in it
    "string": (str, 0),
    "int32": (int, 1 << 31),
    "int64": (int, 1 << 63),
    "double": (float, 1 << 53),
    "bool": (bool, 0),
    "large_binary": (bytes, 0),
}
_TYPES = {name: _OF_KIND[kind][0] for name, kind in _COLUMNS.items()}
_BOUNDS = {name: _OF_KIND[kind][1] for name, kind in _COLUMNS.items()}
LONGEST_TEXT = (1 << 31) // 4096 - 1  # bytes of a text: the texts of a row group are one array
_PLACE = ("path", "member", "offset", "size")
_SHOWN = 10_000  # characters of an error
_JSON = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a data set index; either `index` or `error` is set.

    Args:
        item: location of the video, relative to the root of the data set if it has one.
        state: fingerprint of the file when it was indexed, None if it could not be read.
        facts: readable columns; those of `schema` if the row is of a video.
        index: bytes for `decode_index`.
        error: text of the error.
        kind: kind of the error: the name of its class, `WorkerDied` or `TimeLimit`.
    """

    item: Item
    state: Fingerprint | None
    facts: dict[str, Any]
    index: bytes = b""
    error: str = ""
    kind: str = ""

    @property
    def part(self) -> int | None:
        """The number of the part of the video that it is of; None if it is of the whole video."""
        return self.facts.get("part")

    def encode(self) -> bytes:
        """The row as bytes."""
        state = self.state and [getattr(self.state, name) for name in Fingerprint.__slots__]
        place = self.item.place()
        facts: Any = self.facts
        if "num_frames" in facts:  # of a video: without the names
            facts = [*map(facts.get, _FACTS)]
        head = _JSON.encode([place, state, facts, self.error, self.kind]).encode()
        return _LENGTH.pack(len(head)) + head + self.index

    @classmethod
    def decode(cls, data: bytes) -> Row:
        """Decode the bytes of `encode`.

        Raises:
            FormatError: they are invalid.
        """
        try:
            (length,) = _LENGTH.unpack_from(data)
            end = _LENGTH.size + length
            item, state, facts, error, kind = json.loads(data[_LENGTH.size : end])
            if isinstance(facts, list):
                facts = dict(zip(_FACTS, facts, strict=True))
            row = cls(Item(*item), state and Fingerprint(*state), facts, data[end:], error, kind)
            row.check_facts()
        except (TypeError, ValueError, RecursionError, struct.error) as reason:
            raise FormatError(f"no row of a data set index ({reason})") from reason
        return row

    def check(self) -> None:
        """Check that the columns of a data set index can hold its values.

        Raises:
            ValueError: one cannot, which it names.
        """
        self.check_facts()
        _check(("error", "error_kind"), (self.error, self.kind))
        _check(_PLACE, self.item.place())
        if self.state is not None:
            _check(Fingerprint.__slots__, [getattr(self.state, n) for n in Fingerprint.__slots__])

    def check_facts(self) -> None:
        """Check the types of the error and the facts, and the facts of a video as `check` does.

        Raises:
            ValueError: one is wrong.
        """
        is_row = isinstance(self.error, str) and isinstance(self.kind, str)
        if not is_row or not isinstance(self.facts, dict):
            raise ValueError("the error or the facts are of another type")
        if "num_frames" in self.facts:  # of a video; those of other jobs are in no column
            _check(_FACTS, [*map(self.facts.get, _FACTS)])


class EncodedRow(NamedTuple):
    """A row of a video that a worker process encoded."""

    item: Item
    data: bytes
    error: Literal[""] = ""
    part: None = None

    def encode(self) -> bytes:
        """The row as bytes."""
        return self.data


def _check(names: Sequence[str], values: Sequence[object]) -> None:
    """Check that columns can hold values; None is null.

    Raises:
        ValueError: one cannot, which it names.
    """
    for name, value in zip(names, values, strict=True):
        if value is None:
            continue
        kind = type(value)
        if kind is str:
            fits = _TYPES[name] is str and is_stored(value)  # type: ignore[arg-type]
        elif kind is int:
            fits = -_BOUNDS[name] <= value < _BOUNDS[name]  # type: ignore[operator]
        else:
            fits = isinstance(value, _TYPES[name]) and (kind is bool) == (_TYPES[name] is bool)
        if not fits:
            raise ValueError(f"{name} is {value!r:.40}, which its column cannot hold")


def is_stored(text: str) -> bool:
    r"""Whether a column can hold a text: it is Unicode, and not too long.

    >>> is_stored("clip.mp4"), is_stored("clip\udcff.mp4")
    (True, False)
    """
    if text.isascii():
        return len(text) <= LONGEST_TEXT
    try:
        return len(text.encode()) <= LONGEST_TEXT
    except UnicodeEncodeError:
        return False


class Begun(NamedTuple):
    """An indexed video whose row is not made yet, with the arguments of `begin_row`."""

    item: Item
    root: str | None
    state: Fingerprint
    video: VideoIndex


def make_row(item: Item, *, headers: bool, root: str | None = None) -> Row:
    """Index a video; a failure becomes a row with its error. Takes the arguments of `begin_row`."""
    return _finished(begin_row(item, headers=headers, root=root))


def begin_row(item: Item, *, headers: bool, root: str | None = None) -> Begun | Row:
    """The first part of `make_row`: all that reads the file. A failure becomes a row.

    Args:
        item: the video; its path is relative to `root` if there is one.
        headers: as for `index_video`.
        root: of the data set. The row does not depend on it.

    Raises:
        ResourceError: the machine lacks open files or the like, which ends the job.
    """
    place, state = item.under(root), item.listed
    try:
        with place.open() as source:
            state = source.fingerprint
            index = index_video(source, headers)
            if not index.num_frames:
                raise FormatError(f"{source.name}: there is no frame in it")
        return Begun(item, root, state, index)
    except Exception as error:  # noqa: BLE001  (a bug of ours must not stop a job of millions)
        return _failed(item, state, error, root)


def encoded_row(begun: Begun | Row) -> tuple[bytes, bool]:
    """The row as bytes, which travel between processes and into a journal, and if it failed."""
    row = _finished(begun)
    return row.encode(), bool(row.error)


def _finished(begun: Begun | Row) -> Row:
    if isinstance(begun, Row):
        return begun
    item, root, state, index = begun
    try:
        name = item.name if root is not None and not item.member else None
        row = Row(item, index.fingerprint, _facts(index), encode_index(index, name=name))
    except Exception as error:  # noqa: BLE001  (as above)
        return _failed(item, state, error, root)
    return storable(row)


def storable(row: Row) -> Row:
    """The row, or the row of a failure if a column cannot hold one of its values."""
    try:
        row.check()
    except ValueError as error:
        text = row.error or f"{row.item.name}: cannot be stored in a data set index: {error}"
        return Row(row.item, None, {}, error=escaped(text[:_SHOWN]), kind=row.kind or "FormatError")
    return row


def _failed(item: Item, state: Fingerprint | None, error: Exception, root: str | None) -> Row:
    """The row of an error.

    Raises:
        ResourceError: the error is one of the machine.
    """
    place = item.under(root)
    raise_shortage(error, place.name)
    kind = type(error).__name__
    text = str(error) if isinstance(error, VideoError) else f"{kind}: {error}"
    if root is not None:
        text = text.removeprefix(shown(root.rstrip("/") + "/"))
    if isinstance(error, SourceError):
        state = None  # the next job tries again
    elif isinstance(error, VideoError):
        state = state or state_of(place)
    return storable(Row(item, state, {}, error=text, kind=kind))


def state_of(item: Item) -> Fingerprint | None:
    """The current state of a video, see `Item.state`; None if it cannot be read."""
    try:
        return item.state()
    except VideoError:
        return None


def failed_row(item: Item, failure: TaskFailure, root: str | None = None) -> Row:
    """The row of a video whose worker died or exceeded the time limit."""
    state = state_of(item.under(root))
    text = f"{item.name}: {failure.reason}"
    return storable(Row(item, state, {}, error=text, kind=failure.kind))


def with_root(row: Row, earlier: str | None, root: str | None) -> Row:
    """A row with its path made relative to a root, or absolute."""
    if earlier == root:
        return row
    item = row.item.under(earlier)
    if root is not None:
        try:
            item = item.relative_to(root)
        except ArgumentError:
            return row
    if not row.index:
        return replace(row, item=item, error=text_at(row.error, row.item, item))
    if item.member:
        return replace(row, item=item)
    index = replace(decode_index(row.index), name=item.name)
    return replace(row, item=item, index=encode_index(index))


def as_error(kind: str, text: str) -> VideoError:
    """The error recorded in a row; of its original class if that is one of ours.

    >>> as_error("FormatError", "clip.mp4: no video")
    FormatError('clip.mp4: no video')
    """
    found = getattr(errors, kind) if kind in errors.__all__ else VideoError
    made: VideoError = found(text)
    return made


def text_at(text: str, stored: Item, now: Item) -> str:
    """The text of an error that begins with the name of a video, with the name that it has now."""
    return now.name + text[len(stored.name) :] if text.startswith(stored.name) else text


def _facts(index: VideoIndex) -> dict[str, Any]:
    return {
        **{name: getattr(index, name) for name in _SHARED},
        "num_keyframes": len(index.keyframes),
        "fps": index.average_fps,
        "start": int(index.pts[0]) * index.time_base.numerator / index.time_base.denominator,
        **{f"color_{name}": getattr(index.color, name) for name in Color.__slots__},
        **measures_of(index),
        "warnings": "; ".join(index.warnings) or None,
    }


def schema(root: str | None = None, *, is_default: bool = False) -> pa.Schema:
    """Columns of the Parquet file, in order.

    Args:
        root: what its paths are relative to.
        is_default: the root was not given by the user.
    """
    import pyarrow as pa

    metadata = {"videoloader": _FORMAT}
    if root is not None:
        metadata |= {"root": root} | ({"root_is_default": "1"} if is_default else {})
    kinds = [(name, pa.type_for_alias(kind)) for name, kind in _COLUMNS.items()]
    return pa.schema(kinds, metadata=metadata)


def check_schema(found: pa.Schema, path: Path) -> None:
    """Check that a Parquet file has the columns of `schema`, or of an older version, and others.

    Raises:
        FormatError: it does not.
    """
    version = (found.metadata or {}).get(b"videoloader", b"").decode(errors="replace")
    if version and version not in _LATER:
        raise FormatError(
            f"{path}: the data set index is of another version of videoloader; delete it and "
            "index the videos again"
        )
    later = _LATER.get(version, ())
    expected = {field.name: field.type for field in schema() if field.name not in later}
    types = {field.name: field.type for field in found if field.name in expected}
    if not version or types != expected or len(set(found.names)) < len(found.names):
        raise FormatError(
            f"{path}: no data set index of videoloader; of another table give the column of paths"
        )


def with_later_columns(found: pa.Schema) -> pa.Schema:
    """The columns of an older file, and null for columns that it lacks."""
    later = [field for field in schema() if field.name not in ("key", *found.names)]
    for field in later:
        found = found.append(field)
    return found


def completed(table: pa.Table) -> pa.Table:
    """A table of rows with the columns added that an older file lacks, null but for `key`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for field in schema():
        if field.name in table.column_names:
            continue
        values = pa.nulls(len(table), field.type)
        if field.name == "key":
            names = pc.binary_join_element_wise(table["path"], table["member"], "/")
            values = pc.if_else(pc.equal(table["member"], ""), table["path"], names)
        table = table.append_column(field, values)
    return table
