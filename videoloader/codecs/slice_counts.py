"""Picture order counts of many pictures at once, with numpy, from the heads of their first slices.

Used to check timestamps against the pictures. Resets of the counts that need a full parse
(`h264_order`) are ignored; they can make correct timestamps look wrong, but not the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.bits import unescape
from videoloader.codecs.h264 import sequence as h264
from videoloader.codecs.hevc import sequence as hevc
from videoloader.errors import FormatError

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

SLICE_BEGIN = 24
"""Bytes of a slice, NAL header included, that are enough for its picture order count."""

_WORD = 32  # bits of the longest field
_HEVC_LAST_SUB_LAYER = 14  # types 0 to 14, even: sub-layer non-reference pictures


Counts: TypeAlias = tuple[Ints, int, Flags, Flags] | None
"""Low bits of the counts, their limit, and masks of the pictures that restart and anchor them."""


def shown_order(
    read: Callable[[Fields, list[bytes]], Counts], heads: NDArray[np.uint8], sets: Iterable[bytes]
) -> Ints | None:
    """Presentation order of pictures that are consecutive in decode order.

    Args:
        read: `h264_counts` or `hevc_counts`.
        heads: the first `SLICE_BEGIN` bytes of each picture, padded with zeros.
        sets: parameter sets.

    Returns:
        Pictures in presentation order; None for unsupported streams: fields, several sequence
        parameter sets, pictures that are not output, other types of counts, damage.
    """
    try:
        found = read(Fields(heads), list(sets))
    except (FormatError, IndexError):
        return None
    if found is None:
        return None
    low, limit, is_start, is_anchor = found
    counts = _whole_counts(low, limit, is_start, is_anchor)
    return np.lexsort((counts, np.cumsum(is_start)))


class Fields:
    """Bit reader over many heads at once; each call reads one field of every head."""

    def __init__(self, heads: NDArray[np.uint8]) -> None:
        heads = _unescaped(heads)
        self.first, self.second = heads[:, 0], heads[:, 1]
        padded = np.pad(np.unpackbits(heads, axis=1), ((0, 0), (0, _WORD)))
        self._bits = padded
        self._rows = np.arange(len(heads))[:, None]
        self._at = np.zeros(len(heads), dtype=np.int64)
        self._end = 8 * heads.shape[1]

    def u(self, count: int, where: Flags | None = None) -> Ints:
        """An unsigned field of `count` bits; heads outside `where` skip it and give 0."""
        if self._at.max(initial=0) + count > self._end:
            raise FormatError("a slice header ends in the middle of a field")
        bits = self._bits[self._rows, self._at[:, None] + np.arange(count)].astype(np.int64)
        value: Ints = bits @ (1 << np.arange(count - 1, -1, -1))
        if where is None:
            self._at += count
            return value
        self._at += count * where
        return value * where

    def ue(self, where: Flags | None = None) -> Ints:
        """An unsigned Exp-Golomb code; heads outside `where` skip it."""
        if self._at.max(initial=0) >= self._end:
            raise FormatError("a slice header ends before a field")
        bits = self._bits[self._rows, self._at[:, None] + np.arange(_WORD)].astype(np.int64)
        zeros = np.argmax(bits, axis=1)
        if (bits[self._rows[:, 0], zeros] == 0).any() or (zeros >= _WORD // 2).any():
            raise FormatError("a slice header holds an Exp-Golomb code over 32 bits")
        words = bits @ (1 << np.arange(_WORD - 1, -1, -1))
        value: Ints = (words >> (_WORD - 1 - 2 * zeros)) - 1
        if where is None:
            self._at += 2 * zeros + 1
            return value
        self._at += (2 * zeros + 1) * where
        return value * where


def _unescaped(heads: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Heads without emulation prevention bytes, which are rare."""
    escape = (heads[:, :-2] == 0) & (heads[:, 1:-1] == 0) & (heads[:, 2:] == 3)
    rows = np.flatnonzero(escape.any(axis=1))
    if len(rows):
        heads = heads.copy()
        for row in rows.tolist():
            plain = unescape(heads[row].tobytes()).ljust(heads.shape[1], b"\0")
            heads[row] = np.frombuffer(plain, dtype=np.uint8)
    return heads


def h264_counts(fields: Fields, sets: list[bytes]) -> Counts:
    """Low bits of the counts, MaxPicOrderCntLsb, and masks of IDR and reference pictures."""
    sequences = {h264.parse_sequence(unit) for unit in sets if unit[0] & 31 == 7}
    if len(sequences) != 1:
        return None
    (sequence,) = sequences
    if sequence.order_type != 0:
        return None
    is_start = fields.first & 31 == 5
    fields.u(8)
    if fields.ue().any():  # first_mb_in_slice
        return None
    fields.ue(), fields.ue()  # slice_type, pic_parameter_set_id
    fields.u(2 * sequence.separate_planes)
    fields.u(sequence.number_bits)
    if sequence.may_have_fields and fields.u(1).any():
        return None
    fields.ue(is_start)  # idr_pic_id
    low = fields.u(sequence.order_bits)
    return low, 1 << sequence.order_bits, is_start, (fields.first >> 5 & 3) > 0


def hevc_counts(fields: Fields, sets: list[bytes]) -> Counts:
    """`h264_counts` for HEVC; the second mask is of the pictures that can be prevTid0Pic."""
    sequences = {hevc.parse_sequence(unit) for unit in sets if unit[0] >> 1 == 33}
    setups = {hevc.parse_setup(unit)[1] for unit in sets if unit[0] >> 1 == 34}
    forms = {(setup.has_output_flag, setup.extra_bits) for setup in setups}
    if len(sequences) != 1 or len(forms) != 1:
        return None
    (sequence,), ((has_output_flag, extra_bits),) = sequences, forms
    kinds = fields.first >> 1 & 63
    is_start = (kinds == 19) | (kinds == 20)
    fields.u(16)
    if not fields.u(1).all():  # first_slice_segment_in_pic_flag
        return None
    fields.u(1, (kinds >= 16) & (kinds <= 23))  # no_output_of_prior_pics_flag
    fields.ue()  # slice_pic_parameter_set_id
    fields.u(extra_bits)
    fields.ue()  # slice_type
    if has_output_flag and not fields.u(1).all():
        return None
    fields.u(2 * sequence.separate_planes)
    low = fields.u(sequence.order_bits, ~is_start)
    is_leading = (kinds >= 6) & (kinds <= 9)
    is_inner = (kinds <= _HEVC_LAST_SUB_LAYER) & (kinds % 2 == 0)
    is_anchor = (fields.second & 7 == 1) & ~is_leading & ~is_inner
    return low, 1 << sequence.order_bits, is_start, is_anchor


def _whole_counts(low: Ints, limit: int, is_start: Flags, is_anchor: Flags) -> Ints:
    """Full counts from their low bits, each relative to the previous anchor (section 8.2.1.1)."""
    places = np.arange(len(low))
    anchors = is_anchor | is_start
    latest = np.maximum.accumulate(np.where(anchors, places, -1))
    before = np.append(-1, latest[:-1])
    is_first = is_start | (before < 0)
    steps = (low - low[before]) % limit
    steps -= limit * (steps > limit // 2)
    steps[is_first] = low[is_first]
    # Accumulate steps from anchor to anchor; each `is_start` picture resets the sum.
    sums = np.cumsum(np.where(anchors, steps, 0))
    starts = np.maximum.accumulate(np.where(is_first & anchors, places, 0))
    along = sums - sums[starts] + steps[starts]
    counts: Ints = np.where(is_first, steps, along[before] + steps)
    return counts
