"""`Codec`: parsers, properties and decoder options of a codec; `registry` lists all codecs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.picture import PictureFormat

if TYPE_CHECKING:
    from videoloader.codecs.av1.frames import Av1References
    from videoloader.codecs.h264 import sequence as h264
    from videoloader.codecs.h264.order import H264Order
    from videoloader.codecs.hevc import sequence as hevc
    from videoloader.codecs.hevc.order import HevcOrder
    from videoloader.codecs.hevc.references import HevcReferences

References: TypeAlias = "Av1References | HevcReferences"


class UnitRole:
    """Bits that classify a NAL unit for a decoder that may skip packets."""

    REFERENCE = 1
    """A coded slice of a picture that other pictures may refer to."""
    DISPOSABLE = 2
    """A coded slice of a picture that no other picture refers to."""
    PARAMETERS = 4
    """A parameter set; later packets need it, so its packet must not be skipped."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NalSyntax:
    """NAL unit types, header layout and parsers of a codec whose packets are NAL units.

    Attributes:
        header_size: bytes of a unit's header; the first holds the type, the second (if any) the
            temporal sub-layer.
        type_bits: mask of the type in the first byte; its lowest bit is `1 << shift`.
        layer_bits: mask of the bits of the first byte that are 0 in units of the base layer.
        slices: types of slices of the pictures that decoders output.
        pictures: types of all slices, reserved ones included.
        sequence: type of a sequence parameter set.
        parameters: types of the parameter sets that slices need.
        before: types of units that belong to the picture after them.
        ends: types of units that reset picture order counts.
        leaders: types that a stream may begin with.
        layered: types that only scalable and multiview streams have.
        message: type of a supplemental enhancement information (SEI) unit.
        recovery_message: the same type if a recovery point message can mark a random access
            point, else None.
        partition: type of the first data partition of a slice.
        roles: `UnitRole` by first byte.
        keys: by first byte, whether a slice belongs to a picture that decoding can begin at.
        random_access: the same for the first slice of a packet.
        record_box: MP4 box type of the decoder configuration record.
        shortest_record: minimum size of that record in bytes.
        record_units: record -> its NAL units.
        record_length_size: record -> bytes of the length before each unit.
        parse_sequence: reads a sequence parameter set.
        new_order: makes a reader of picture order counts.
        shown_order: slice heads and parameter sets -> presentation order of the pictures.
        has_slice_types: the slice type can be read without parameter sets.
        fits_container: FFmpeg crops to the container's size; see `records.crop_to_container`.
        has_film_grain: messages may request film grain, which FFmpeg adds unless disabled.
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
        """First byte of a sequence parameter set, masked with `type_bits`."""
        return self.sequence << self.shift

    @property
    def has_sub_layers(self) -> bool:
        """Whether the second byte of a unit holds its temporal sub-layer."""
        return self.header_size > 1

    def is_further_layer(self, unit: bytes | memoryview) -> bool:
        """Whether a unit of at least two bytes is in an enhancement layer, which is not decoded."""
        return self.has_sub_layers and bool(unit[0] & 1 or unit[1] >> 3)

    def are_of(self, kinds: frozenset[int], octets: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mask of the units whose type is in `kinds`, from their first bytes."""
        return np.isin(self.kinds(octets), list(kinds))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StartCodes:
    """Meaning of the byte after each start code, for a codec that is parsed by start codes.

    Attributes:
        is_header: start-code unit -> whether it is a header, which applies until replaced.
        sequence: first bytes of the sequence header.
        pictures: first bytes of a picture and of the parts of one.
        marker: marker in user data that changes how FFmpeg decodes.
    """

    is_header: Callable[[bytes], bool]
    sequence: range
    pictures: range
    marker: bytes


class PictureCheck(Protocol):
    """Check of a packet by its picture header."""

    def __call__(self, packet: bytes, *, forwards: bool) -> bool:
        """Whether the packet is one frame that is shown, and with `forwards` no B-picture."""


class Described(NamedTuple):
    """Stream properties read from extradata or a packet; `codec` is FFmpeg's name.

    `length_size` is 0 unless packets are NAL units with length prefixes.
    """

    codec: str
    picture: PictureFormat
    extradata: bytes
    length_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """A codec. Defaults are conservative: an unknown property never allows an optimization.

    Attributes:
        name: FFmpeg's name.
        aliases: what others call it, in lower case without dots.
        nal: syntax of NAL units; None if packets are not NAL units.
        start_codes: syntax of headers between start codes; None if the codec has none.
        describe: extradata and the first packet -> stream properties, None if neither has them.
            Extradata of NAL unit codecs has to be a decoder configuration record.
        is_keyframe: packet and length size -> whether its own headers allow decoding to begin
            with it.
        is_intra: packet -> whether its picture refers to no other, None if the header does not
            say. Where this is set, the container's keyframe flags are ignored.
        count_shown: packet -> number of frames it shows; None if each packet shows one.
        stated_sizes: packet -> width and height stated in its frame headers; a frame that states
            none has the size of an earlier one. None if headers are not parsed.
        disposable: extradata and packets -> whether each packet is unreferenced; None if headers
            do not say. NAL unit codecs have `NalSyntax.roles` instead.
        references: extradata, packet and length size -> tracker of the references between
            pictures; None if headers do not state them.
        reorders: whether presentation order may differ from decode order; None if that depends
            on the parameter sets of the stream.
        has_fields: whether pictures may consist of fields; None if that depends on the stream.
        self_described: keyframes carry all parameters; the decoder takes no extradata.
        has_superframes: a packet may hold hidden frames besides the one that it shows.
        picture_check: extradata -> check of packets, None if it has too little for that.
        packs_pictures: a packet may hold two pictures, or one that only repeats the last.
        is_delimited: start codes delimit pictures, so packets may be concatenated.
        is_reparsed: FFmpeg's demuxer of MP4 divides streams declared as this codec into packets
            anew, each with the flags of the sample after it. So the last frame before an edit is
            shown, and the last frame of the track.
        has_stream_headers: extradata is the beginning of an elementary stream.
        shares_tables: later packets may use tables of the first (JPEG).
        held_pictures: maximum number of pictures that a decoder holds.
        chroma_siting: horizontal position of samples of subsampled chroma.
        matrix: FFmpeg's name of the matrix of untagged streams, if the codec prescribes one.
        ffmpeg: name of FFmpeg's decoder, if it differs from that of the codec.
        options: options of FFmpeg's decoder.
        refuses_damage: with strict error detection, FFmpeg rejects damaged packets and no others.
        reports_damage: FFmpeg's decoder may give a damaged frame and mark it as such, or give none
            for a damaged packet without an error. Otherwise each packet tells by an error.
        may_have_gaps: encoders may omit macroblocks between slices, which FFmpeg marks as damage.
        has_motion_vectors: FFmpeg's decoder exports motion vectors.
        nvdec: NVDEC's name; None if NVDEC does not decode the codec, or decodes it wrongly.
    """

    name: str
    aliases: tuple[str, ...] = ()
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
    has_fields: bool | None = None
    self_described: bool = False
    has_superframes: bool = False
    picture_check: Callable[[bytes], PictureCheck | None] | None = None
    packs_pictures: bool = False
    is_delimited: bool = False
    is_reparsed: bool = False
    has_stream_headers: bool = False
    shares_tables: bool = False
    held_pictures: int = 4
    chroma_siting: Literal["left", "center"] = "left"
    matrix: str | None = None
    ffmpeg: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    refuses_damage: bool = False
    reports_damage: bool = True
    may_have_gaps: bool = False
    has_motion_vectors: bool = False
    nvdec: str | None = None

    @property
    def learns(self) -> bool:
        """Whether later keyframes may depend on parameters that only the first packet carries."""
        return self.nal is not None or self.start_codes is not None or self.shares_tables
