"""The columns of a data set index as JSON for a page, and two that are found by other means."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from videoloader.indexing.dataset.joining import ROW
from videoloader.indexing.dataset.rows import schema
from videoloader.machinery.system.address import escaped

if TYPE_CHECKING:
    import pyarrow as pa

    from videoloader.datasets.report.segments import Timelines

DAMAGE, REASON, SEGMENTS = "damaged_frames", "failure_reason", "segments"
CHANGE = "change"
"""Columns that the data set index lacks."""

_HIDDEN = {"path", "member", "offset", "mtime_ns", "etag", "head", "index"}
_FIRST = (
    *("key", "codec", "width", "height", "fps", "duration", "num_frames", "mean_gop", "bit_rate"),
    *("size", "has_audio", "error"),
)
_SENTENCES = ("key", "error", "warnings", REASON)  # long, and searched for parts of names
_LABELS = {
    "key": ("video", "place of the file below the root of the data set"),
    "error": ("error", "why it cannot be read"),
    "fps": ("frames/s", "average frame rate"),
    "duration": ("seconds", "from the first frame to the end of the last"),
    "num_frames": ("frames", "number of frames"),
    "num_keyframes": ("keyframes", "number of keyframes"),
    "mean_gop": ("GOP", "frames from keyframe to keyframe, on average"),
    "bit_rate": ("bits/s", "of the video stream"),
    "max_gap": ("longest gap", "seconds, longest time from a frame to the next"),
    "size": ("bytes", "size of the file"),
    "has_audio": ("sound", "whether the file has an audio stream"),
    DAMAGE: ("damaged frames", "found by `videoloader check`; -1 for all of them"),
    CHANGE: ("change", "since the earlier index"),
    REASON: ("reason", "why it cannot be read or is damaged, without names and numbers"),
}


def page_columns(
    table: pa.Table,
    damage: pa.Table | None,
    timelines: Timelines | None = None,
    changes: list[str] | None = None,
) -> list[dict[str, Any]]:
    """All columns that are shown, in their order; those of lists, objects and bytes are not.

    Each is a dictionary of `name`, `label`, `about`, `kind` (`number`, `truth` or `text`), `values`
    and `sql`, the name in a query, which is empty where a query cannot ask for it. Where values
    repeat, `words` has each of them once, and `values` their places there; or there is one word,
    and no `values`. `isLong` is set for sentences and paths. A column of the user's gets a `_`
    behind its name if the page makes one of that name.

    Args:
        table: columns of a data set index.
        damage: as for `write_report`.
        timelines: as for `render_page`.
        changes: of each row, see `find_changes`.
    """
    import pyarrow as pa

    keys = table["key"].to_pylist()
    counts, reasons = ({}, {}) if damage is None else _damaged(damage)
    reasons |= _reasons(keys, table["error"].to_pylist())
    made: dict[str, Any] = {}
    if damage is not None:
        made[DAMAGE] = pa.array(map(counts.get, keys), pa.int64())
    if timelines is not None:
        made[SEGMENTS] = pa.array(map(timelines.count, keys), pa.int64())
    if changes is not None:
        made[CHANGE] = pa.array(changes, pa.string())
    made[REASON] = pa.array(map(reasons.get, keys), pa.string())
    names = [name for name in _FIRST if name in table.column_names]
    names += [name for name in table.column_names if name not in (*names, *_HIDDEN)]
    names = [name for name in names if _is_shown(table[name].type)]
    found: dict[str, Any] = {}
    for name in names:
        shown = name
        while shown in made or (shown != name and shown in names):
            shown += "_"  # a column of the user's with the name of one that is made here
        found[shown] = table[name].combine_chunks(), name
    found |= {name: (values, None) for name, values in made.items()}
    return [_column(shown, values, own) for shown, (values, own) in found.items()]


def _is_shown(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return not pa.types.is_nested(kind) and "binary" not in str(kind)


def _column(name: str, values: pa.Array, own: str | None) -> dict[str, Any]:
    """A column for the page, see `page_columns`; `own` is its name in the data set index."""
    import pyarrow as pa
    import pyarrow.compute as pc

    label, about = _LABELS.get(name, (name.replace("_", " "), ""))
    if own is not None and own != name:
        label = f"{own} (of the index)"
    column: dict[str, Any] = {"name": name, "label": label, "about": about or label}
    kind = "text"
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        kind = "number"
    elif pa.types.is_boolean(values.type):
        kind = "truth"
    is_asked = kind != "text" or pa.types.is_string(values.type)
    if kind == "text":
        values = pc.cast(values, pa.string())
    column |= {"kind": kind, "sql": _in_query(own) if is_asked and own else ""}
    if name in _SENTENCES:
        column["isLong"] = True
    coded = values.dictionary_encode(null_encoding="encode")
    words = _as_json(coded.dictionary)
    if len(words) == 1:
        return column | {"words": words}
    if len(words) <= max(len(values) // 4, 16):
        return column | {"words": words, "values": coded.indices.to_numpy().tolist()}
    return column | {"values": _as_json(values)}


def _as_json(values: pa.Array) -> list[Any]:
    """Values as JSON has them: numbers that are not finite are missing."""
    import pyarrow as pa

    found: list[Any] = values.to_pylist()
    if pa.types.is_floating(values.type):
        return [None if value is None or not math.isfinite(value) else value for value in found]
    return found


def _in_query(name: str) -> str:
    """The name of a column in SQL; "" for one that `query` does not have."""
    if name in schema().names:
        return name
    quoted = name.replace('"', '""')
    return "" if name == ROW else f'"{quoted}"'


def _damaged(damage: pa.Table) -> tuple[dict[str, int], dict[str, str]]:
    """Damaged frames of each video, -1 for all of them, and the first reason; both by key."""
    counts: dict[str, int] = {}
    reasons: dict[str, str] = {}
    columns = (damage[name].to_pylist() for name in ("key", "frames", "reason"))
    for key, frames, reason in zip(*columns, strict=True):
        before = counts.get(key, 0)
        counts[key] = before + len(frames) if before >= 0 and frames else -1
        reasons.setdefault(key, _general(reason))
    return counts, reasons


def _reasons(keys: list[str], errors: list[str | None]) -> dict[str, str]:
    """What errors have in common with those of other files, by key."""
    found = {}
    for key, error in zip(keys, errors, strict=True):
        if error is not None:
            name = f"{escaped(key.rpartition('/')[2])}: "
            found[key] = _general(error.partition(name)[2] or error)
    return found


def _general(reason: str) -> str:
    return re.sub(r"(?<![\w-])\d+([.,]\d+)*\b", "…", reason)
