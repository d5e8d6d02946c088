"""A long run of `Loader`: damaged files, killed workers, restores. Run by `make soak`.

    python tests/soak.py [--samples 200000]

One file in a hundred is damaged, a worker process is killed every thousand samples or so, and the
run is stopped and restored three times, with other batch sizes and numbers of ranks. Every good
sample must come once in each epoch, with the frames that it says. Every damaged one must be told,
and nothing may be left: no process, thread, descriptor or shared memory. In runs that are long
enough to tell (40,000 samples), memory must not grow by 5 % from their second part to the last.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from child_processes import children, state_of

import videoloader as vl
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.demo.videos import encode_video, read_frame_number

FILES, WORKERS, ORIGINALS = 10_000, 2, 20
GROWTH, LONG_ENOUGH = 0.05, 4 * FILES  # the first epoch fills the caches of indexes
PARTS = ((1, 16), (2, 8), (3, 8), (2, 8))  # ranks, batch size: before and after each restore


def make_files(folder, count):
    """Paths of as many files, copies of a few, and which of them are damaged."""
    good = [
        encode_video(folder / f"good{n}.mp4", frames=8 + n % 5, size=(64, 64))
        for n in range(ORIGINALS)
    ]
    data = good[0].read_bytes()
    start = data.index(b"mdat") + 4
    damage = {
        "empty": b"",
        "noise": random.Random(1).randbytes(3000),
        "head": data[:100],
        "zeros": data[:start] + bytes(len(data) - start),
        "cut": data[: start + 40],
    }
    bad = [folder / f"bad-{name}.mp4" for name in damage]
    for path, data in zip(bad, damage.values(), strict=True):
        path.write_bytes(data)
    paths, damaged = [], set()
    (folder / "all").mkdir()
    content = {path: path.read_bytes() for path in [*good, *bad]}
    for number in range(count):
        is_damaged = number % 100 == 37
        original = bad[number // 100 % len(bad)] if is_damaged else good[number % ORIGINALS]
        path = folder / "all" / f"{number:07}.mp4"
        path.write_bytes(content[original])
        paths.append(str(path))
        if is_damaged:
            damaged.add(number)
    return paths, damaged


class Killer(threading.Thread):
    """Kills a process that this one started whenever about so many more samples are done.

    A clip whose workers die twice is lost by intention, so what a kill hit must be done before the
    next one: `every` is several times what is on its way.
    """

    def __init__(self, run, every, spared):
        super().__init__(daemon=True)
        self.kills = 0
        self._run, self._every, self._spared = run, every, spared
        self._end = threading.Event()

    def run(self):
        draw = random.Random(2)
        due = self._every / 2
        while not self._end.wait(0.02):
            running = [pid for pid in children() - self._spared if state_of(pid) != "Z"]
            if self._run.done >= due and running:
                os.kill(draw.choice(running), signal.SIGKILL)
                self.kills += 1
                due = self._run.done + draw.uniform(0.5, 1.5) * self._every

    def close(self):
        self._end.set()
        self.join()


def memory():
    """Bytes of this process and its workers, what they share counted once.

    Without pages of files: programs of others share those of the libraries, and come and go.
    """
    total = 0
    for pid in (os.getpid(), *children()):
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        kinds = ("Pss_Anon:", "Pss_Shmem:")
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(kinds))
    return total << 10


def held():
    """What must not be left: processes, threads, descriptors, files of shared memory."""
    gc.collect()
    shared = {name for name in os.listdir("/dev/shm") if str(os.getpid()) in name}
    return children(), threading.active_count(), len(os.listdir("/proc/self/fd")), shared


class Run:
    """What came so far."""

    def __init__(self, paths, epochs):
        self.paths = paths
        self.seen = [Counter() for _ in range(epochs)]
        self.failed = [Counter() for _ in range(epochs)]
        self.done = 0
        self.memory = []  # samples done, bytes
        self.state = None
        self._noted = 0.0

    def go_on(self, ranks, batch_size, stop):
        """Take batches of all ranks, step by step, until `stop` samples are done or all are."""
        loaders = [self._loader(rank, ranks, batch_size) for rank in range(ranks)]
        try:
            while loaders[0].next_epoch < len(self.seen):
                epoch = loaders[0].next_epoch
                for _ in self._steps(loaders, epoch):
                    states = {str(loader.state_dict()) for loader in loaders}
                    assert len(states) == 1 or loaders[0].state_dict()["epoch"] > epoch, states
                    self.state = loaders[0].state_dict()
                    if self.done >= stop:
                        return
        finally:
            for loader in loaders:
                for failure in loader.failures:
                    self.failed[failure.epoch][failure.sample] += 1
                loader.close()

    def _loader(self, rank, ranks, batch_size):
        loader = vl.Loader(
            self.paths,
            vl.RandomClip(2),
            batch_size=batch_size,
            shuffle=True,
            seed=3,
            rank=rank,
            num_ranks=ranks,
            remainder="keep",
            on_error="skip",
            workers=WORKERS,
            layout="FHWC",
        )
        if self.state is not None:
            loader.load_state_dict(self.state)
        return loader

    def _steps(self, loaders, epoch):
        """One step of every rank at a time."""
        iterators = [iter(loader) for loader in loaders]
        while iterators:
            for iterator in list(iterators):
                batch = next(iterator, None)
                if batch is None:
                    iterators.remove(iterator)
                    continue
                self._check(batch, epoch)
            yield

    def _check(self, batch, epoch):
        self.seen[epoch].update(batch["sample"].tolist())
        self.done += len(batch["sample"])
        shown = [read_frame_number(frame.numpy()) for frame in batch["frames"][0]]
        assert shown == batch["frame_numbers"][0].tolist(), "a wrong frame"
        if time.monotonic() - self._noted > 0.5:
            self._noted = time.monotonic()
            self.memory.append((self.done, memory()))


def growth(readings, total):
    """Of memory from the second part of a run to the last, which is like it: share, and both."""
    early = [size for done, size in readings if 0.25 * total <= done < 0.4 * total]
    late = [size for done, size in readings if done >= 0.75 * total]
    first, last = statistics.median(early), statistics.median(late)
    return last / first - 1, first, last


def check(run, size, damaged):
    """Every good sample came once in each epoch, and the failure of each other was told."""
    good = set(range(size)) - damaged
    for epoch, (seen, failed) in enumerate(zip(run.seen, run.failed, strict=True)):
        lost, besides = sorted(good - set(seen))[:9], sorted(set(seen) - good)[:9]
        assert not lost, f"epoch {epoch}: lost {lost}"
        assert not besides, f"epoch {epoch}: damaged, but decoded: {besides}"
        assert set(seen.values()) == {1}, f"epoch {epoch}: samples came twice"
        assert set(failed) == damaged, f"epoch {epoch}: {set(failed) ^ damaged} failed or not"


def check_nothing_is_left(before):
    """What was held before is held now; threads that end take a moment."""
    for _ in range(50):
        after = held()
        if after == before:
            return
        time.sleep(0.1)
    raise AssertionError(f"left behind: {after}, before {before}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=200_000, help="over all epochs")
    parser.add_argument("--kill-every", type=int, default=1000, help="samples, at least 300")
    arguments = parser.parse_args()
    size = min(FILES, arguments.samples // 2)
    epochs = arguments.samples // size
    total = size * epochs
    before = held()
    with tempfile.TemporaryDirectory() as folder:
        paths, damaged = make_files(Path(folder), size)
        run, begin = Run(paths, epochs), time.monotonic()
        killer = Killer(run, arguments.kill_every, before[0])
        killer.start()
        draw = random.Random(4)
        try:
            for number, (ranks, batch_size) in enumerate(PARTS, 1):
                stop = (number - draw.uniform(0.1, 0.4)) * total / len(PARTS)
                run.go_on(ranks, batch_size, stop if number < len(PARTS) else 2 * total)
        finally:
            killer.close()
            shared_decoder("cpu", WORKERS).close()
        seconds = time.monotonic() - begin
    check(run, size, damaged)
    check_nothing_is_left(before)
    sys.stdout.write(
        f"{run.done} samples of {epochs} epochs in {seconds:.0f} s, {killer.kills} workers killed, "
        f"{len(PARTS) - 1} restores, {epochs * len(damaged)} failures told, nothing left behind\n"
    )
    if total >= LONG_ENOUGH:
        grown, first, last = growth(run.memory, total)
        sys.stdout.write(f"memory: {first / 1e6:.0f} to {last / 1e6:.0f} MB ({grown:+.1%})\n")
        assert grown < GROWTH, f"memory grew by {grown:.1%}"


if __name__ == "__main__":
    main()
