"""`fn.decoders.audio`: the bytes of audio files in, samples out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio.elements import CONVERSIONS, to_float32
from videoloader.audio.request import DecodedSound, SoundRequest
from videoloader.audio.resampling import check_rates, resampled_length
from videoloader.dali.operators.arguments import BOOL, DTYPE, FLOAT, Argument, PerSample
from videoloader.dali.operators.audio.levels import from_levels
from videoloader.dali.operators.audio.resample import QUALITY, resample_signal
from videoloader.dali.operators.context import Context, SampleError
from videoloader.dali.operators.decoders.image_files import ENCODED, encoded_bytes
from videoloader.dali.operators.limits import MEMORY_LIMIT, TIME_LIMIT
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.errors import SourceError, VideoError

SOUND_TYPE = Argument(
    "dtype",
    DTYPE,
    torch.float32,
    "element type of the samples; floating point ones are from -1 to 1",
    choices=(torch.float32, torch.int16, torch.int32),
)


def convert_sound(
    sound: DecodedSound, *, downmix: bool, sample_rate: float, quality: float, dtype: torch.dtype
) -> tuple[torch.Tensor, float]:
    """Samples of a sound as DALI gives them, and their rate.

    Args:
        sound: decoded with `dtype="stored"`.
        downmix: give the mean of all channels, (n,) in place of (n, channels).
        sample_rate: to resample to, if above 0.
        quality: of resampling.
        dtype: of the samples.
    """
    stored = sound.samples.T
    kind = np.dtype(str(dtype).removeprefix("torch."))
    resamples = sample_rate > 0 and sample_rate != sound.sample_rate
    if not downmix and not resamples and stored.dtype.kind != "f":
        return _tensor(CONVERSIONS[kind.name](stored)), float(sound.sample_rate)
    levels = to_float32(stored)
    if downmix:
        levels = levels.mean(axis=1, dtype=np.float32)
    if resamples:
        check_rates(sound.sample_rate, sample_rate)
        length = resampled_length(len(levels), sound.sample_rate, sample_rate)
        levels = resample_signal(levels, sound.sample_rate / sample_rate, length, quality)
    rate = sample_rate if resamples else sound.sample_rate
    return _tensor(from_levels(levels, kind)), float(rate)


def _tensor(samples: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(samples))


def _infer(
    context: Context, encoded: Spec, *, dtype: torch.dtype, **others: Any
) -> tuple[Spec, Spec]:
    # The lengths are in the files.
    return Spec((), dtype), Spec.alike(len(encoded), (), torch.float32)


@declare(
    "decoders.audio",
    inputs=(ENCODED,),
    arguments=(
        Argument(
            "sample_rate",
            FLOAT,
            0.0,
            "rate to resample to, in hertz; that of the file if it is not above 0",
            per_sample=True,
        ),
        QUALITY,
        Argument("downmix", BOOL, default=False, doc="give the mean of all channels"),
        SOUND_TYPE,
        TIME_LIMIT,
        MEMORY_LIMIT,
    ),
    devices=("cpu",),
    in_workers=True,
    notes_failures=True,
    num_outputs=2,
    infer=_infer,
)
def decode_audio(
    context: Context,
    encoded: Batch,
    *,
    sample_rate: PerSample,
    quality: float,
    downmix: bool,
    dtype: torch.dtype,
    **limits: Any,
) -> tuple[Batch, Batch]:
    """Decode the sound of files: WAV, FLAC, OGG (Vorbis, Opus), MP3, AAC, soundtracks of videos.

    Gives the samples, (n, channels) or with `downmix` (n,), and their rate in hertz, a float32
    scalar. Resampling is that of `fn.audio_resample`.
    """
    requests = [
        SoundRequest(bytes(encoded_bytes(value, "decoders.audio")), name or "<bytes>", "stored")
        for value, name in zip(encoded, encoded.source_info or [""] * len(encoded), strict=True)
    ]
    decoder = shared_decoder("cpu", context.workers, **limits)
    found = decoder.decode_sounds(requests) if requests else []
    sounds, rates = [], context.empty(1)
    for position, (sound, place) in enumerate(zip(found, rates, strict=True)):
        try:
            if isinstance(sound, Exception):
                raise sound
            samples, rate = convert_sound(
                sound,
                downmix=downmix,
                sample_rate=sample_rate[position],
                quality=quality,
                dtype=dtype,
            )
        except VideoError as error:
            context.note_failure(position, _named(error, requests[position].name))
            samples, rate = torch.empty(0 if downmix else (0, 1), dtype=dtype), 0.0
        except Exception as error:
            raise SampleError(position, error) from error
        sounds.append(samples)
        place.fill_(rate)
    return Batch(sounds), rates


def _named(error: VideoError, name: str) -> VideoError:
    """An error about bytes that names the file that they are of."""
    if isinstance(error, SourceError):
        return error
    return error if str(error).startswith(name) else type(error)(f"{name}: {error}")
