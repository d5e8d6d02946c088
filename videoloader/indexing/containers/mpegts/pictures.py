"""Classifies pictures by the first bytes of their headers."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.nal import recovers_at_once, split_units
from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.containers.mpegts.grid import Bytes, Grid, Ints
from videoloader.indexing.containers.mpegts.pes import PesPackets
from videoloader.indexing.containers.mpegts.units import TransportUnits, pes_bytes

Flags = NDArray[np.bool_]

_INTRA, _BIDIRECTIONAL = 2, 1  # slice types of H.264, modulo 5


@dataclass(frozen=True, slots=True)
class Pictures:
    """Properties of the first picture in each PES packet.

    `keys`: decoding can begin there. `disposable`: no picture refers to it. `reordered`: it may be
    shown before one that is decoded earlier. `is_field`: it is a single field; then `parity` says
    which, and `number` is equal for both fields of a frame.
    """

    keys: Flags
    disposable: Flags
    reordered: Flags
    is_field: Flags
    parity: Ints
    number: Ints

    def second_fields(self, single: Flags) -> Flags:
        """Mask of PES packets with the second field of the frame in the previous PES packet.

        `single` is the mask of those with exactly one field.
        """
        pairs = single[1:] & single[:-1]
        pairs &= (self.parity[1:] != self.parity[:-1]) & (self.number[1:] == self.number[:-1])
        second = np.append(False, pairs)
        for place in np.flatnonzero(second).tolist():
            second[place] = not second[place - 1]  # the third in a row begins another frame
        return second


def read_pictures(
    codec: str, picture: PictureFormat, grid: Grid, pes: PesPackets, units: TransportUnits
) -> Pictures:
    """Classify the first picture of every PES packet."""
    nal = codec_of(codec).nal
    if nal is None:
        return _mpeg_pictures(units)
    if nal.has_sub_layers:
        return _hevc_pictures(picture, units)
    return _h264_pictures(picture, grid, pes, units)


def _frames_only(keys: Flags, disposable: Flags, reordered: Flags) -> Pictures:
    none = np.zeros(len(keys), dtype=np.int64)
    return Pictures(keys, disposable, reordered, none.astype(np.bool_), none, none.copy())


def _slice_types() -> Bytes:
    """slice_type by the octet behind the type of a NAL unit, for slices at macroblock 0."""
    types = np.full(256, 255, dtype=np.uint8)
    for octet in range(0x80, 0x100):
        bits = BitReader(bytes([octet]))
        bits.ue()  # first_mb_in_slice
        with contextlib.suppress(FormatError):  # too long for a slice_type code
            types[octet] = bits.ue()
    return types


def _h264_pictures(
    picture: PictureFormat, grid: Grid, pes: PesPackets, units: TransportUnits
) -> Pictures:
    octets = units.headers[:, 0]
    types = _SLICE_TYPES[units.headers[:, 1]] % 5
    keys = (octets & 31) == 5
    for number in np.flatnonzero(~keys & (types == _INTRA) & units.messages).tolist():
        keys[number] = _recovers(pes_bytes(grid, pes, number, number + 1).tobytes())
    disposable = ((octets & 0x60) == 0) & ~units.parameters
    found = _frames_only(keys, disposable, types == _BIDIRECTIONAL)
    if picture.frame_number_bits:
        for place, header in enumerate(units.headers):
            bits = BitReader(unescape(header.tobytes()[1:]))
            for _ in range(3):
                bits.ue()  # first_mb_in_slice, slice_type, pic_parameter_set_id
            found.number[place] = bits.u(picture.frame_number_bits)
            found.is_field[place] = bits.flag()
            found.parity[place] = bits.u(1)
    return found


def _recovers(data: bytes) -> bool:
    """Whether a recovery point message has recovery_frame_cnt 0 (annex D.1.8)."""
    for unit in split_units(data):
        kind = unit[0] & 31 if unit else 0
        if kind in (1, 2, 5):
            return False
        if kind == 6 and recovers_at_once(unit, limit=None):
            return True
    return False


def _hevc_pictures(picture: PictureFormat, units: TransportUnits) -> Pictures:
    kinds = units.headers[:, 0] >> 1
    disposable = (kinds <= 14) & (kinds % 2 == 0) & ~units.parameters
    disposable &= (units.headers[:, 1] & 7) == picture.sub_layers
    reordered = np.full(len(kinds), picture.reorders is not False)
    return _frames_only((kinds >= 16) & (kinds <= 23), disposable, reordered)


def _mpeg_pictures(units: TransportUnits) -> Pictures:
    headers = units.headers
    types = headers[:, 2] >> 3 & 7
    found = _frames_only(types == 1, np.zeros(len(types), dtype=np.bool_), types == 3)
    # The coding extension follows four bytes of an I picture's header, or five of others.
    structure = np.full(len(types), 3)
    for at in (5, 6):
        code = (headers[:, at : at + 4] == (0, 0, 1, 0xB5)).all(axis=1)
        code &= headers[:, at + 4] >> 4 == 8
        structure[code] = headers[code, at + 6] & 3
    found.is_field[:] = (structure == 1) | (structure == 2)
    found.parity[:] = structure
    found.number[:] = headers[:, 1].astype(np.int64) << 2 | headers[:, 2] >> 6
    return found


_SLICE_TYPES = _slice_types()
