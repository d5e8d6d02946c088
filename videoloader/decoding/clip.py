"""What sampling a video gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["Clip"]


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """Frames that were sampled together.

    Attributes:
        frames: tensor of RGB of full range, in the element type and layout that were asked for.
        indices: int64[F], the frame that stands at each place, -1 where it was filled.
        times: float64[F], presentation times in seconds, -1 where filled.
        mask: bool[F], False where filled.
    """

    frames: torch.Tensor
    indices: NDArray[np.int64]
    times: NDArray[np.float64]
    mask: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.indices)
