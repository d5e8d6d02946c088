"""Starts and ends of segments in the columns of a table: numbers, times of day, or text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

_CLOCK = r"^\s*(?:(?:(?P<h>\d{1,9}):)?(?P<m>\d{1,9}):)?(?P<s>\d{1,12}(?:[.,]\d*)?)\s*$"
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def as_seconds(column: pa.ChunkedArray, what: str) -> NDArray[np.float64]:
    """Seconds: numbers, text such as `12.5`, `2:03` or `1:02:03.500`, or a type of time of Arrow.

    Args:
        column: of a table.
        what: for messages.

    Returns:
        float64; NaN where there is no value. Infinite values stay.

    Raises:
        ArgumentError: a value is no time.

    >>> import pyarrow as pa
    >>> as_seconds(pa.chunked_array([["1:02:03.5", "7", None]]), "start")
    array([3723.5,    7. ,    nan])
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        whole = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        return _numbers(whole, what) / _TICKS[kind.unit]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _of_clock(column, what)
    return _numbers(column, what)


def as_frames(column: pa.ChunkedArray, what: str) -> NDArray[np.float64]:
    """Frame numbers as float64; NaN where there is no value.

    Raises:
        ArgumentError: a value is no whole number.
    """
    found = _numbers(column, what)
    is_odd = np.isfinite(found) & (found != np.floor(found))
    if is_odd.any():
        row = int(np.argmax(is_odd))
        raise ArgumentError(f"{what} has {found[row]:g} in row {row}, which is no frame number")
    return found


def _numbers(column: pa.ChunkedArray, what: str) -> NDArray[np.float64]:
    import pyarrow as pa

    kind, types = column.type, pa.types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if not any(test(kind) for test in tests):
        raise ArgumentError(f"{what} has values of type {kind}; it must have numbers")
    found: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    return found


def _of_clock(column: pa.ChunkedArray, what: str) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.combine_chunks()  # CSV has empty text for no value
    texts = pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), None, texts)
    parts = pc.extract_regex(texts, _CLOCK)
    is_wrong = pc.and_(pc.is_null(parts), pc.is_valid(texts)).to_numpy(zero_copy_only=False)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ArgumentError(
            f"{what} has {texts[row].as_py()!r:.80} in row {row}, which is no time; times are "
            "seconds or text such as 1:02:03.5"
        )
    seconds = np.zeros(len(texts))
    for name, factor in (("h", 3600), ("m", 60), ("s", 1)):
        part = pc.replace_substring(pc.struct_field(parts, name), ",", ".")
        filled = pc.if_else(pc.equal(part, ""), "0", part).cast(pa.float64())
        seconds += factor * filled.to_numpy(zero_copy_only=False)
    return np.where(pc.is_null(texts).to_numpy(zero_copy_only=False), np.nan, seconds)
