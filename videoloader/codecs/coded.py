"""`CodedPicture`: the earlier pictures that a coded picture depends on, for any codec."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CodedPicture"]


@dataclass(frozen=True, slots=True)
class CodedPicture:
    """A coded picture. Pictures are numbered from 0 in the order in which they are read.

    `references` are the numbers of all pictures that decoding it may read. `is_shown`: it is the
    picture that its packet shows. `is_fixed`: it must not be dropped, since it carries parameters.
    """

    references: tuple[int, ...]
    is_shown: bool = True
    is_fixed: bool = False
