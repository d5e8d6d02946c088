"""The sound of a clip: the samples that are played while its frames are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio import Audio
from videoloader.decoding.opening import open_any
from videoloader.readers import media

__all__ = ["sound_outputs"]


def sound_outputs(
    source: Any, index: media.Index | None, frames: NDArray[np.int64]
) -> list[torch.Tensor]:
    """The samples of the time span of frames, (n, channels), and their rate in hertz.

    Args:
        source: of the video: a path, URL, bytes or an item.
        index: of the video; None for a clip that failed, which has none, (0, 1), and the rate 0.
        frames: of the clip; those that are `FILLED` do not count.
    """
    if index is None:
        return [torch.empty(0, 1), torch.tensor(0.0)]
    with open_any(source) as opened, Audio(opened) as audio:
        samples = audio.get_samples(*media.span(index, frames), pad=True)
        return [samples.T.contiguous(), torch.tensor(float(audio.sample_rate))]
