"""The sound of a clip: the samples that are played while its frames are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio.request import SoundRequest
from videoloader.decoding.batch import shared_decoder
from videoloader.decoding.opening.videos import source_name
from videoloader.readers.video import media

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
    request = SoundRequest(source, source_name(source), played=media.span(index, frames))
    (sound,) = shared_decoder("cpu").decode_sounds([request])
    if isinstance(sound, Exception):
        raise sound
    samples = torch.from_numpy(np.ascontiguousarray(sound.samples.T))
    return [samples, torch.tensor(float(sound.sample_rate))]
