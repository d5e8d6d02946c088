"""H.264 sequence parameter sets and NAL unit types (ITU-T H.264, sections 7.3 and 7.4)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.buffering import Buffering, h264_level_frames
from videoloader.codecs.color import Color
from videoloader.codecs.picture import PictureFormat, cropped_left, parse_vui_start, pixel_format
from videoloader.errors import FormatError

SLICES = frozenset(range(1, 6))
PARAMETER_SETS = frozenset({7, 8, 13, 15})

# Profiles whose parameter set has the chroma fields (section 7.3.2.1.1).
_HIGH_PROFILES = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}
_BASELINE = 66

# constraint_set3_flag: with level_idc 11 it means level 1b in the older profiles (section A.3.4).
# In the high profiles it signals the intra-only variant (section E.2.1).
_CONSTRAINT_SET_3 = 1 << 4
_OLD_PROFILES = {66, 77, 88}
_INTRA_PROFILES = {44, 86, 100, 110, 122, 244}
_LEVEL_1B, _LEVEL_1_1 = 9, 11
_MAX_SET = 1 << 12  # bytes of a parameter set to read; most have about 50


@dataclass(frozen=True, slots=True)
class Sequence:
    """Fields of a sequence parameter set that slice headers depend on (section 7.3.2.1.1).

    `coded` is the size of a frame before cropping. `order_cycle`, for picture order counts of type
    1, holds offset_for_non_ref_pic, offset_for_top_to_bottom_field, and offset_for_ref_frame.
    """

    number: int
    picture: PictureFormat
    chroma: int
    separate_planes: bool
    number_bits: int
    order_type: int
    order_bits: int
    order_deltas: bool
    order_cycle: tuple[int, ...]
    may_have_fields: bool
    may_have_gaps: bool
    coded: tuple[int, int]
    buffering: Buffering


def parse_sequence(nal: bytes) -> Sequence:
    """Read a sequence parameter set, NAL header included.

    Raises:
        FormatError: it ends early or holds values that the standard does not allow.
    """
    return _parse_sequence(nal[:_MAX_SET])


@lru_cache(maxsize=64)  # files of one encoder have the same
def _parse_sequence(nal: bytes) -> Sequence:
    bits = BitReader(unescape(nal)[1:])
    profile = bits.u(8)
    constraints, level = bits.u(8), bits.u(8)
    number = bits.ue()
    chroma, depth, separate_planes = 1, 8, False
    if profile in _HIGH_PROFILES:
        chroma = bits.ue()
        if chroma > 3:
            raise FormatError(f"H.264 chroma_format_idc is {chroma}")
        if chroma == 3:
            separate_planes = bits.flag()
        depth = 8 + bits.ue()
        bits.ue()  # bit_depth_chroma_minus8
        bits.flag()  # qpprime_y_zero_transform_bypass_flag
        if bits.flag():
            _skip_scaling_lists(bits, 8 if chroma != 3 else 12)
    number_bits = bits.ue() + 4
    order_type = bits.ue()
    order_bits, order_deltas, order_cycle = 0, False, tuple[int, ...]()
    if order_type == 0:
        order_bits = bits.ue() + 4
    elif order_type == 1:
        order_deltas, order_cycle = _order_cycle(bits)
    if number_bits > 16 or order_bits > 16:
        raise FormatError(f"H.264 frame numbers of {number_bits} and {order_bits} bits")
    references = bits.ue()
    may_have_gaps = bits.flag()
    width, height = 16 * (bits.ue() + 1), 16 * (bits.ue() + 1)
    fields = not bits.flag()
    if fields:
        height *= 2
        bits.flag()  # mb_adaptive_frame_field_flag
    bits.flag()  # direct_8x8_inference_flag
    coded = (width, height)
    left = top = 0
    if bits.flag():
        unit_x = 2 if chroma in (1, 2) else 1
        unit_y = (2 if chroma == 1 else 1) * (2 if fields else 1)
        left, right, top, bottom = (bits.ue() for _ in range(4))
        width -= cropped_left(unit_x * left, chroma, depth) + unit_x * right
        height -= unit_y * (top + bottom)
    if not (0 < width <= 1 << 16 and 0 < height <= 1 << 16 and depth <= 14):
        raise FormatError(f"H.264 parameter set of {width}x{height} pixels, {depth} bits")
    no_vui: _Vui = (Color(), (None, None), None, None)
    color, restriction, rate, aspect = _parse_vui(bits) if bits.flag() else no_vui
    frames = h264_level_frames(
        _LEVEL_1B if _is_level_1b(profile, constraints, level) else level,
        coded[0] * coded[1] // 256,
    )
    default = 0 if profile in _INTRA_PROFILES and constraints & _CONSTRAINT_SET_3 else frames
    reorder, buffered = restriction
    buffering = Buffering(
        frames,
        references,
        default if buffered is None else buffered,
        default if reorder is None else reorder,
    )
    if order_type == 2 or profile == _BASELINE:
        reorder = 0
    picture = PictureFormat(
        width,
        height,
        pixel_format(chroma, depth, color),
        depth,
        color,
        reorders=None if reorder is None else reorder > 0,
        starts_cropped=bool(left or top),
        frame_rate=rate,
        frame_number_bits=number_bits if fields else 0,
        aspect=aspect,
        interlaced=fields,
    )
    return Sequence(
        number=number,
        picture=picture,
        chroma=chroma,
        separate_planes=separate_planes,
        number_bits=number_bits,
        order_type=order_type,
        order_bits=order_bits,
        order_deltas=order_deltas,
        order_cycle=order_cycle,
        may_have_fields=fields,
        may_have_gaps=may_have_gaps,
        coded=coded,
        buffering=buffering,
    )


def _is_level_1b(profile: int, constraints: int, level: int) -> bool:
    return level == _LEVEL_1_1 and profile in _OLD_PROFILES and constraints & _CONSTRAINT_SET_3 > 0


def _skip_scaling_lists(bits: BitReader, count: int) -> None:
    for number in range(count):
        if not bits.flag():
            continue
        scale = 8
        for _ in range(16 if number < 6 else 64):
            scale = (scale + bits.se()) % 256
            if scale == 0:
                break


def _order_cycle(bits: BitReader) -> tuple[bool, tuple[int, ...]]:
    """Whether slices have delta_pic_order_cnt, and the offsets of the order count cycle."""
    deltas = not bits.flag()
    offsets = [bits.se(), bits.se()]
    count = bits.ue()
    if count > 255:
        raise FormatError(f"H.264 picture order cycle of {count} frames")
    offsets += [bits.se() for _ in range(count)]
    return deltas, tuple(offsets)


_Vui: TypeAlias = "tuple[Color, tuple[int | None, int | None], Fraction | None, Fraction | None]"


def _parse_vui(bits: BitReader) -> _Vui:
    """Colour, max_num_reorder_frames and max_dec_frame_buffering, rate, aspect (annex E.1.1)."""
    (color, aspect), rate = parse_vui_start(bits), None
    reorder, buffered = None, None
    if bits.flag():
        bits.ue()
        bits.ue()
    if bits.flag():
        tick, scale = bits.u(32), bits.u(32)
        rate = Fraction(scale, 2 * tick) if tick and scale else None
        bits.flag()
    schedules = 0
    for _ in ("nal", "vcl"):
        if bits.flag():
            _skip_hrd(bits)
            schedules += 1
    if schedules:
        bits.flag()  # low_delay_hrd_flag
    bits.flag()  # pic_struct_present_flag
    if bits.flag():
        bits.flag()
        for _ in range(4):
            bits.ue()
        reorder = bits.ue()
        with suppress(FormatError):  # cut off in some files; no later field is needed
            buffered = bits.ue()
    return color, (reorder, buffered), rate, aspect


def _skip_hrd(bits: BitReader) -> None:
    count = bits.ue() + 1
    if count > 32:
        raise FormatError(f"H.264 HRD of {count} schedules")
    bits.u(8)
    for _ in range(count):
        bits.ue()
        bits.ue()
        bits.flag()
    bits.u(20)
