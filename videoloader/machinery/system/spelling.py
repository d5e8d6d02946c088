"""Suggestions for misspelled names in errors."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

_T = TypeVar("_T")

# From names in other libraries to names here: arguments, with a value where one is meant, or
# modules. Only those that the called function has are suggested.
_OTHER_WORDS = {
    "VideoDecoder": ("videoloader.compat.torchcodec.decoders.VideoDecoder",),
    "VideoLoader": ("Loader", "videoloader.compat.decord.VideoLoader"),
    "VideoReader": ("videoloader.compat.decord.VideoReader",),
    "audio_rate": ("audio_sample_rate",),
    "clip_len": ("count", "length"),
    "crf": ("quality",),
    "crop": ("crop_size",),
    "crops": ("num_crops",),
    "Dataset": ("ClipDataset", "open_dataset"),
    "drop_last": ('remainder="drop"',),
    "end_seconds": ("times",),
    "flip": ("random_flip",),
    "frame_interval": ("stride",),
    "frames": ("count", "segments"),
    "height": ("size",),
    "load_video": ("Video",),
    "max_length": ("max_frames", "max_duration"),
    "min_length": ("min_frames", "min_duration"),
    "mono": ("num_channels=1", "audio_channels=1"),
    "normalize": ("mean=... and std=...",),
    "num_clips": ("clips_per_video", "clips", "segments"),
    "num_frames": ("count", "segments", "sequence_length"),
    "num_threads": ("workers", "threads"),
    "num_workers": ("workers",),
    "open_video": ("Video",),
    "pin_memory": ('device="cuda"',),
    "probe": ("index_video",),
    "read_video": ("Video", "videoloader.compat.torchvision.read_video"),
    "num_replicas": ("num_ranks",),
    "num_shards": ("num_ranks",),
    "sampler": ("clips", "weights"),
    "shard_id": ("rank",),
    "shorter": ("resize_shorter",),
    "sr": ("sample_rate", "audio_sample_rate"),
    "start_seconds": ("times",),
    "step": ("stride",),
    "stop_seconds": ("times",),
    "videos": ("dataset",),
    "world_size": ("num_ranks",),
    "width": ("size",),
}

_SEVERAL = "EvenClips takes several clips of a video, clips_per_video= of Loader as several samples"

_SAMPLER = "the sampler chooses frames, such as RandomClip(16, stride=4)"
_OF_FRAMES = ("clip_length", "fps", "frames_per_clip", "num_frames", "stride")
_PARTS = "Segments(table) has parts of videos: videos, starts and ends"

# Arguments that a class does not have, and what has them.
_ELSEWHERE = {
    "ClipDataset": {
        **dict.fromkeys(
            ("batch_size", "drop_last", "num_threads", "num_workers", "pin_memory", "shuffle"),
            "that is for torch's DataLoader, or videoloader.Loader",
        ),
        **dict.fromkeys(_OF_FRAMES, _SAMPLER),
        **dict.fromkeys(("end", "start", "stop"), _PARTS),
        "collate_fn": "that is for torch's DataLoader, such as videoloader.collate_samples",
        "device": "samples are decoded on the CPU, videoloader.Loader decodes on a GPU",
    },
    "Loader": {
        **dict.fromkeys(_OF_FRAMES, _SAMPLER),
        **dict.fromkeys(("end", "start", "stop"), _PARTS),
        "collate_fn": "sample_transform= is called with each sample before batches are made; "
        "torch's DataLoader takes a ClipDataset and a collate_fn",
        "distributed": "ranks are found by themselves, or given as rank= and num_ranks=",
        "epochs": "each iteration of the loader is an epoch",
        "generator": "seed= is of all randomness",
    },
    "RandomClip": {"num_clips": _SEVERAL},
    "UniformClip": {"num_clips": _SEVERAL},
    "Video": {"times": "video.get_frames_at_times takes seconds"},
}

_NUMBERS = "video.get_frames takes frame numbers"
_TIMES = "video.get_frames_at_times takes seconds"
_RANGE = "video.get_frames takes start=, stop= and stride=, video[start:stop] gives a tensor"

# Attributes that a class does not have, and what there is in their place.
_ATTRIBUTES = {
    "Video": {
        "average_fps": "it is video.fps",
        "average_rate": "it is video.fps",
        "codec": "it is video.metadata.codec",
        "duration_seconds": "it is video.duration",
        "frame_rate": "it is video.fps",
        "get_avg_fps": "it is video.fps",
        "get_batch": _NUMBERS,
        "get_frame_at": "video[number] gives a frame",
        "get_frame_played_at": _TIMES,
        "get_frames_at": _NUMBERS,
        "get_frames_in_range": _RANGE,
        "get_frames_played_at": _TIMES,
        "get_frames_played_in_range": _TIMES,
        "get_metadata": "it is video.metadata",
        "read": "video.iterate() gives frames one after another",
    }
}


def did_you_mean(known: Collection[str], *names: str, most: int = 3) -> str:
    """A question with the known names that are close to a name; empty if none is.

    Args:
        known: names that there are.
        *names: names that there are not.
        most: known names suggested for each of them.

    >>> did_you_mean(["resize", "rotate", "crop"], "resiz")
    'did you mean resize?'
    """
    close = {match: None for name in names for match in _close(known, name, most)}
    return f"did you mean {' or '.join(close)}?" if close else ""


def _close(known: Collection[str], name: str, most: int) -> list[str]:
    if name in _OTHER_WORDS:  # what is spelled alike means something else
        others = _OTHER_WORDS[name]
        return [each for each in others if "." in each or each.partition("=")[0] in known][:most]
    return get_close_matches(name, known, n=most)


def unexpected_keyword(function: str, name: str, known: Collection[str]) -> TypeError:
    """The error for a keyword that a function does not take, in Python's words."""
    renamed = _ELSEWHERE.get(function.partition(".")[0], {})
    hint = renamed.get(name) or did_you_mean(known, name, most=1)
    text = f"{function}() got an unexpected keyword argument {name!r}"
    return TypeError(f"{text}; {hint}" if hint else text)


def suggests_names(made: _T) -> _T:
    """Decorator: a keyword that a function or constructor lacks is answered with the right name."""
    changed: Any = made
    call = changed.__init__ if isinstance(made, type) else changed
    known = [*inspect.signature(changed).parameters]

    @wraps(call)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                raise unexpected_keyword(changed.__name__, name, known)
        return call(*args, **keywords)

    if not isinstance(made, type):
        return cast(_T, checked)
    changed.__init__ = checked
    return made


def suggests_attributes(made: type[_T]) -> type[_T]:
    """Decorator: for an attribute that a class lacks, the error names the one to use instead."""

    def no_such_attribute(self: Any, name: str) -> Any:
        if hasattr(type(self), name):  # a property whose own error this hides: once more
            return object.__getattribute__(self, name)
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        hint = _ATTRIBUTES.get(made.__name__, {}).get(name)
        raise AttributeError(f"{text}; {hint}" if hint else text, name=name, obj=self)

    # Set here, where type checkers do not see it: they would allow every attribute.
    made.__getattr__ = no_such_attribute  # type: ignore[attr-defined]
    return made


def no_attribute(module: str, name: str, known: Collection[str]) -> AttributeError:
    """The error for a name that a module does not have; raised by its `__getattr__`."""
    hint = "" if name.startswith("__") else did_you_mean(known, name)
    text = f"module {module!r} has no attribute {name!r}"
    return AttributeError(f"{text}; {hint}" if hint else text)
