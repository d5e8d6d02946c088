"""`tune`: tries a loader on a user's own videos, finds what limits it, and what would help.

Changes of options are tried and measured. What takes a job over all videos, transcoding, is
measured on pieces of a few of them, and predicted for the others from the packets of their clips.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from videoloader.datasets.tuning.advice import Advice, Tuning
from videoloader.datasets.tuning.transcoding import GOP, Encoded, encode_pieces
from videoloader.datasets.tuning.trials import Bench, Trial
from videoloader.errors import VideoError
from videoloader.indexing.video import index_video
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.system.checks import real_number
from videoloader.machinery.workers.processors import usable_processors
from videoloader.sampling import ClipSampler, DenseClips, generator, sample_frames
from videoloader.sources.items import Item
from videoloader.training.labels.pairs import paired
from videoloader.training.segments.segments import Segments, sample_videos
from videoloader.training.sources import LabelledSources, SampleVideos
from videoloader.writing.gain import GainWatch

Note: TypeAlias = Callable[[int, int, str], object]
"""Is called with the parts that are done, all parts, and what is being done."""

_PARTS = 15  # of a whole measurement, for its progress and its time
_READS = 64  # reads by which storage is measured
_MOST_READ = 1 << 26  # bytes of one of them
_WATCHED = 16  # videos for which the packets of clips are counted
_PIECES = 6  # videos; a piece of each is cut out and encoded
_GOPS = (1, 2, 4, 8, 16, 32, 64, 128)
_MOSTLY = 0.5  # share of the training loop's time; if `transform` takes more, it is the limit
_FEWER = 0.9  # packets after transcoding over those before; above, only a smaller size is a reason
_WORTH = 1.03  # rate after a change over the rate before; below, the change is not reported


def tune(
    dataset: LabelledSources | Segments,
    clips: ClipSampler,
    *,
    step: float | None = None,
    seconds: float = 60.0,
    progress: Note | None = None,
    **options: Any,
) -> Tuning:
    """Measure a loader on some of its videos, name what limits it, and try what may help.

    It measures how fast packets are read from where the videos lie, what decoding and conversion
    cost, and what the loader reaches as it is given. Then it tries other options, and transcoding
    on short pieces of a few videos in a temporary folder. Nothing else is written. Run it while
    nothing else runs on the machine. A step is a pause here: what a training step takes from the
    processors or the GPU is not seen.

    Args:
        dataset: as for `Loader`.
        clips: likewise.
        step: seconds of a training step, which tells what it would wait.
        seconds: that all of it takes, about; slow videos may take longer.
        progress: called with (parts done, all parts, what is being done).
        **options: of `Loader`. `shuffle=True` and `on_error="skip"` are the defaults here.

    Raises:
        ArgumentError: as of `Loader`; or `step` or `seconds` is not above 0.
        VideoError: no video decodes.

    >>> from videoloader import RandomClip
    >>> found = tune("videos/", RandomClip(8), batch_size=2, seconds=2, workers=0)
    >>> found.given.change, found.given.is_measured, found.frames_per_clip
    ('as given', True, 8.0)
    """
    real_number("seconds", seconds, above=0)
    if step is not None:
        real_number("step", step, above=0)
    given, labels = paired(dataset, options.get("labels"))
    options = {"shuffle": True, "on_error": "skip", **options, "labels": labels}
    bench = Bench(given, clips, options, seconds / _PARTS)
    return _Tuner(bench, sample_videos(given, {}), step, progress or _quiet).run()


def _quiet(done: int, total: int, what: str) -> None:
    pass


class _Tuner:
    """Does the parts one after another.

    Args:
        bench: runs the loader.
        videos: of it.
        step: seconds of a training step.
        note: is told of the parts.
    """

    def __init__(self, bench: Bench, videos: SampleVideos, step: float | None, note: Note) -> None:
        self._bench, self._videos, self._step, self._note = bench, videos, step, note
        self._options = bench.options
        self._done = 0

    def run(self) -> Tuning:
        """Measure, try, and tell."""
        self._tell("files that are read for the first time")
        self._bench.run()
        self._tell("the loader as given")
        self._base = base = self._bench.run()
        self._speed = base.rate  # of the loader as given, when it ran last
        self._batch_size = self._options.get("batch_size") or base.size
        self._tell("storage")
        self._storage = self._bytes_per_second(base.each("bytes"))
        self._tell("packets of clips")
        items = [self._videos.item(number) for number in self._spread(_WATCHED)]
        watch = GainWatch(self._bench.clips, items, None)
        given = self._measured("as given", base)
        if self._step is not None and given.waited_share == 0:
            self._tell("the loader beside a step")
            given = given._replace(waited_share=self._bench.run(step=self._step).waited)
        tried = [*self._tried(given)]
        gops: dict[int, float] = {}
        frames = watch.packets_at(1)  # distinct frames of a clip; 0 if no video can be read
        if frames and self._options.get("batches") is None:
            self._tell(f"pieces of videos, transcoded with gop={GOP}")
            pieces = [self._videos.item(number) for number in self._spread(_PIECES)]
            plan = {gop: watch.packets_at(gop) for gop in _GOPS}
            clips = base.each("used") / frames  # that a sample has; plans are for one clip
            for encoded in encode_pieces(self._bench, pieces, watch.videos):
                packets = {
                    gop: clips * encoded.packets(planned, frames) for gop, planned in plan.items()
                }
                gops = gops or packets
                # Only for fewer packets, or smaller pictures; else it costs quality for nothing.
                if encoded.shorter is not None or packets[GOP] < _FEWER * base.each("packets"):
                    tried.append(self._transcoded(encoded, packets[GOP]))
        self._note(_PARTS, _PARTS, "")
        better = [each for each in tried if _is_better(each, given)]
        return Tuning(
            limit=self._limit(given.clips_per_second),
            given=given,
            advice=tuple(sorted(better, key=lambda each: -each.clips_per_second)),
            batch_size=self._batch_size,
            step=self._step,
            bytes_per_second=self._storage,
            bytes_per_clip=base.each("bytes"),
            frames_per_clip=base.each("used"),
            decoded_per_clip=base.each("decoded"),
            packets_per_clip=base.each("packets"),
            packets_by_gop=gops,
            decode_seconds=base.each("decode_seconds"),
            convert_seconds=base.each("convert_seconds"),
        )

    def _tell(self, what: str) -> None:
        self._note(min(self._done, _PARTS - 1), _PARTS, what)
        self._done += 1

    def _spread(self, most: int) -> list[int]:
        """Numbers of up to so many videos, evenly chosen."""
        count = len(self._videos)
        return sorted({count * place // most for place in range(most)})

    def _bytes_per_second(self, size: float) -> float:
        """How fast parts of videos are read, by as many threads as there are processors.

        What the kernel keeps of files is dropped before. The parts have the size of what a clip
        takes, and lie anywhere.
        """
        rng, length = generator(0), min(max(int(size), 1), _MOST_READ)
        items = [self._videos.item(number) for number in self._spread(_READS)]
        for item in items:
            _drop_from_memory(item)
        tasks = [(item, float(rng.random())) for item in items]

        def read(task: tuple[Item, float]) -> int:
            item, place = task
            with suppress(VideoError), item.open() as source:
                part = min(length, source.size)
                return len(source.read(int(place * (source.size - part)), part))
            return 0

        begin = time.perf_counter()
        total = sum(in_threads(read, tasks, usable_processors()))
        return total / (time.perf_counter() - begin)

    def _limit(self, rate: float) -> str:
        """The name of what bounds a rate of clips."""
        base = self._base
        if self._step is not None and rate >= self._batch_size / self._step:
            return "step"
        if rate < base.rate:
            return "storage"
        return "transform" if base.transformed > _MOSTLY else base.limit

    def _rate(self, trial: Trial) -> float:
        """The rate of a trial that has just ended, without what the machine's speed changed.

        The speed of machines changes. So the loader as given runs again, and the trial is compared
        with its runs before and after.
        """
        before, self._speed = self._speed, self._bench.run().rate
        return trial.rate * self._base.rate / max((before + self._speed) / 2, 1e-9)

    def _measured(self, change: str, trial: Trial, note: str = "") -> Advice:
        """The rate of a loader that ran, with files that have to be read from storage."""
        rate = trial.rate if trial is self._base else self._rate(trial)
        rate = min(rate, self._storage / max(trial.each("bytes"), 1.0))
        return Advice(change, rate, self._waited(rate), is_measured=True, note=note)

    def _waited(self, rate: float) -> float | None:
        """The share of time that a step waits for a loader of some rate."""
        return None if self._step is None else max(1 - rate * self._step / self._batch_size, 0.0)

    def _tried(self, given: Advice) -> Iterator[Advice]:
        """Other options, each tried."""
        options, base = self._options, self._base
        workers = options.get("workers")
        if workers is not None and workers < usable_processors():
            yield self._run_with("", workers=usable_processors())
        if given.waited_share and given.clips_per_second * (self._step or 0) >= self._batch_size:
            prefetch = 2 * int(options.get("prefetch", 2))
            self._tell(f"prefetch={prefetch}")
            trial = self._bench.run(step=self._step or 0.0, prefetch=prefetch)
            if given.waited_share - trial.waited > _WORTH - 1:
                yield given._replace(change=f"prefetch={prefetch}", waited_share=trial.waited)
        if base.limit in ("decode", "unused frames", "NVDEC"):
            if (together := self._together()) is not None:
                note = "an epoch has more clips, a batch those of fewer videos"
                yield self._run_with(note, **together)
            if str(options.get("device", "cpu")) != "cpu" and not options.get("hybrid"):
                yield self._run_with("", hybrid=True)
        if self._comes_again():
            yield self._cached()

    def _run_with(self, note: str, **change: Any) -> Advice:
        text = ", ".join(f"{name}={value!r}" for name, value in change.items())
        self._tell(text)
        return self._measured(text, self._bench.run(**change), note)

    def _together(self) -> dict[str, int] | None:
        """Options by which clips of a video come together, if they may."""
        options = self._options
        count, size = options.get("clips_per_video", 1), options.get("batch_size")
        if options.get("together") or not isinstance(count, int) or size is None:
            return None
        if isinstance(self._bench.clips, DenseClips):
            return None
        group = next((group for group in (4, 2) if size % group == 0), None)
        if group is None:
            return None
        return {"together": group, "clips_per_video": -(-count // group) * group}

    def _comes_again(self) -> bool:
        """Whether a later epoch has the same clips, so that a cache of them has a use."""
        options = self._options
        if options.get("cache") or options.get("random_resized_crop"):
            return False
        if options.get("random_flip", 0) not in (0, 1) or options.get("batches"):
            return False
        for number in self._spread(_WATCHED):
            with suppress(VideoError):
                with self._videos.item(number).open() as source:
                    index = index_video(source)
                draws = (generator(draw) for draw in range(3))
                first, *others = (
                    sample_frames(self._bench.clips, index, rng=draw) for draw in draws
                )
                return all(np.array_equal(first, other) for other in others)
        return False

    def _cached(self) -> Advice:
        self._tell("cache")
        with tempfile.TemporaryDirectory(prefix="videoloader-tune-") as folder:
            filling = self._bench.run(cache=folder)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            again = self._bench.run(cache=folder, most=filling.batches)
        gigabytes = size / max(filling.work.cache_misses, 1) * len(self._videos) / 1e9
        note = f"from the second epoch on; {gigabytes:.3g} GB in the folder"
        rate = self._rate(again)
        return Advice("cache=FOLDER", rate, self._waited(rate), is_measured=True, note=note)

    def _transcoded(self, encoded: Encoded, packets: float) -> Advice:
        """The rate with transcoded files, where a clip takes this many packets.

        It is the rate of the pieces, corrected for packets and frames that their clips have more or
        fewer than those of whole files.
        """
        self._speed = self._bench.run().rate  # again, since encoding takes long
        base, trial = self._base, encoded.bench.run()
        work = trial.work
        busy = trial.each("decode_seconds") + trial.each("convert_seconds")
        more = (packets - trial.each("packets")) * work.decode_seconds / max(work.packets, 1)
        more += (base.each("used") - trial.each("used")) * work.convert_seconds / max(work.used, 1)
        rate = self._rate(trial) * max(busy, 1e-9) / max(busy + more, 1e-9)
        size = packets * work.bytes / max(work.packets, 1)
        rate = min(rate, self._storage / max(size, 1.0))
        note = (
            f"{base.each('packets'):.3g} packets a clip become {packets:.3g}, files "
            f"{encoded.growth:.2g} times as large"
        )
        small = "" if encoded.shorter is None else f", resize_shorter={encoded.shorter}"
        change = f"transcode(gop={GOP}{small})"
        return Advice(change, rate, self._waited(rate), is_measured=False, note=note)


def _drop_from_memory(item: Item) -> None:
    """Have the kernel forget what it keeps of a local file, as far as it does."""
    with suppress(OSError, VideoError), item.open() as source:
        if source.path is None:
            return
        descriptor = os.open(source.path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _is_better(each: Advice, given: Advice) -> bool:
    is_faster = each.clips_per_second > _WORTH * given.clips_per_second
    return is_faster or each.change.startswith("prefetch=")
