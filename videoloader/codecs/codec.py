"""What the package knows of a codec, as one value; `registry` has those of all codecs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.picture import PictureFormat

if TYPE_CHECKING:
    from videoloader.codecs import h264, hevc
    from videoloader.codecs.av1_frames import Av1References
    from videoloader.codecs.h264_order import H264Order
    from videoloader.codecs.hevc_order import HevcOrder
    from videoloader.codecs.hevc_references import HevcReferences

__all__ = ["Codec", "Described", "NalSyntax", "StartCodes", "UnitRole"]

References: TypeAlias = "Av1References | HevcReferences"


class UnitRole:
    """Bits that say what a NAL unit is to a decoder that may skip packets."""

    REFERENCE = 1
    """A coded slice that others may refer to."""
    DISPOSABLE = 2
    """A coded slice that none refers to."""
    PARAMETERS = 4
    """A parameter set, which later packets need whatever picture it comes with."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NalSyntax:
    """A codec whose packets are NAL units: types of units, and how their headers are read.

    Attributes:
        header_size: bytes of a unit's header; the type is in the first, a temporal sub-layer in
            the second if there is one.
        type_bits: of the first byte, which hold the type; the lowest of them is `1 << shift`.
        layer_bits: of the first byte, which are 0 in units of the base layer.
        slices: types of slices of the pictures that decoders show.
        pictures: types of all slices, reserved ones included.
        sequence: type of a sequence parameter set.
        parameters: types of the parameter sets that slices need.
        before: types that belong to the picture that follows.
        ends: types after which picture order counts begin anew.
        leaders: types that a stream may begin with.
        layered: types that only scalable and multiview streams have.
        message: type of a supplemental message (SEI).
        recovery_message: the same where a message may make a picture a random access point.
        partition: type of a slice of which further parts follow.
        roles: `UnitRole` by first byte.
        keys: whether a slice is of a picture that decoding can begin at, by first byte.
        random_access: the same for the first slice of a packet.
        record_box: type of the box that holds the set-up record in MP4.
        shortest_record: bytes of a record at least.
        parse_record: pictures and length size by a record, None if it has no parameter sets.
        record_units: the units in a record.
        record_length_size: bytes of the lengths in front of units, by a record.
        parse_sequence: reads a sequence parameter set.
        new_order: makes a reader of picture order counts.
        shown_order: order of many pictures by the heads of their slices and the parameter sets.
        has_slice_types: slices say without parameter sets whether they are B slices.
        fits_container: FFmpeg crops to the container's size; see `records.crop_to_container`.
        has_film_grain: messages ask for film grain, which FFmpeg adds until told otherwise.
    """

    header_size: int
    type_bits: int
    shift: int
    layer_bits: int
    slices: frozenset[int]
    pictures: frozenset[int]
    sequence: int
    parameters: frozenset[int]
    before: frozenset[int]
    ends: frozenset[int] = frozenset()
    leaders: frozenset[int]
    layered: frozenset[int] = frozenset()
    message: int
    recovery_message: int | None = None
    partition: int | None = None
    roles: NDArray[np.uint8]
    keys: NDArray[np.bool_]
    random_access: NDArray[np.bool_]
    record_box: bytes
    shortest_record: int
    parse_record: Callable[[bytes], tuple[PictureFormat, int] | None]
    record_units: Callable[[bytes], Iterator[bytes]]
    record_length_size: Callable[[bytes], int]
    parse_sequence: Callable[[bytes], h264.Sequence | hevc.Sequence]
    new_order: Callable[[], H264Order | HevcOrder]
    shown_order: Callable[[NDArray[np.uint8], Sequence[bytes]], NDArray[np.int64] | None]
    has_slice_types: bool = False
    fits_container: bool = False
    has_film_grain: bool = False

    def kind(self, octet: int) -> int:
        """Type of a unit by its first byte."""
        return (octet & self.type_bits) >> self.shift

    def kinds(self, octets: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Types of units by their first bytes."""
        return ((octets & self.type_bits) >> self.shift).astype(np.uint8)

    @property
    def sequence_octet(self) -> int:
        """What `type_bits` of the first byte of a sequence parameter set are."""
        return self.sequence << self.shift

    @property
    def has_sub_layers(self) -> bool:
        """Whether the second byte of a unit names its temporal sub-layer."""
        return self.header_size > 1

    def is_further_layer(self, unit: bytes | memoryview) -> bool:
        """Whether a unit of two bytes or more is of a layer that decoders leave out."""
        return self.has_sub_layers and bool(unit[0] & 1 or unit[1] >> 3)

    def are_of(self, kinds: frozenset[int], octets: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which units are of some types, by their first bytes."""
        return np.isin(self.kinds(octets), list(kinds))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StartCodes:
    """A codec whose headers stand between start codes: what their first byte says.

    Attributes:
        is_header: whether a part holds what is so until it is said anew.
        sequence: first bytes of the header that begins those.
        pictures: first bytes with which a picture begins, or what is part of one.
        told_by: what user data holds if FFmpeg goes by it.
    """

    is_header: Callable[[bytes], bool]
    sequence: range
    pictures: range
    told_by: bytes


class Described(NamedTuple):
    """What extradata or a packet says of a stream; `codec` is FFmpeg's name.

    `length_size` is 0 where packets are no NAL units with lengths.
    """

    codec: str
    picture: PictureFormat
    extradata: bytes
    length_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """A codec. What is not known of it has the value that claims least.

    Attributes:
        name: FFmpeg's name.
        nal: where packets are NAL units.
        start_codes: where headers stand between start codes and hold for later pictures.
        describe: extradata and the first packet -> pictures, None if neither tells. Set-up
            data of NAL units has to be a record.
        is_keyframe: packet and length size -> whether decoding can begin at it by its own
            headers.
        is_intra: packet -> whether its picture refers to no other, None where it does not tell;
            what containers say of keyframes is not believed then.
        count_shown: packet -> how many frames it shows; None where each packet shows one.
        stated_sizes: packet -> width and height that the headers of its frames state; those that
            state none have the size of an earlier one. None where headers are not read.
        disposable: extradata and packets -> to which of these nothing refers; None where no
            header tells. NAL units have `NalSyntax.roles` instead.
        references: extradata, packet and length size -> what follows the references between
            pictures; None where headers do not tell them.
        reorders: whether frames may be shown in another order than they are decoded in; None
            where the parameter sets of a stream rule it out or leave it open.
        self_described: keyframes say what extradata would; a decoder takes none.
        has_superframes: a packet may hold hidden frames besides the one that it shows.
        packs_pictures: a packet may hold two pictures, or one that only repeats the last.
        is_delimited: pictures are found by start codes, so packets may be joined.
        has_stream_headers: extradata is itself the beginning of an elementary stream.
        shares_tables: later packets may lean on tables of the first (JPEG).
        held_pictures: that a decoder may hold at a time.
        chroma_siting: where a sample of halved chroma lies across.
        matrix: of untagged streams, under FFmpeg's name, where the codec prescribes one.
        ffmpeg: name of the decoder to use, if not that of the codec.
        options: of FFmpeg's decoder.
        refuses_damage: FFmpeg's decoder, asked to be careful, refuses damage and nothing else.
        reports_damage: FFmpeg's mark of a damaged frame is to be believed.
        has_motion_vectors: FFmpeg's decoder gives them.
        nvdec: NVDEC's name, None where it does not decode the codec, or does wrongly.
    """

    name: str
    nal: NalSyntax | None = None
    start_codes: StartCodes | None = None
    describe: Callable[[bytes, bytes], Described | None] | None = None
    is_keyframe: Callable[[bytes, int], bool] | None = None
    is_intra: Callable[[bytes], bool | None] | None = None
    count_shown: Callable[[bytes], int] | None = None
    stated_sizes: Callable[[bytes], list[tuple[int, int]]] | None = None
    disposable: Callable[[bytes, Sequence[bytes]], list[bool]] | None = None
    references: Callable[[bytes, bytes, int], References] | None = None
    reorders: bool | None = True
    self_described: bool = False
    has_superframes: bool = False
    packs_pictures: bool = False
    is_delimited: bool = False
    has_stream_headers: bool = False
    shares_tables: bool = False
    held_pictures: int = 4
    chroma_siting: Literal["left", "center"] = "left"
    matrix: str | None = None
    ffmpeg: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    refuses_damage: bool = False
    reports_damage: bool = False
    has_motion_vectors: bool = False
    nvdec: str | None = None

    @property
    def learns(self) -> bool:
        """Whether the first packet of a stream may say what later keyframes do not."""
        return self.nal is not None or self.start_codes is not None or self.shares_tables
