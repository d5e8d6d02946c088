"""A video loader for vLLM: `VLLM_VIDEO_LOADER_BACKEND=videoloader`.

vLLM finds it through the entry point `vllm.general_plugins` of this package, in all processes.
`register` does the same explicitly and can keep the sampling rule of a model.
"""

from __future__ import annotations

import inspect
import logging
import math
import sys
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.compat.opening import first_module, frame_rate, open_first_video
from videoloader.errors import ArgumentError, UnsupportedError

__all__ = ["NAME", "plugin", "register"]

NAME = "videoloader"
_MODULES = ("vllm.multimodal.video", "vllm.frontend.processing.multimodal.video")
_BACKENDS = ("opencv", "torchcodec", "pynvvideocodec", "deepstream")
_TARGET = {"num_frames": -1, "fps": -1.0, "max_duration": 300}
_OWN_OPTIONS = ("frame_sample_mode", "max_fps", "sampling_fps")  # of Molmo2's loader
_log = logging.getLogger(__name__)


class _Source(NamedTuple):
    """The video metadata that vLLM's samplers read."""

    total_frames_num: int
    original_fps: float
    duration: float


class _Target(NamedTuple):
    """The sampling that vLLM requests."""

    num_frames: int
    fps: float
    max_duration: float


def plugin() -> None:
    """Entry point of vLLM: register the loader; logs a warning if that fails."""
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
        like: the loader of vLLM whose sampling rule and defaults are used, such as `qwen3_vl`; it
            may pad the frames or extend the metadata.
        video_processor: classes of video processors for which vLLM selects it automatically.

    Returns:
        The class of the loader, derived from the class of `like`.

    Raises:
        ImportError: vLLM is not installed.
        ValueError: vLLM has no loader `like`.
    """
    module = first_module(_MODULES, "pip install vllm")
    registry = module.VIDEO_LOADER_REGISTRY
    base = registry.name2class.get(like)
    if base is None:
        known = ", ".join(sorted(registry.name2class))
        raise ValueError(f"vLLM has no video loader {like!r}; it has {known}")
    loader = _loader(base, module)
    options = {} if video_processor is None else {"video_processor": video_processor}
    registry.register(name, **options)(loader)
    return loader


def _loader(base: type[Any], module: ModuleType) -> type[Any]:
    """A subclass of a loader that decodes with this library.

    Loaders of vLLM call `super().load_bytes` for the frames, then pad them or extend the metadata.
    So the method resolution order puts ours after `base` and before the class that decodes.
    """
    root: Any = next(
        cls for cls in base.__mro__ if "load_bytes" in vars(cls) and not _calls_super(cls)
    )
    signature = inspect.signature(root.load_bytes)
    rest = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
    helper = getattr(root, "load_bytes_opencv", None)  # of loaders with options of their own
    own = {} if helper is None else inspect.signature(helper).parameters
    defaults = {name: own[name].default for name in _OWN_OPTIONS if name in own}

    def load_bytes(
        cls: Any, /, data: bytes, *args: Any, **kwargs: Any
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Frames (T, H, W, C) uint8 of an encoded video, and their metadata.

        Takes the arguments of vLLM's decoding loader; further keywords go to the sampling rule.
        """
        bound = signature.bind(data, *args, **kwargs)
        bound.apply_defaults()
        given = {**bound.arguments, **(bound.arguments.get(rest or "") or {})}
        named = [name for name in signature.parameters if name != rest]
        options = {
            name: value
            for name, value in {**defaults, **given}.items()
            if name not in (*named, *_Target._fields, rest, "backend", "frame_recovery")
        }
        wanted = {key: given.get(key, default) for key, default in _TARGET.items()}
        wanted["fps"] = options.pop("sampling_fps", wanted["fps"])
        options = _checked(module, given.get("backend"), options)
        if given.get("frame_recovery"):
            raise UnsupportedError(
                "frame_recovery puts other frames in the place of damaged ones; here a damaged "
                "frame is an error"
            )
        with open_first_video(data) as video:
            _check_pixels(*video.size)
            fps = frame_rate(video)
            source = _prepared(cls, _Source(len(video), fps, video.index.duration))
            numbers = _sampled(cls, source, _Target(**wanted), options)
            frames = video.get_frames(numbers).frames.numpy()
        return frames, _metadata(cls, source, numbers)

    ours = type("VideoloaderBackend", (root,), {"load_bytes": classmethod(load_bytes)})
    return ours if base is root else type("VideoloaderBackend", (base, ours), {})


def _calls_super(cls: type[Any]) -> bool:
    """Whether the `load_bytes` of a class calls the one of the class above."""
    function = vars(cls)["load_bytes"]
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    return code is not None and {"super", "load_bytes"} <= set(code.co_names)


def _checked(module: ModuleType, backend: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The options of the sampling rule, without options of a decoder.

    Raises:
        ValueError: vLLM has no such backend, or the option is another backend's.
    """
    if backend in (None, NAME):
        return options
    split = getattr(module, "resolve_video_backend_kwargs", None)
    if split is not None:
        sampling: dict[str, Any] = split(backend, options)[0]
        return sampling
    if backend not in _BACKENDS:
        raise ArgumentError(
            f"Unknown video codec backend {backend!r}; valid options: {NAME}, "
            f"{', '.join(_BACKENDS)}"
        )
    return options


def _check_pixels(height: int, width: int) -> None:
    """Raise `ValueError` for frames of more pixels than vLLM accepts."""
    envs = sys.modules.get("vllm.envs")
    limit = getattr(envs, "VLLM_MAX_IMAGE_PIXELS", 0)
    if 0 < limit < width * height:
        raise UnsupportedError(
            f"Video frame dimensions {width}x{height} ({width * height} pixels) exceed the maximum "
            f"of {limit} pixels. Set VLLM_MAX_IMAGE_PIXELS to increase this limit."
        )


def _prepared(cls: Any, source: _Source) -> Any:
    """The metadata after the hook of loaders that count frames differently."""
    prepare = getattr(cls, "_prepare_source", None)
    return source if prepare is None else prepare(source)


def _sampled(cls: Any, source: Any, target: _Target, options: dict[str, Any]) -> list[int]:
    """Frame numbers by the rule of the loader, evenly spaced if it has none."""
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
    """The fields of `VideoMetadata` of `transformers`."""
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
