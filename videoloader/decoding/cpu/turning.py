"""Sizes and parts of pictures before and after the turn for display."""

from __future__ import annotations

from videoloader.decoding.cpu.samples import Box
from videoloader.indexing.index import Orientation

__all__ = ["coded_box", "turned"]


def turned(turn: Orientation, size: tuple[int, int]) -> tuple[int, int]:
    """The size of a coded picture when it is displayed, and the other way round."""
    return size[::-1] if turn.transpose else size


def coded_box(turn: Orientation, part: tuple[int, int, int, int], coded: tuple[int, int]) -> Box:
    """Where a part of the displayed picture lies in the coded one, of (height, width)."""
    top, left, height, width = part
    displayed = turned(turn, coded)
    if turn.flip_y:
        top = displayed[0] - top - height
    if turn.flip_x:
        left = displayed[1] - left - width
    return Box(left, top, width, height) if turn.transpose else Box(top, left, height, width)
