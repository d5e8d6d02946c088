"""What a row of `dropins.py` is: one protocol, run under one API by two libraries.

A module with rows has a tuple `ROWS` and stands in `MODULES` of `dropins.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from footage import DATA, VIDEOS, TestVideo, make
from numpy.typing import NDArray

__all__ = ["Row", "footage", "looped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One protocol.

    Attributes:
        library: name of the peer, as it is imported.
        drop_in: our module with its API.
        protocol: what is done, in a few words.
        prepare: makes what is needed, outside the measured time; its result goes to `run`.
        run: does the protocol with a module of that API; gives the frames, or a part of them that
            tells them apart.
        load: imports the module, if a plain import does not do.
        repeats: of the measurement; the median counts.
    """

    library: str
    drop_in: str
    protocol: str
    prepare: Callable[[], Any]
    run: Callable[[Any, Any], NDArray[Any]]
    load: Callable[[str], Any] | None = None
    repeats: int = 5

    def loaded(self, name: str) -> Any:
        """What `run` takes, for the peer or the drop-in."""
        return (self.load or importlib.import_module)(name)


def footage(name: str, **options: Any) -> Callable[[], Path]:
    """Makes a video of `footage.py`, one of its own or one described here."""

    def prepare() -> Path:
        video = VIDEOS.get(name) or TestVideo(name=f"{name}.mp4", encoder="libx264", **options)
        make([video])
        return video.path

    return prepare


def looped(name: str, frames: int) -> Callable[[], Path]:
    """The packets of a video of `footage.py`, over and over up to a number of frames."""
    path = DATA / f"{name}-{frames}.mp4"

    def prepare() -> Path:
        if not path.exists():
            _loop(footage(name)(), path, frames)
        return path

    return prepare


def _loop(source: Path, path: Path, frames: int) -> None:
    import av

    unfinished = path.with_name(f"unfinished-{path.name}")
    with av.open(str(source)) as container, av.open(str(unfinished), "w") as out:
        given = container.streams.video[0]
        stream = out.add_stream_from_template(given)
        packets = [packet for packet in container.demux(given) if packet.pts is not None]
        assert given.average_rate is not None
        assert given.time_base is not None
        tick = 1 / (Fraction(given.average_rate) * Fraction(given.time_base))
        for start in range(0, frames, len(packets)):
            for packet in packets:
                copy: Any = av.Packet(bytes(packet))
                copy.pts = int(packet.pts or 0) + round(start * tick)
                copy.dts = int(packet.dts or 0) + round(start * tick)
                copy.time_base, copy.is_keyframe = packet.time_base, packet.is_keyframe
                copy.stream = stream
                out.mux(copy)
    unfinished.replace(path)


def digest(frames: Any) -> NDArray[np.uint8]:
    """A part of frames (N, H, W, 3) that tells them apart: every 16th pixel each way."""
    return np.ascontiguousarray(np.asarray(frames)[..., ::16, ::16, :])
