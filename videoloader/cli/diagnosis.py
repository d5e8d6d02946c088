"""`videoloader doctor`: find out whether this machine can decode, and what it lacks.

A check never ends the diagnosis: what it raises is its finding. Torch, PyAV and what needs them are
imported by the checks, as they may be missing.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from videoloader.codecs.registry import CODECS
from videoloader.errors import UnsupportedError
from videoloader.machinery.workers.processors import cpu_quota, machine_memory, usable_processors
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.tasks import run_tasks

if TYPE_CHECKING:
    from rich.table import Table

State: TypeAlias = Literal["ok", "note", "failed"]

CLIP = Path(__file__).with_name("doctor.mp4")
"""8 frames of 64x64, H.264 with B-frames."""
CLIP_CRC = 0x33493208  # of the planes of its frames, as any correct decoder gives them
_GPU_ERROR = 1.0  # of 255, the mean of a frame: chroma is rounded and interpolated differently

# Extras that are not listed.
_FOR_DEVELOPERS = {"dali-tests", "dev", "docs", "integrations", "test"}

# A training batch that memory is compared with, in bytes: 32 clips of 16 frames of 224x224.
_BATCH = 32 * 16 * 224 * 224 * 3
_LOADER_BATCHES = 5  # prefetch=2 wait, 2 are being decoded, 1 is in use
_BATCHES_PER_WORKER = 2  # prefetch_factor of PyTorch's DataLoader
_PATIENCE = 120.0  # seconds for all GPUs
_OPEN_FILES = 4096  # below this, data sets of many archives and workers come near the limit

_CHROMA_NAMES = {"420": "4:2:0", "444": "4:4:4"}
_DEPTHS = (8, 10, 12)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        group: software, decoders, machine, GPU or extras.
        name: what was looked at.
        found: what was found, for people.
        state: `ok`; `note` for what may be missed or is too small; `failed` for what should work
            and does not.
        advice: what to do; empty if nothing is to be done.
    """

    group: str
    name: str
    found: str
    state: State = "ok"
    advice: str = ""


def _finding(group: str, name: str, found: str, advice: str, *, is_good: bool) -> Finding:
    """A finding that is a note, with advice, unless it is good."""
    return Finding(group, name, found) if is_good else Finding(group, name, found, "note", advice)


def diagnose() -> list[Finding]:
    """Look at software, decoders, machine, GPU and extras; takes a few seconds."""
    checks: list[tuple[str, str, Callable[[], Iterator[Finding]]]] = [
        ("software", "packages", _software),
        ("decoders", "FFmpeg", _ffmpeg),
        ("decoders", "CPU", _cpu_decoding),
        ("machine", "processors", _processors),
        ("machine", "memory", _memory),
        ("machine", "open files", _open_files),
        ("GPU", "GPU", _gpus_apart),
        ("extras", "extras", _extras),
    ]
    found: list[Finding] = []
    for group, name, check in checks:
        try:
            found.extend(check())
        except Exception as error:  # noqa: BLE001  (what breaks is what is looked for)
            found.append(Finding(group, name, _reason(error), "failed"))
    return found


def is_sound(findings: list[Finding]) -> bool:
    """Whether decoding on the CPU works."""
    return not any(each.group == "decoders" and each.state == "failed" for each in findings)


def findings_table(findings: list[Finding]) -> Table:
    """A table with a row for each finding and the advice below it."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    styles = {"ok": "", "note": "yellow", "failed": "red"}
    group = ""
    for each in findings:
        found = Text(each.found, style=styles[each.state])
        if each.advice:
            found.append(f"\n{each.advice}", style="default")
        table.add_row(each.group if each.group != group else "", Text(each.name), found)
        group = each.group
    return table


def as_json(findings: list[Finding]) -> dict[str, Any]:
    """The findings as `--json` prints them: `works`, and `findings` with the fields of each."""
    return {"works": is_sound(findings), "findings": [asdict(each) for each in findings]}


def _software() -> Iterator[Finding]:
    yield Finding("software", "Python", f"{platform.python_version()}, {platform.platform()}")
    own = _version("videoloader")
    if own is None:
        found = "not installed: what it requires is not known"
        yield Finding("software", "videoloader", found, "note", "pip install videoloader")
        return
    yield Finding("software", "videoloader", own)
    for name, extra in _requirements():
        if extra:
            continue
        if version := _version(name):
            yield Finding("software", name, version)
        else:
            yield Finding("software", name, "missing", "failed", "pip install videoloader")


def _ffmpeg() -> Iterator[Finding]:
    import av

    libavcodec = ".".join(map(str, av.library_versions["libavcodec"]))
    version = getattr(av, "ffmpeg_version_info", "version unknown")
    yield Finding("decoders", "FFmpeg", f"{version}, libavcodec {libavcodec}, by PyAV")
    present, missing = [], []
    for name, codec in CODECS.items():
        try:
            av.Codec(codec.ffmpeg or name, "r")
            present.append(name)
        except ValueError:  # UnknownCodecError
            missing.append(name)
    yield Finding("decoders", "codecs", " ".join(present))
    if missing:
        advice = (
            "videos in these codecs cannot be read; the wheels of PyAV have all: pip install av"
        )
        yield Finding("decoders", "codecs missing", " ".join(missing), "note", advice)


def _cpu_decoding() -> Iterator[Finding]:
    yield Finding("decoders", "CPU, this process", _decode_here())
    try:
        found = _decode_in_worker()
    except Exception as error:  # noqa: BLE001  (as in `diagnose`)
        advice = "workers=0 decodes in the calling process instead"
        yield Finding("decoders", "CPU, worker process", _reason(error), "failed", advice)
    else:
        yield Finding("decoders", "CPU, worker process", found)


def _decode_here() -> str:
    from videoloader.video import Video

    crc, count = 0, 0
    with Video(CLIP) as video:
        for _, surface in video.decode(range(len(video))):
            count += 1
            for plane in surface.planes:
                crc = zlib.crc32(plane.tobytes(), crc)
    if crc != CLIP_CRC:
        raise RuntimeError(
            f"the pixels of {CLIP.name} are wrong (CRC {crc:08x}, not {CLIP_CRC:08x}); FFmpeg's "
            "H.264 decoder is faulty: pip install --force-reinstall av"
        )
    return f"{count} frames of H.264, bit-exact"


def _decode_in_worker() -> str:
    found, expected, _ = _batch_and_frames("cpu", workers=1)
    if not np.array_equal(found.numpy(), expected.numpy()):
        raise RuntimeError("the frames of a worker process differ from those of this process")
    return f"{len(expected)} frames of H.264"


def _batch_and_frames(device: str, **options: Any) -> tuple[Any, Any, Any]:
    """Frames of the clip by `BatchDecoder` and by `Video` on the CPU, and why the CPU helped."""
    from videoloader.decoding.batch_decoder import BatchDecoder
    from videoloader.decoding.request import ClipRequest
    from videoloader.video import Video

    with Video(CLIP) as video, BatchDecoder(device, **options) as decoder:
        frames = range(len(video))
        found = decoder.decode([ClipRequest(CLIP, frames)]).clips[0].frames.cpu()
        return found, video.get_frames(frames).frames, decoder.stats().get("routed")


def _processors() -> Iterator[Finding]:
    found = f"{usable_processors()} usable of {os.cpu_count()}"
    quota = cpu_quota()
    if quota is not None:
        found += f"; the control group allows the time of {quota:.3g}"
    yield Finding("machine", "processors", found)


def _memory() -> Iterator[Finding]:
    # Batches of worker processes lie in memory files, which count as memory, not as /dev/shm.
    needed = _LOADER_BATCHES * _BATCH
    total = machine_memory()
    found = (
        f"{_size(total)}; a Loader of batches of 32 clips of 16x224x224 shares {_size(needed)} "
        "with its workers"
    )
    advice = "use smaller batches or prefetch=1"
    yield _finding("machine", "memory", found, advice, is_good=total >= 4 * needed)
    status = os.statvfs("/dev/shm")
    free = status.f_bavail * status.f_frsize
    count = usable_processors()
    needed = count * _BATCHES_PER_WORKER * _BATCH
    found = (
        f"{_size(free)} free; a DataLoader with {count} workers and such batches takes "
        f"{_size(needed)}"
    )
    advice = "enlarge it (docker run --shm-size), or use Loader, which does not need it"
    yield _finding("machine", "/dev/shm", found, advice, is_good=free >= needed)


def _open_files() -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    if soft == resource.RLIM_INFINITY or soft >= _OPEN_FILES:
        shown = "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
        yield Finding("machine", "open files", shown)
        return
    raised = "raise the hard limit" if soft == hard else f"ulimit -n {most}"
    advice = f"{raised} (files are reopened for each read when half of them are in use)"
    yield Finding("machine", "open files", f"{soft}, at most {most}", "note", advice)


def _gpus_apart() -> Iterator[Finding]:
    """Look at GPUs in another process, since their libraries may crash: that is a finding too."""
    ((_, found),) = run_tasks(f"{__name__}:look_at_gpus", [None], workers=1, time_limit=_PATIENCE)
    if isinstance(found, TaskFailure):
        advice = 'device="cpu" works without a GPU'
        found = [Finding("GPU", "GPU", f"looking at it failed: {found.reason}", "failed", advice)]
    yield from found


def look_at_gpus(_: None) -> list[Finding]:
    """Look at the GPUs, their libraries and NVDEC's codecs; for a worker process."""
    return [*_gpus()]


def _gpus() -> Iterator[Finding]:
    import torch

    yield Finding("GPU", "driver", _driver() or "none of NVIDIA is loaded")
    if not torch.cuda.is_available():
        built = torch.version.cuda
        if _driver() is None:
            advice = "everything runs on the CPU (in a container: docker run --gpus all gives GPUs)"
        elif built is None:
            advice = "install a build of PyTorch for CUDA"
        else:
            advice = "the driver may be too old for this CUDA, or CUDA_VISIBLE_DEVICES is empty"
        reason = "built without CUDA" if built is None else f"built for CUDA {built}"
        yield Finding("GPU", "PyTorch", f"sees no GPU ({reason})", "note", advice)
        return
    for number in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(number)
        found = f"{facts.name}, {_size(facts.total_memory)}, compute {facts.major}.{facts.minor}"
        yield Finding("GPU", f"cuda:{number}", found)
    for name in ("cupy", "nvidia.nvimgcodec"):
        yield _imported(name)
    yield from _nvdec(0)


def _driver() -> str | None:
    """The version of NVIDIA's kernel module; None if it is not loaded."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return None
    found = re.search(r"\d+\.\d+(\.\d+)*", text)
    return found[0] if found else text.partition("\n")[0]


def _imported(name: str) -> Finding:
    """Whether a library of the extra `cuda` can be imported, which needs CUDA's libraries."""
    import importlib

    try:
        module = importlib.import_module(name)
    except Exception as error:  # noqa: BLE001  (as in `diagnose`)
        return Finding("GPU", name, _reason(error), "note", _command("cuda"))
    return Finding("GPU", name, str(getattr(module, "__version__", "there")))


def _nvdec(gpu: int) -> Iterator[Finding]:
    """The capabilities of a GPU's video decoders, and whether they work."""
    from videoloader.decoding.nvdec.hardware import capabilities

    engines = 0
    for name, codec in CODECS.items():
        if codec.nvdec is None:
            continue
        formats = []
        for chroma, shown in _CHROMA_NAMES.items():
            for depth in _DEPTHS:
                try:
                    found = capabilities(gpu, name, chroma, depth)
                except UnsupportedError as error:
                    yield Finding("GPU", "NVDEC", str(error), "note", _command("cuda"))
                    return
                if found is not None:
                    engines = max(engines, found.engines)
                    height, width = found.most
                    formats.append(f"{shown} {depth} bits to {width}x{height}")
        yield Finding("GPU", f"NVDEC {name}", ", ".join(formats) or "not decoded")
    yield Finding("GPU", "NVDEC engines", str(engines), "ok" if engines else "failed")
    try:
        yield Finding("GPU", "NVDEC decodes", _decode_on_gpu(gpu))
    except Exception as error:  # noqa: BLE001  (as in `diagnose`)
        advice = 'device="cpu" works without; in containers NVIDIA_DRIVER_CAPABILITIES has "video"'
        yield Finding("GPU", "NVDEC decodes", _reason(error), "failed", advice)


def _decode_on_gpu(gpu: int) -> str:
    found, expected, routed = _batch_and_frames(f"cuda:{gpu}")
    if routed:
        raise RuntimeError(f"the CPU decoded instead: {', '.join(routed)}")
    apart = float((found.float() - expected.float()).abs().mean(dim=(1, 2, 3)).max())
    if apart > _GPU_ERROR:
        raise RuntimeError(f"frames of NVDEC and of the CPU differ by {apart:.2f} of 255")
    return f"{len(expected)} frames of H.264, within {apart:.2f} of 255 of the CPU's"


def _extras() -> Iterator[Finding]:
    wanted: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if extra and extra not in _FOR_DEVELOPERS:
            wanted.setdefault(extra, []).append(name)
    # One row for GPUs: `cuda12` where its CuPy is installed, else `cuda`, which is `cuda13`.
    wanted.pop("cuda13", None)
    wanted.pop("cuda" if _version("cupy-cuda12x") else "cuda12", None)
    for extra, names in sorted(wanted.items()):
        versions = {name: _version(name) for name in names}
        missing = [name for name, version in versions.items() if version is None]
        present = [f"{name} {version}" for name, version in versions.items() if version]
        lacking = [f"missing: {' '.join(missing)}"] if missing else []
        found = ", ".join([*present, *lacking])
        yield _finding("extras", extra, found, _command(extra), is_good=not missing)


def _requirements() -> list[tuple[str, str]]:
    """Distribution and extra of each requirement of ours; the extra is empty if all need it."""
    found = []
    for text in (_version("videoloader") and metadata.requires("videoloader")) or []:
        name = re.match(r"[\w.-]+", text)
        extra = re.search(r"""extra == ["']([\w.-]+)["']""", text)
        if name is not None:
            found.append((name[0], extra[1] if extra else ""))
    return [*dict.fromkeys(found)]  # one may have several lines, for versions of Python


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _command(extra: str) -> str:
    return f'pip install "videoloader[{extra}]"'


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
