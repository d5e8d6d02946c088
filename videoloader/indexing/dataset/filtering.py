"""Selects rows of a data set index by conditions on its columns; opens no video."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import CODECS, closest_name
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.containers.registry import CONTAINERS, container_of
from videoloader.indexing.dataset.cache import reading
from videoloader.indexing.dataset.rows import with_later_columns
from videoloader.indexing.libav import is_codec, is_container, pixel_format_names
from videoloader.machinery.system.spelling import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

_TURNED = (90, 270, -90, -270)  # rotations that swap width and height


class Limits(TypedDict, total=False):
    """Conditions on videos by name; limits are inclusive.

    Sizes are those of the displayed picture, rotation applied; `aspect` is width / height.
    """

    min_frames: int
    max_frames: int
    min_keyframes: int
    max_keyframes: int
    min_duration: float
    max_duration: float
    min_fps: float
    max_fps: float
    min_width: int
    max_width: int
    min_height: int
    max_height: int
    min_pixels: int
    max_pixels: int
    min_aspect: float
    max_aspect: float
    codecs: str | Sequence[str]
    containers: str | Sequence[str]
    pixel_formats: str | Sequence[str]


_CHOICES = {"codecs": "codec", "containers": "container", "pixel_formats": "pixel_format"}


def as_condition(
    condition: pc.Expression | None, limits: Mapping[str, Any]
) -> pc.Expression | None:
    """Combine all conditions into one expression; None if there are none.

    Raises:
        ArgumentError: a limit has an unknown name or an invalid value.
        ArgumentTypeError: `condition` is not an expression of pyarrow.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if condition is not None and not isinstance(condition, pc.Expression):
        raise ArgumentTypeError(
            "a filter is limits by name such as min_frames=64, or an expression of pyarrow; SQL "
            f"goes to query(); got {condition!r:.100}"
        )
    for name, value in limits.items():
        if name not in Limits.__annotations__:
            hint = did_you_mean(Limits.__annotations__, name) or "see `Limits`"
            raise ArgumentError(f"videos have no limit {name!r}; {hint}")
        if value is None:
            continue
        try:
            one = _one_condition(name, value)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise ArgumentError(f"{name}={value!r} is no limit of videos ({error})") from error
        condition = one if condition is None else condition & one
    return condition


def matching_rows(
    path: Path, condition: pc.Expression, joined: pa.Table | None = None
) -> NDArray[np.int64]:
    """Rows of a data set index for which a condition is true, ascending.

    Only the columns that the condition names are read. With `joined`, a table of all columns,
    none are.

    Raises:
        ArgumentError: the condition does not apply to the columns of a data set index.
        FormatError: the file is damaged.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    with reading(path):
        known = with_later_columns(pq.read_schema(path))
        table = ds.dataset(path, schema=known, format="parquet") if joined is None else None
    table = table or ds.dataset(joined)
    try:
        table.schema.empty_table().filter(condition)
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        columns = ", ".join(name for name in table.schema.names if name != "index")
        reason = str(error).partition("\n")[0]
        raise ArgumentError(
            f"{path}: the filter {condition} fits no data set index ({reason}); its columns are "
            f"{columns}"
        ) from error
    with reading(path):
        kept = table.scanner(columns={"is_kept": condition}).to_table()["is_kept"]
        rows: NDArray[np.int64] = np.flatnonzero(pc.fill_null(kept, fill_value=False))
        return rows


def _one_condition(name: str, value: Any) -> pc.Expression:
    import pyarrow as pa
    import pyarrow.compute as pc

    if name in _CHOICES:
        wanted = [value] if isinstance(value, str) else list(value)
        if not all(isinstance(each, str) for each in wanted):
            raise TypeError("names are texts")
        if name == "codecs":
            _check_codecs(wanted)
        elif name == "containers":
            wanted = _container_names(wanted)
        else:
            _check_pixel_formats(wanted)
        return pc.field(_CHOICES[name]).isin(pa.array(wanted, pa.string()))
    bound, _, what = name.partition("_")
    limit = pa.scalar(value, pa.float64())
    measured = _measure(what)
    return measured >= limit if bound == "min" else measured <= limit


def _check_codecs(names: Sequence[str]) -> None:
    """Raise ArgumentError if a name is no codec of this library or FFmpeg."""
    for name in names:
        if name not in CODECS and not is_codec(name):
            raise ArgumentError(f"no codec is called {name!r}; {_hint(CODECS, closest_name(name))}")


def _container_names(names: Sequence[str]) -> list[str]:
    """Names that indexes have for these containers, of this library's and FFmpeg's demuxers.

    Raises:
        ArgumentError: a name is no container, such as the ending of a file.
    """
    found = []
    for name in names:
        one = container_of(name)
        by_ending = [each.name for each in CONTAINERS if f".{name.lower()}" in each.endings]
        if one not in CONTAINERS and (by_ending or not is_container(name)):
            hint = _hint([each.name for each in CONTAINERS], *by_ending or [name])
            raise ArgumentError(f"no container is called {name!r}; {hint}")
        found += [one.name, one.demuxer or one.name]
    return found


def _check_pixel_formats(names: Sequence[str]) -> None:
    """Raise ArgumentError if a name is no pixel format of FFmpeg."""
    known = pixel_format_names()
    for name in names:
        if name not in known:
            hint = did_you_mean(sorted(known), name) or "names are FFmpeg's, such as yuv420p"
            raise ArgumentError(f"no pixel format is called {name!r}; {hint}")


def _hint(known: Collection[str], name: str) -> str:
    return (
        did_you_mean(known, name, most=1) or f"names are {', '.join(known)}, and others of FFmpeg"
    )


def _measure(what: str) -> pc.Expression:
    import pyarrow as pa
    import pyarrow.compute as pc

    if what in ("frames", "keyframes"):
        return pc.field(f"num_{what}")
    if what in ("duration", "fps"):
        return pc.field(what)
    is_turned = pc.field("rotation").isin(pa.array(_TURNED, pa.int32()))
    coded = pc.field("width").cast(pa.float64()), pc.field("height").cast(pa.float64())
    width = pc.if_else(is_turned, coded[1], coded[0])
    height = pc.if_else(is_turned, coded[0], coded[1])
    sizes = {
        "width": width,
        "height": height,
        "pixels": pc.multiply(width, height),
        "aspect": pc.divide(width, height),
    }
    return sizes[what]
