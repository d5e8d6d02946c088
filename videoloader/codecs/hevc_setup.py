"""Picture parameter sets of HEVC (ITU-T H.265, section 7.3.2.3)."""

from __future__ import annotations

from dataclasses import dataclass

from videoloader.codecs.bits import BitReader, unescape

__all__ = ["Setup", "parse_setup"]

_HEAD = 32  # bytes; enough for the fields that are read


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
    bits = BitReader(unescape(unit[:_HEAD])[2:])
    number, sequence = bits.ue(), bits.ue()
    bits.flag()  # dependent_slice_segments_enabled_flag
    return number, Setup(sequence, bits.flag(), bits.u(3))
