"""Short-term reference picture sets of HEVC (ITU-T H.265, sections 7.3.7 and 7.4.8)."""

from __future__ import annotations

from collections.abc import Sequence

from videoloader.codecs.bits import BitReader
from videoloader.errors import FormatError

ReferenceSet = tuple[int, ...]
"""Picture order counts relative to the current picture: earlier pictures first, then later ones,
each by increasing distance. The used_by_curr_pic flags are not kept."""

_MAX_SETS, _MAX_REFERENCES = 64, 16


def parse_sets(bits: BitReader) -> tuple[ReferenceSet, ...]:
    """Parse the sets of a sequence parameter set."""
    count = bits.ue()
    if count > _MAX_SETS:
        raise FormatError(f"HEVC parameter set with {count} reference picture sets")
    sets: list[ReferenceSet] = []
    for _ in range(count):
        sets.append(parse_set(bits, sets, in_slice=False))
    return tuple(sets)


def parse_set(
    bits: BitReader, previous: Sequence[ReferenceSet], *, in_slice: bool = True
) -> ReferenceSet:
    """Parse the set after `previous`; a set in a slice header may predict from any of them."""
    if previous and bits.flag():
        back = bits.ue() + 1 if in_slice else 1
        if back > len(previous):
            raise FormatError("an HEVC reference picture set builds on one that is not there")
        return _derived(bits, previous[-back])
    earlier, later = bits.ue(), bits.ue()
    if max(earlier, later) > _MAX_REFERENCES:
        raise FormatError(f"HEVC reference picture set of {earlier + later} pictures")
    return (*_steps(bits, earlier, -1), *_steps(bits, later, 1))


def _steps(bits: BitReader, count: int, direction: int) -> ReferenceSet:
    found = []
    delta = 0
    for _ in range(count):
        delta += direction * (bits.ue() + 1)
        found.append(delta)
        bits.flag()  # used_by_curr_pic_flag
    return tuple(found)


def _derived(bits: BitReader, base: ReferenceSet) -> ReferenceSet:
    """A set predicted from another (inter_ref_pic_set_prediction_flag, equations 7-61, 7-62)."""
    is_negative = bits.flag()
    step = bits.ue() + 1
    if is_negative:
        step = -step
    # For each picture: used_by_curr_pic_flag, and use_delta_flag if that is 0.
    stays = [bits.flag() or bits.flag() for _ in range(len(base) + 1)]
    moved = [delta + step for delta in (*base, 0)]
    found = [delta for delta, is_kept in zip(moved, stays, strict=True) if is_kept and delta]
    if len(found) > _MAX_REFERENCES:
        raise FormatError(f"HEVC reference picture set of {len(found)} pictures")
    found.sort(key=lambda delta: (delta > 0, abs(delta)))
    return tuple(found)
