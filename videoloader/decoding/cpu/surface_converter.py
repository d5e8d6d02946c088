"""What fills slots with the surfaces of one video."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from videoloader.decoding.output import View
from videoloader.decoding.pictures.surface import Surface

__all__ = ["SurfaceConverter"]


class SurfaceConverter(ABC):
    """Fills slots with the surfaces of one video. Not for sharing by threads."""

    @abstractmethod
    def write(self, surface: Surface, slot: NDArray[Any], view: View | None = None) -> None:
        """Fill a slot (H, W, C), any view of its memory, with the part that `view` names."""
