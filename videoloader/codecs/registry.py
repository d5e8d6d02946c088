"""`CODECS`: one `Codec` value for each supported codec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import h263, mpeg2, mpeg4, vpx
from videoloader.codecs.av1 import frames as av1_frames
from videoloader.codecs.av1 import units as av1
from videoloader.codecs.codec import Codec, Described, NalSyntax, PictureCheck, StartCodes, UnitRole
from videoloader.codecs.h264 import sequence as h264
from videoloader.codecs.h264.order import H264Order
from videoloader.codecs.hevc import sequence as hevc
from videoloader.codecs.hevc.order import HevcOrder
from videoloader.codecs.hevc.references import HevcReferences
from videoloader.codecs.intra import parse_jpeg
from videoloader.codecs.nal import is_random_access, length_units, split_units
from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.records import avc_units, hevc_units, parse_avc_record, parse_hevc_record
from videoloader.codecs.slice_counts import h264_counts, hevc_counts, shown_order
from videoloader.errors import FormatError

_FIRST_BYTES = np.arange(256)
_MPEG4_PICTURE = b"\0\0\1\xb6"


@cache
def codec_of(name: str) -> Codec:
    """The codec with FFmpeg's name `name`; for an unknown one, a `Codec` with all defaults.

    >>> codec_of("hevc").nvdec, codec_of("theora").nvdec
    ('HEVC', None)
    """
    return CODECS.get(name) or Codec(name=name)


def closest_name(name: str) -> str:
    """FFmpeg's name of a codec for one of its aliases; any other name in lower case.

    >>> closest_name("H.265"), closest_name("AV2")
    ('hevc', 'av2')
    """
    small = name.lower().replace(".", "")
    return _BY_ALIAS.get(small, small)


def nal_syntax(name: str) -> NalSyntax:
    """The NAL unit syntax of a codec.

    Raises:
        FormatError: packets of the codec are not NAL units.
    """
    nal = codec_of(name).nal
    if nal is None:
        raise FormatError(f"packets of {name} are no NAL units")
    return nal


def _h264_roles() -> NDArray[np.uint8]:
    kinds = _FIRST_BYTES & 31
    is_slice = np.isin(kinds, [*h264.SLICES, 20, 21])
    role = np.where(_FIRST_BYTES >> 5 & 3, UnitRole.REFERENCE, UnitRole.DISPOSABLE) * is_slice
    is_set = np.isin(kinds, list(h264.PARAMETER_SETS))
    return np.where(is_set, UnitRole.PARAMETERS, role).astype(np.uint8)


def _hevc_roles() -> NDArray[np.uint8]:
    kinds = _FIRST_BYTES >> 1 & 63
    # Types 0 to 14, even: sub-layer non-reference pictures (table 7-1).
    is_disposable = (kinds <= 14) & (kinds % 2 == 0)
    role = np.where(is_disposable, UnitRole.DISPOSABLE, UnitRole.REFERENCE) * (kinds < 32)
    is_set = np.isin(kinds, list(hevc.PARAMETER_SETS))
    return np.where(is_set, UnitRole.PARAMETERS, role).astype(np.uint8)


def _is_nal_keyframe(name: str, packet: bytes, length_size: int) -> bool:
    whole = memoryview(packet)
    units = length_units(whole, length_size) if length_size else split_units(packet)
    return is_random_access(nal_syntax(name), units)


def _describe_record(
    name: str, parse: Callable[[bytes], tuple[PictureFormat, int] | None], setup: bytes, _: bytes
) -> Described | None:
    found = parse(setup)
    return None if found is None else Described(name, found[0], setup, found[1])


def _is_vpx_keyframe(name: str, packet: bytes, _: int) -> bool:
    head = np.frombuffer(packet[:2], dtype=np.uint8)
    return len(head) > 1 and bool(vpx.are_keys(name, head[None])[0])


def _describe_vpx(name: str, _: bytes, packet: bytes) -> Described | None:
    picture = vpx.parse_picture(name, packet)
    return None if picture is None else Described(name, picture, b"")


def _av1_sequence(setup: bytes, packet: bytes) -> av1.Sequence | None:
    # An av1C box has four bytes before the units; raw streams have the units alone.
    units = setup[4:] if setup[:1] == b"\x81" else setup
    return av1.parse_sequence(units) or av1.parse_sequence(packet)


def _describe_av1(setup: bytes, packet: bytes) -> Described | None:
    sequence = _av1_sequence(setup, packet)
    return None if sequence is None else Described("av1", sequence.picture, setup)


def _av1_disposable(setup: bytes, packets: Sequence[bytes]) -> list[bool]:
    sequence = _av1_sequence(setup, packets[0]) if packets else None
    if sequence is None:
        return [False] * len(packets)
    return [av1_frames.is_disposable(packet, sequence) for packet in packets]


def _av1_references(setup: bytes, packet: bytes, _: int) -> av1_frames.Av1References:
    sequence = _av1_sequence(setup, packet)
    if sequence is None:
        raise FormatError("an AV1 stream without its sequence header")
    return av1_frames.Av1References(sequence)


def _hevc_references(setup: bytes, _: bytes, length_size: int) -> HevcReferences:
    found = HevcReferences()
    for unit in hevc_units(setup) if length_size else split_units(setup):
        found.learn(unit)
    return found


def _is_mpeg4_keyframe(packet: bytes, _: int) -> bool:
    start = packet.find(_MPEG4_PICTURE)
    picture = packet[start + len(_MPEG4_PICTURE) :]
    return start >= 0 and picture[:1] < b"\x40"  # vop_coding_type 0


def _describe_mpeg4(setup: bytes, packet: bytes) -> Described | None:
    setup = setup or mpeg4.setup_of(packet)
    layer = mpeg4.parse_setup(setup)
    return None if layer is None else Described("mpeg4", layer.picture, setup)


def _describe_mpeg2(setup: bytes, packet: bytes) -> Described | None:
    """MPEG-1 or MPEG-2, distinguished by the sequence header."""
    found = mpeg2.parse_sequence(packet) or mpeg2.parse_sequence(setup)
    if found is None or mpeg2.splits_fields(packet):
        return None
    return Described(found.codec, found.picture, setup or found.setup)


def _check_mpeg4(setup: bytes) -> PictureCheck | None:
    layer = mpeg4.parse_setup(setup)
    return None if layer is None else partial(mpeg4.is_one_picture, time_bits=layer.time_bits)


def _describe_intra(
    name: str, parse: Callable[[bytes], PictureFormat | None], setup: bytes, packet: bytes
) -> Described | None:
    """Describe a stream of an intra-only codec, whose packets carry all parameters."""
    picture = parse(packet)
    return None if picture is None else Described(name, picture, setup)


_H264_NAL = NalSyntax(
    header_size=1,
    type_bits=0x1F,
    shift=0,
    layer_bits=0,
    slices=frozenset({1, 2, 5}),
    pictures=h264.SLICES,
    sequence=7,
    parameters=frozenset({7, 8}),
    before=frozenset({6, 7, 8, 9}),
    leaders=frozenset({6, 7, 9}),
    layered=frozenset({14, 15, 20, 21}),
    message=6,
    recovery_message=6,
    partition=2,
    roles=_h264_roles(),
    keys=(_FIRST_BYTES & 31 == 5) & (_FIRST_BYTES >> 5 > 0),  # an IDR picture is referred to
    random_access=_FIRST_BYTES & 31 == 5,
    record_box=b"avcC",
    shortest_record=7,
    record_units=avc_units,
    record_length_size=lambda record: (record[4] & 3) + 1,
    parse_sequence=h264.parse_sequence,
    new_order=H264Order,
    shown_order=partial(shown_order, h264_counts),
    has_slice_types=True,
    fits_container=True,
)

_HEVC_NAL = NalSyntax(
    header_size=2,
    type_bits=0x7E,
    shift=1,
    layer_bits=0x81,
    slices=frozenset({*range(10), *range(16, 22)}),
    pictures=frozenset(range(32)),
    sequence=33,
    parameters=hevc.PARAMETER_SETS,
    before=frozenset({*range(32, 38), 39, *range(41, 45), *range(48, 56)}),
    ends=frozenset({36, 37}),
    leaders=frozenset({32, 33, 35, 39}),
    message=39,
    roles=_hevc_roles(),
    keys=_FIRST_BYTES >> 1 >= 16,
    random_access=(_FIRST_BYTES >> 1 & 63 >= 16) & (_FIRST_BYTES >> 1 & 63 <= 23),
    record_box=b"hvcC",
    shortest_record=23,
    record_units=hevc_units,
    record_length_size=lambda record: (record[21] & 3) + 1,
    parse_sequence=hevc.parse_sequence,
    new_order=HevcOrder,
    shown_order=partial(shown_order, hevc_counts),
    has_film_grain=True,
)

_MPEG4_CODES = StartCodes(
    is_header=lambda unit: unit[0] < 0x30 or unit[0] in (0xB0, 0xB5),
    sequence=range(0x20, 0x30),  # video object layers
    pictures=range(0xB6, 0xB7),
    marker=b"",
)
_MPEG2_CODES = StartCodes(
    # Extensions of a sequence, its display, and quantiser matrices.
    is_header=lambda unit: unit[0] == 0xB3 or (unit[0] == 0xB5 and unit[1] >> 4 in (1, 2, 3)),
    sequence=range(0xB3, 0xB4),
    pictures=range(1, 0xB0),
    marker=b"TMPGEXS",
)

# Other codecs whose FFmpeg decoders export motion vectors; all other properties are defaults.
_FURTHER_WITH_MOTION = ("msmpeg4v1", "msmpeg4v2", "msmpeg4v3", "wmv1", "wmv2")

CODECS = {
    codec.name: codec
    for codec in (
        Codec(
            name="h264",
            aliases=("avc", "avc1", "x264"),
            nal=_H264_NAL,
            describe=partial(_describe_record, "h264", parse_avc_record),
            is_keyframe=partial(_is_nal_keyframe, "h264"),
            reorders=None,
            is_delimited=True,
            held_pictures=17,
            # Use the reorder delay that the level allows. If the stream does not state one, FFmpeg
            # otherwise starts with a smaller delay and drops the first frames that exceed it.
            options={"strict": "1"},
            has_motion_vectors=True,
            nvdec="H264",
        ),
        Codec(
            name="hevc",
            aliases=("h265", "x265", "hvc1", "hev1"),
            nal=_HEVC_NAL,
            describe=partial(_describe_record, "hevc", parse_hevc_record),
            is_keyframe=partial(_is_nal_keyframe, "hevc"),
            references=_hevc_references,
            is_delimited=True,
            held_pictures=17,
            nvdec="HEVC",
        ),
        Codec(
            name="av1",
            aliases=("av01",),
            describe=_describe_av1,
            disposable=_av1_disposable,
            references=_av1_references,
            reorders=False,
            has_fields=False,
            held_pictures=10,
            ffmpeg="libdav1d",  # FFmpeg's first choice may not decode in software
            reports_damage=False,
            nvdec="AV1",
        ),
        Codec(
            name="vp8",
            describe=partial(_describe_vpx, "vp8"),
            is_keyframe=partial(_is_vpx_keyframe, "vp8"),
            count_shown=lambda packet: int(not vpx.is_hidden("vp8", packet)),
            stated_sizes=partial(vpx.stated_sizes, "vp8"),
            reorders=False,
            has_fields=False,
            self_described=True,
            matrix="smpte170m",  # BT.601 at any size (RFC 6386, section 9.2)
            refuses_damage=True,
            reports_damage=False,
            nvdec="VP8",
        ),
        Codec(
            name="vp9",
            aliases=("vp09",),
            describe=partial(_describe_vpx, "vp9"),
            is_keyframe=partial(_is_vpx_keyframe, "vp9"),
            count_shown=vpx.count_shown,
            stated_sizes=partial(vpx.stated_sizes, "vp9"),
            reorders=False,
            has_fields=False,
            self_described=True,
            has_superframes=True,
            held_pictures=10,
            refuses_damage=True,
            reports_damage=False,
            nvdec="VP9",
        ),
        Codec(
            name="mpeg4",
            aliases=("divx", "xvid"),
            start_codes=_MPEG4_CODES,
            describe=_describe_mpeg4,
            is_keyframe=_is_mpeg4_keyframe,
            picture_check=_check_mpeg4,
            packs_pictures=True,
            has_stream_headers=True,
            refuses_damage=True,
            has_motion_vectors=True,
            nvdec="MPEG4",
        ),
        Codec(
            name="mpeg2video",
            aliases=("mpeg2", "h262"),
            start_codes=_MPEG2_CODES,
            describe=_describe_mpeg2,
            picture_check=lambda _: mpeg2.is_one_picture,
            is_delimited=True,
            has_stream_headers=True,
            refuses_damage=True,
            has_motion_vectors=True,
            nvdec="MPEG2",
        ),
        Codec(
            name="mpeg1video",
            start_codes=_MPEG2_CODES,
            describe=_describe_mpeg2,
            picture_check=lambda _: mpeg2.is_one_picture,
            is_delimited=True,
            is_reparsed=True,
            has_stream_headers=True,
            chroma_siting="center",
            may_have_gaps=True,
            has_motion_vectors=True,
            nvdec="MPEG1",
        ),
        Codec(
            name="h263",
            describe=partial(_describe_intra, "h263", h263.parse_picture),
            is_intra=h263.is_intra,
            reorders=False,
            has_fields=False,
            chroma_siting="center",
            refuses_damage=True,
            has_motion_vectors=True,
        ),
        Codec(
            name="flv1",
            describe=partial(_describe_intra, "flv1", h263.parse_sorenson),
            reorders=False,
            has_fields=False,
            self_described=True,
            chroma_siting="center",
            refuses_damage=True,
            has_motion_vectors=True,
        ),
        Codec(name="h261", chroma_siting="center"),
        # No NVDEC: on an H200, 2 of 90 pictures were decoded wrongly.
        Codec(
            name="mjpeg",
            describe=partial(_describe_intra, "mjpeg", parse_jpeg),
            reorders=False,
            shares_tables=True,
            chroma_siting="center",
            refuses_damage=True,
            reports_damage=False,
        ),
        Codec(name="prores", reorders=False, reports_damage=False),
        *(Codec(name=name, has_motion_vectors=True) for name in _FURTHER_WITH_MOTION),
    )
}
"""`Codec` by FFmpeg's name."""

_BY_ALIAS = {alias: codec.name for codec in CODECS.values() for alias in codec.aliases}
