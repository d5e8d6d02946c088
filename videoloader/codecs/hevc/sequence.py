"""HEVC sequence and picture parameter sets (ITU-T H.265, section 7.3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.buffering import Buffering, hevc_level_frames
from videoloader.codecs.color import Color
from videoloader.codecs.hevc.sets import ReferenceSet, parse_sets
from videoloader.codecs.picture import PictureFormat, cropped_left, parse_vui_start, pixel_format
from videoloader.errors import FormatError

PARAMETER_SETS = frozenset({32, 33, 34})
_SEQUENCE, _PICTURE = 33, 34
_MAX_LONG_TERM = 32
_SETUP_HEAD = 32  # bytes of a picture parameter set; enough for the fields that are read
_MAX_SET = 1 << 12  # bytes of a parameter set to read; most have about 50


@dataclass(frozen=True, slots=True)
class Sequence:
    """Fields of a sequence parameter set that slice headers depend on (section 7.3.2.2.1).

    `coded` is the size of a picture before cropping. `sets` are the short-term reference picture
    sets that slices select by index. `long_term` (lt_ref_pic_poc_lsb_sps) is selected likewise;
    it is None if the stream has no long-term references.
    """

    number: int
    picture: PictureFormat
    separate_planes: bool
    order_bits: int
    sets: tuple[ReferenceSet, ...]
    long_term: tuple[int, ...] | None
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
    bits = BitReader(unescape(nal)[2:])
    bits.u(4)  # sps_video_parameter_set_id
    sub_layers = bits.u(3) + 1
    bits.flag()  # sps_temporal_id_nesting_flag
    level, is_interlaced = _parse_profile_tier_level(bits, sub_layers)
    number = bits.ue()
    chroma = bits.ue()
    if chroma > 3:
        raise FormatError(f"HEVC chroma_format_idc is {chroma}")
    separate_planes = chroma == 3 and bits.flag()
    coded = width, height = bits.ue(), bits.ue()
    left = 0
    if bits.flag():
        unit_x, unit_y = (2 if chroma in (1, 2) else 1), (2 if chroma == 1 else 1)
        left = unit_x * bits.ue()
        width -= unit_x * bits.ue()
        height -= unit_y * (bits.ue() + bits.ue())
    depth = 8 + bits.ue()
    width -= cropped_left(left, chroma, depth)
    bits.ue()  # bit_depth_chroma_minus8
    if not (0 < width <= 1 << 16 and 0 < height <= 1 << 16 and depth <= 16):
        raise FormatError(f"HEVC parameter set of {width}x{height} pixels, {depth} bits")
    order_bits = bits.ue() + 4
    if order_bits > 16:
        raise FormatError(f"HEVC picture order counts of {order_bits} bits")
    each = bits.flag()
    buffered = reorder = 0
    for _ in range(sub_layers if each else 1):
        buffered = max(buffered, bits.ue() + 1)
        reorder = max(reorder, bits.ue())
        bits.ue()  # sps_max_latency_increase_plus1
    sets, long_term = _parse_sets(bits, order_bits)
    color, aspect, rate = _parse_vui(bits)
    color = color.or_else(Color(range="tv"))  # default: limited range
    name = pixel_format(chroma, depth, color)
    picture = PictureFormat(
        width,
        height,
        name,
        depth,
        color,
        reorder > 0,
        sub_layers,
        frame_rate=rate,
        aspect=aspect,
        interlaced=is_interlaced,
    )
    buffering = Buffering(
        level=hevc_level_frames(level, coded[0] * coded[1]), buffered=buffered, reordered=reorder
    )
    return Sequence(number, picture, separate_planes, order_bits, sets, long_term, coded, buffering)


def _parse_profile_tier_level(bits: BitReader, sub_layers: int) -> tuple[int, bool | None]:
    """Read profile_tier_level (section 7.3.3): general_level_idc, and whether there are fields."""
    bits.u(40)
    is_progressive, is_interlaced = bits.flag(), bits.flag()
    bits.u(46)
    level = bits.u(8)
    present = [(bits.flag(), bits.flag()) for _ in range(sub_layers - 1)]
    if sub_layers > 1:
        bits.u(2 * (8 - (sub_layers - 1)))
    for has_profile, has_level in present:
        bits.u(88 * has_profile + 8 * has_level)
    # Both flags may be 0 (unknown), or 1 (each picture says).
    return level, is_interlaced if is_progressive or is_interlaced else None


def _parse_sets(
    bits: BitReader, order_bits: int
) -> tuple[tuple[ReferenceSet, ...], tuple[int, ...] | None]:
    """Short-term sets and long-term counts; reads from the coding block sizes up to the VUI."""
    for _ in range(6):
        bits.ue()
    if bits.flag() and bits.flag():
        _skip_scaling_lists(bits)
    bits.u(2)  # amp_enabled_flag, sample_adaptive_offset_enabled_flag
    if bits.flag():
        bits.u(8)  # pcm bit depths
        bits.ue()
        bits.ue()
        bits.flag()
    sets, long_term = parse_sets(bits), None
    if bits.flag():
        count = bits.ue()
        if count > _MAX_LONG_TERM:
            raise FormatError(f"HEVC parameter set with {count} long-term references")
        # The last bit is used_by_curr_pic_lt_sps_flag.
        long_term = tuple(bits.u(order_bits + 1) >> 1 for _ in range(count))
    bits.u(2)  # temporal motion vectors, strong intra smoothing
    return sets, long_term


def _parse_vui(bits: BitReader) -> tuple[Color, Fraction | None, Fraction | None]:
    """Colour, aspect ratio of pixels, and frame rate (annex E.2.1)."""
    if not bits.flag():
        return Color(), None, None
    color, aspect = parse_vui_start(bits)
    try:
        return color, aspect, _parse_rate(bits)
    except FormatError:
        return color, aspect, None  # some parameter sets end here; no later field is needed


def _parse_rate(bits: BitReader) -> Fraction | None:
    if bits.flag():
        bits.ue()  # chroma_sample_loc_type_top_field
        bits.ue()
    bits.u(3)  # neutral_chroma_indication_flag, field_seq_flag, frame_field_info_present_flag
    if bits.flag():
        for _ in range(4):
            bits.ue()  # default display window
    if not bits.flag():
        return None
    tick, scale = bits.u(32), bits.u(32)
    return Fraction(scale, tick) if tick and scale else None


def _skip_scaling_lists(bits: BitReader) -> None:
    for size in range(4):
        for _ in range(0, 6, 3 if size == 3 else 1):
            if not bits.flag():
                bits.ue()
                continue
            if size > 1:
                bits.se()
            for _ in range(min(64, 1 << (4 + 2 * size))):
                bits.se()


@dataclass(frozen=True, slots=True)
class Setup:
    """Fields of a picture parameter set that slice headers depend on, up to the references."""

    sequence: int
    has_output_flag: bool
    extra_bits: int


def parse_setup(unit: bytes) -> tuple[int, Setup]:
    """Parse a picture parameter set, NAL header included; returns its id and fields.

    Raises:
        FormatError: it ends early.
    """
    bits = BitReader(unescape(unit[:_SETUP_HEAD])[2:])
    number, sequence = bits.ue(), bits.ue()
    bits.flag()  # dependent_slice_segments_enabled_flag
    return number, Setup(sequence, bits.flag(), bits.u(3))


class ParameterSets:
    """The parameter sets that slices refer to by id; a later set replaces one with its id."""

    def __init__(self) -> None:
        self._sequences: dict[int, Sequence] = {}
        self._setups: dict[int, Setup] = {}

    def learn(self, unit: bytes) -> Sequence | int:
        """Store a parameter set, NAL header included; returns an SPS, or the id of another one."""
        kind = unit[0] >> 1 & 63
        if kind == _SEQUENCE:
            sequence = parse_sequence(unit)
            self._sequences[sequence.number] = sequence
            return sequence
        if kind == _PICTURE:
            number, self._setups[number] = parse_setup(unit)
            return number
        return unit[2] >> 4

    def of_slice(self, bits: BitReader) -> tuple[Setup, Sequence]:
        """The sets of a slice, whose header is read from their id up to slice_type."""
        setup = self._setups.get(bits.ue())
        sequence = None if setup is None else self._sequences.get(setup.sequence)
        if setup is None or sequence is None:
            raise FormatError("an HEVC slice without its parameter sets")
        bits.u(setup.extra_bits)
        bits.ue()  # slice_type
        return setup, sequence
