"""Colour descriptions of streams: the code points of ITU-T H.273 under FFmpeg's names."""

from __future__ import annotations

from dataclasses import dataclass

PQ, HLG = "smpte2084", "arib-std-b67"  # transfers of HDR pictures

_PRIMARIES = {
    1: "bt709",
    4: "bt470m",
    5: "bt470bg",
    6: "smpte170m",
    7: "smpte240m",
    8: "film",
    9: "bt2020",
    10: "smpte428",
    11: "smpte431",
    12: "smpte432",
    22: "ebu3213",
}
_TRANSFERS = {
    1: "bt709",
    4: "gamma22",
    5: "gamma28",
    6: "smpte170m",
    7: "smpte240m",
    8: "linear",
    9: "log100",
    10: "log316",
    11: "iec61966-2-4",
    12: "bt1361e",
    13: "iec61966-2-1",
    14: "bt2020-10",
    15: "bt2020-12",
    16: PQ,
    17: "smpte428",
    18: HLG,
}
_MATRICES = {
    0: "gbr",
    1: "bt709",
    4: "fcc",
    5: "bt470bg",
    6: "smpte170m",
    7: "smpte240m",
    8: "ycgco",
    9: "bt2020nc",
    10: "bt2020c",
    11: "smpte2085",
    12: "chroma-derived-nc",
    13: "chroma-derived-c",
    14: "ictcp",
}
_UNSPECIFIED = 2


@dataclass(frozen=True, slots=True)
class Color:
    """The colour description of a stream; None for values that it does not specify.

    `matrix`, `primaries` and `transfer` are FFmpeg's names, `range` is `tv` (limited) or `pc`
    (full).

    >>> Color(transfer="smpte2084").is_hdr, Color(matrix="bt709").or_else(Color(range="pc")).range
    (True, 'pc')
    """

    matrix: str | None = None
    primaries: str | None = None
    transfer: str | None = None
    range: str | None = None

    @property
    def is_hdr(self) -> bool:
        """Whether the transfer is PQ or HLG."""
        return self.transfer in (PQ, HLG)

    def or_else(self, other: Color) -> Color:
        """This description, with the gaps filled from another."""
        return Color(
            self.matrix or other.matrix,
            self.primaries or other.primaries,
            self.transfer or other.transfer,
            self.range or other.range,
        )


def color_from_codes(
    primaries: int, transfer: int, matrix: int, *, full_range: bool | None
) -> Color:
    """The description for code points of H.273; reserved ones and 2 (unspecified) give None.

    >>> color_from_codes(1, 1, 1, full_range=False)
    Color(matrix='bt709', primaries='bt709', transfer='bt709', range='tv')
    """
    return Color(
        matrix=_MATRICES.get(matrix),
        primaries=_PRIMARIES.get(primaries),
        transfer=_TRANSFERS.get(transfer),
        range=None if full_range is None else ("pc" if full_range else "tv"),
    )


def color_codes(color: Color) -> tuple[int, int, int]:
    """H.273 code points of primaries, transfer and matrix; 2 for unspecified.

    >>> color_codes(Color(matrix="bt709", transfer="smpte2084"))
    (2, 16, 1)
    """
    tables = (_PRIMARIES, _TRANSFERS, _MATRICES)
    names = (color.primaries, color.transfer, color.matrix)
    primaries, transfer, matrix = (
        next((code for code, known in table.items() if known == name), _UNSPECIFIED)
        for table, name in zip(tables, names, strict=True)
    )
    return primaries, transfer, matrix
