"""One video of a data set as a row: facts for people, and its index for machines."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from videoloader.errors import FormatError, SourceError, VideoError
from videoloader.indexing.dataset.sources import Item
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.source import Fingerprint
from videoloader.indexing.storage import encode_index
from videoloader.indexing.video import index_video

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Row", "check_schema", "failed_row", "make_row", "schema"]

_LENGTH = struct.Struct("<I")
_FORMAT = "3"  # of the column of indexes
_JSON = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Row:
    """What the data set index keeps of a video; either `index` or `error` is there.

    Args:
        item: where the video is.
        state: of its file when it was indexed, None if its bytes could not be had.
        facts: columns for people.
        index: what `decode_index` reads.
        error: why there is none.
    """

    item: Item
    state: Fingerprint | None
    facts: dict[str, Any]
    index: bytes = b""
    error: str = ""

    def encode(self) -> bytes:
        """The row as bytes."""
        state = self.state and [self.state.size, self.state.mtime_ns, self.state.etag]
        head = _JSON.encode([self.item.place(), state, self.facts, self.error]).encode()
        return _LENGTH.pack(len(head)) + head + self.index

    @classmethod
    def decode(cls, data: bytes) -> Row:
        """What `encode` made."""
        (length,) = _LENGTH.unpack_from(data)
        end = _LENGTH.size + length
        item, state, facts, error = json.loads(data[_LENGTH.size : end])
        return cls(Item(*item), state and Fingerprint(*state), facts, data[end:], error)


def make_row(item: Item, *, headers: bool) -> Row:
    """Index a video, or say why that fails."""
    state = item.listed
    try:
        with item.open() as source:
            state = source.fingerprint
            index = index_video(source, headers)
            if not index.num_frames:
                raise FormatError(f"{source.name}: there is no frame in it")
    except SourceError as error:
        return Row(item, None, {}, error=str(error))  # the next job tries again
    except VideoError as error:
        return Row(item, state or _state(item), {}, error=str(error))
    except Exception as error:  # noqa: BLE001  (a bug of ours must not stop a job of millions)
        return Row(item, state, {}, error=f"{type(error).__name__}: {error}")
    return Row(item, state, _facts(index), encode_index(index))


def _state(item: Item) -> Fingerprint | None:
    try:
        return item.state()
    except VideoError:
        return None


def failed_row(item: Item, reason: str) -> Row:
    """The row of a video whose worker did not come back."""
    state = None
    with suppress(VideoError):
        state = item.state()
    return Row(item, state, {}, error=f"{item.name}: {reason}")


def _facts(index: VideoIndex) -> dict[str, Any]:
    return {
        "codec": index.codec,
        "container": index.container,
        "width": index.width,
        "height": index.height,
        "rotation": index.rotation,
        "num_frames": index.num_frames,
        "num_keyframes": len(index.keyframes),
        "duration": index.duration,
        "fps": index.average_fps,
        "start": float(index.pts[0] * index.time_base),
        "pixel_format": index.pixel_format,
        "bit_depth": index.bit_depth,
        "color_matrix": index.color.matrix,
        "color_primaries": index.color.primaries,
        "color_transfer": index.color.transfer,
        "color_range": index.color.range,
        "stream": index.stream,
        "exactness": index.exactness,
        "has_headers": index.has_headers,
        "warnings": "; ".join(index.warnings) or None,
    }


def schema() -> pa.Schema:
    """Columns of the Parquet file, in order."""
    import pyarrow as pa

    text, number, real = pa.string(), pa.int64(), pa.float64()
    small = pa.int32()
    return pa.schema(
        [
            ("path", text),
            ("member", text),
            ("offset", number),
            ("size", number),
            ("mtime_ns", number),
            ("etag", text),
            ("error", text),
            ("codec", text),
            ("container", text),
            ("width", small),
            ("height", small),
            ("rotation", small),
            ("num_frames", number),
            ("num_keyframes", number),
            ("duration", real),
            ("fps", real),
            ("start", real),
            ("pixel_format", text),
            ("bit_depth", small),
            ("color_matrix", text),
            ("color_primaries", text),
            ("color_transfer", text),
            ("color_range", text),
            ("stream", small),
            ("exactness", text),
            ("has_headers", pa.bool_()),
            ("warnings", text),
            ("index", pa.large_binary()),
        ],
        metadata={"videoloader": _FORMAT},
    )


def check_schema(found: pa.Schema, path: Path) -> None:
    """Make sure that a Parquet file is a data set index as `schema` says.

    Raises:
        FormatError: it is not.
    """
    if not found.equals(schema()):
        raise FormatError(f"{path}: no data set index of videoloader")
    if (found.metadata or {}).get(b"videoloader") != _FORMAT.encode():
        raise FormatError(
            f"{path}: the data set index is of another version of videoloader; delete it and "
            "index the videos again"
        )
