"""What `tune` found: how fast a loader is, what limits it, and what changes that by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from videoloader.machinery.views import facts_table, rows_table

_BAR = 40  # characters of the longest one

_LIMITS = {
    "step": "the training step; the loader is faster",
    "storage": "storage: the packets of clips are read more slowly than they are decoded",
    "transform": "transform, which runs in the thread of the training loop",
    "convert": "conversion to RGB, resizing and copying",
    "decode": "decoding",
    "unused frames": "frames that are decoded only because others need them; clips use few of them",
    "NVDEC": "NVDEC: its engines are busy all the time",
    "plan": "planning: samplers, and opening of indexes",
}


class Advice(NamedTuple):
    """The rate of a loader after a change.

    Attributes:
        change: options of `Loader`, or a job to do first; "as given" for none.
        clips_per_second: without a training step.
        waited_share: of the time beside the step that the training loop would wait, 0 to 1; None
            without a step.
        is_measured: on these videos, else predicted from what decoding them costs.
        note: what else is to be known.

    >>> Advice("workers=8", clips_per_second=120.0, waited_share=0.1, is_measured=True).change
    'workers=8'
    """

    change: str
    clips_per_second: float
    waited_share: float | None
    is_measured: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a loader reaches on this machine with these videos, and what would help.

    `str()` of it is a report, `as_dict()` has all values for JSON.

    Attributes:
        limit: what bounds the rate: `step`, `storage`, `transform`, or as `RunStats.limit`.
        given: the loader as it was given.
        advice: changes that make it faster, the fastest first.
        batch_size: samples of a batch; with `Buckets` or `Packing` their mean.
        step: seconds of a training step, None if it was not said.
        bytes_per_second: that are read from where the videos lie, with files of this machine from
            the disk, not from the page cache.
        bytes_per_clip: that are read for a clip.
        frames_per_clip: distinct frames of a clip.
        decoded_per_clip: frames that are decoded for it.
        packets_per_clip: that are decoded for it.
        packets_by_gop: that would be, each clip by itself, with a keyframe every so many frames.
        decode_seconds: of all processes together, for a clip.
        convert_seconds: likewise, of conversion to RGB, resizing and copying on the CPU.

    >>> import videoloader as vl
    >>> found = vl.tune("videos/", vl.RandomClip(8), batch_size=2, seconds=1, workers=0)
    >>> found.given.change, found.packets_by_gop[1]
    ('as given', 8.0)
    """

    limit: str
    given: Advice
    advice: tuple[Advice, ...]
    batch_size: float
    step: float | None
    bytes_per_second: float
    bytes_per_clip: float
    frames_per_clip: float
    decoded_per_clip: float
    packets_per_clip: float
    packets_by_gop: Mapping[int, float]
    decode_seconds: float
    convert_seconds: float

    @property
    def storage_clips_per_second(self) -> float:
        """Clips whose packets are read in a second."""
        return self.bytes_per_second / max(self.bytes_per_clip, 1.0)

    def as_dict(self) -> dict[str, Any]:
        """All values, for JSON."""
        changes = [self.given._asdict(), *(each._asdict() for each in self.advice)]
        return asdict(self) | {"given": changes[0], "advice": changes[1:]}

    def facts(self) -> list[tuple[str, str]]:
        """What was measured, as names and texts."""
        unused = 1 - self.frames_per_clip / max(self.decoded_per_clip, 1e-9)
        facts = [
            ("limit", _LIMITS.get(self.limit, self.limit)),
            ("loader", f"{self.given.clips_per_second:.4g} clips/s"),
        ]
        if self.step is not None:
            needed = self.batch_size / self.step
            text = f"takes {needed:.4g} clips/s, waits {self.given.waited_share or 0:.0%} of time"
            facts.append((f"step of {1000 * self.step:.4g} ms", text))
        storage = f"{self.bytes_per_second / 1e6:.4g} MB/s, {self.bytes_per_clip / 1e6:.3g} MB a"
        facts.append(("storage", f"{storage} clip: {self.storage_clips_per_second:.4g} clips/s"))
        decoding = f"{self.decoded_per_clip:.4g} frames a clip, {max(unused, 0):.0%} in no clip"
        times = f"{1000 * self.decode_seconds:.3g} ms, conversion {1000 * self.convert_seconds:.3g}"
        facts.append(("decoding", f"{decoding}; {times} ms a clip, of all processes together"))
        return facts

    def rows(self) -> list[dict[str, str]]:
        """The table of changes, the loader as given first."""
        base = max(self.given.clips_per_second, 1e-9)
        return [
            {
                "change": each.change,
                "clips/s": f"{each.clips_per_second:.4g}",
                "times": f"{each.clips_per_second / base:.2f}",
                "step waits": "" if each.waited_share is None else f"{each.waited_share:.0%}",
                "known by": "measuring" if each.is_measured else "predicting",
                "note": each.note,
            }
            for each in (self.given, *self.advice)
        ]

    def bars(self) -> list[str]:
        """Packets of a clip now, and in files that `transcode` writes by `gop`, as bars."""
        counts = {"now": self.packets_per_clip}
        counts |= {f"gop={gop}": packets for gop, packets in self.packets_by_gop.items()}
        most = max(*counts.values(), 1.0)
        return [
            f"{name:>8} {count:7.4g} {'█' * max(round(_BAR * count / most), 1)}"
            for name, count in counts.items()
        ]

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self.facts()]
        if not self.advice:
            lines.append("no change that was tried makes it faster")
        for row in self.rows()[1:]:
            waits = f", the step waits {row['step waits']}" if row["step waits"] else ""
            rate = f"{row['clips/s']} clips/s, {row['times']} times as many"
            note = f"; {row['note']}" if row["note"] else ""
            lines.append(f"{row['change']}: {rate}, known by {row['known by']}{waits}{note}")
        return "\n".join([*lines, "packets a clip:", *self.bars()])

    def _repr_html_(self) -> str:
        names = [*self.rows()[0]]
        bars = "\n".join(self.bars())
        table = rows_table(names, self.rows(), "Changes")
        return f"{facts_table(self.facts())}{table}<p>Packets a clip</p><pre>{bars}</pre>"
