"""What a coded picture needs of those before it, whatever the codec."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CodedPicture"]


@dataclass(frozen=True, slots=True)
class CodedPicture:
    """A picture of a stream, by the numbers of earlier pictures; they count from 0, as read.

    `references` are all pictures that decoding it may look at. `is_shown` tells that its packet's
    frame comes of it. `is_fixed` tells that it must stay, wanted or not: it brings parameters.
    """

    references: tuple[int, ...]
    is_shown: bool = True
    is_fixed: bool = False
