"""A video loader for vLLM: `VLLM_VIDEO_LOADER_BACKEND=videoloader`.

vLLM finds it by the entry point `vllm.general_plugins` of this package, in all of its processes;
`register` does the same by hand, also beside the sampling rules of a model.
"""

from __future__ import annotations

import inspect
import logging
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.compat.opening import first_module, frame_rate, open_video

__all__ = ["NAME", "plugin", "register"]

NAME = "videoloader"
_MODULES = ("vllm.multimodal.video", "vllm.frontend.processing.multimodal.video")
_log = logging.getLogger(__name__)


class _Source(NamedTuple):
    """What vLLM's samplers know of a video."""

    total_frames_num: int
    original_fps: float
    duration: float


class _Target(NamedTuple):
    """What vLLM's samplers are asked for."""

    num_frames: int
    fps: float
    max_duration: float


def plugin() -> None:
    """Register the loader where vLLM looks for plugins; a vLLM that it does not fit is told."""
    try:
        register()
    except Exception as error:  # noqa: BLE001  (a plugin that raises would end vLLM)
        _log.warning("videoloader is no video loader of this vLLM: %s", error)


def register(
    name: str = NAME, *, like: str = "opencv", video_processor: str | tuple[str, ...] | None = None
) -> type[Any]:
    """Add a loader to `VIDEO_LOADER_REGISTRY` of vLLM.

    Args:
        name: to choose it by, in `VLLM_VIDEO_LOADER_BACKEND` or `--media-io-kwargs`.
        like: a loader of vLLM whose rule of sampling and whose defaults it has, such as
            `qwen3_vl`.
        video_processor: classes of video processors for which vLLM then takes it by itself.

    Returns:
        The class of the loader, derived from the one it is like.

    Raises:
        ImportError: vLLM is not installed.
        ValueError: vLLM has no loader `like`.
    """
    registry = first_module(_MODULES, "pip install vllm").VIDEO_LOADER_REGISTRY
    base = registry.name2class.get(like)
    if base is None:
        known = ", ".join(sorted(registry.name2class))
        raise ValueError(f"vLLM has no video loader {like!r}; it has {known}")
    loader = _loader(base)
    options = {} if video_processor is None else {"video_processor": video_processor}
    registry.register(name, **options)(loader)
    return loader


def _loader(base: type[Any]) -> type[Any]:
    """A loader like another one, but for decoding."""
    defaults = {
        parameter.name: parameter.default
        for parameter in inspect.signature(base.load_bytes).parameters.values()
        if parameter.name in _Target._fields and parameter.default is not parameter.empty
    }

    def load_bytes(
        cls: Any, /, data: bytes, *args: int, **kwargs: Any
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Frames (T, H, W, C) uint8 of an encoded video, and what is known of them.

        `num_frames`, `fps` and `max_duration` may be given by place; other keywords are for the
        rule of sampling.
        """
        wanted = {"num_frames": -1, "fps": -1.0, "max_duration": 300, **defaults}
        wanted.update(zip(_Target._fields, args, strict=False))
        wanted.update((key, kwargs.pop(key)) for key in _Target._fields if key in kwargs)
        with open_video(data) as video:
            fps = frame_rate(video.index)
            source = _prepared(cls, _Source(len(video), fps, video.index.duration))
            numbers = _sampled(cls, source, _Target(**wanted), kwargs)
            frames = video.get_frames(numbers).frames.numpy()
        return frames, _metadata(cls, source, numbers)

    return type("VideoloaderBackend", (base,), {"load_bytes": classmethod(load_bytes)})


def _prepared(cls: Any, source: _Source) -> Any:
    """The hook of rules that count frames otherwise."""
    prepare = getattr(cls, "_prepare_source", None)
    return source if prepare is None else prepare(source)


def _sampled(cls: Any, source: Any, target: _Target, options: dict[str, Any]) -> list[int]:
    """Frame numbers by the rule of the loader, or evenly spread where it has none."""
    rule = getattr(cls, "compute_frames_index_to_sample", None)
    if rule is not None:
        return [int(number) for number in rule(source, target, **options)]
    total = source.total_frames_num
    count = min(target.num_frames, total) if target.num_frames > 0 else total
    if target.fps > 0:
        count = min(count, math.floor(source.duration * target.fps))
    numbers: list[int] = np.linspace(0, total - 1, max(count, 1), dtype=int).tolist()
    return numbers


def _metadata(cls: Any, source: Any, numbers: list[int]) -> dict[str, Any]:
    """As `VideoMetadata` of `transformers` has it."""
    create = getattr(cls, "create_hf_metadata", None)
    if create is not None:
        found: dict[str, Any] = create(
            source=source, video_backend=NAME, valid_frame_indices=numbers
        )
        return found
    return {
        "total_num_frames": source.total_frames_num,
        "fps": source.original_fps,
        "duration": source.duration,
        "video_backend": NAME,
        "frames_indices": numbers,
        "do_sample_frames": len(numbers) == source.total_frames_num,
    }
