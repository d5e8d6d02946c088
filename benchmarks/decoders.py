"""Who decodes what on the CPU: ourselves, our peers, and the floor that no one can be under.

Each contender is used as its documentation advises: the file is opened in the measured time, all
frames are asked for in one call where there is one, in ascending order where that is faster, with
as many threads as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

THREADS = 2
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
OURS = "videoloader"
NEEDED = "floor, needed packets"
EVERY = "floor, every packet"

Consume = Callable[[int, Any], None]


@dataclass(frozen=True, slots=True)
class Job:
    """What is wanted.

    Attributes:
        paths: one video, or many short ones with one clip each.
        clips: frame numbers of each clip; none for a whole file, frame by frame.
        size: both sides of the result, which is then float32 (F, C, H, W), normalised; None for
            uint8 of the video's size, in the contender's own layout.
        chunk: frames of each call on one open video, where the whole file is wanted; None for
            the contender's own way to go through it frame by frame.
    """

    paths: tuple[str, ...]
    clips: tuple[tuple[int, ...], ...]
    size: int | None = None
    chunk: int | None = None

    @property
    def is_many(self) -> bool:
        return len(self.paths) > 1

    @property
    def flat(self) -> NDArray[np.int64]:
        return np.array([number for clip in self.clips for number in clip], dtype=np.int64)


class Contender:
    """`decode` gives uint8 frames in the order asked for, `layout` says how they lie."""

    layout = "FHWC"

    def load(self) -> None:
        """Import the library, before anything is measured."""
        raise NotImplementedError

    def decode(self, path: str, numbers: NDArray[np.int64], size: int | None, threads: int) -> Any:
        raise NotImplementedError

    def stream(self, path: str) -> Iterator[Any]:
        """All frames (H, W, C) or (C, H, W), one after the other."""
        raise NotImplementedError

    def in_chunks(self, path: str, count: int) -> Iterator[Any]:
        """All frames, so many of them in one array; by hand where a library has no call for it."""
        chunk: Any = None
        for number, picture in enumerate(self.stream(path)):
            place = number % count
            if not place and number:
                yield from chunk
            if not place:
                chunk = np.empty((count, *picture.shape), np.uint8)
            chunk[place] = picture
        yield from chunk[: place + 1]

    def prepare(self, job: Job) -> None:
        """What may be known before the clock runs."""

    def run(self, job: Job, consume: Consume) -> list[Any] | None:
        """Do the job: the clips, or None where frames went to `consume` one by one."""
        if not job.clips:
            path, count = job.paths[0], job.chunk
            frames = self.stream(path) if count is None else self.in_chunks(path, count)
            for number, picture in enumerate(frames):
                consume(number, picture)
            return None
        if job.is_many:
            return self.run_many(job)
        frames = self.decode(job.paths[0], job.flat, job.size, THREADS)
        return split(self.finish(frames, job.size), job)

    def run_many(self, job: Job) -> list[Any]:
        """Short files in a DataLoader's two processes, as training does it."""
        return list(self._loader(job))

    def finish(self, frames: Any, size: int | None) -> Any:
        """Normalised float32 (F, C, H, W) where a size was asked for."""
        import torch

        if size is None:
            return frames
        if self.layout == "FHWC":
            frames = frames.permute(0, 3, 1, 2)
        frames = frames.to(torch.float32, memory_format=torch.contiguous_format)
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in (MEAN, STD))
        return frames.sub_(mean).div_(std)

    def _loader(self, job: Job) -> Any:
        from torch.utils.data import DataLoader, Dataset

        contender = self

        class Files(Dataset[Any]):
            def __len__(self) -> int:
                return len(job.paths)

            def __getitem__(self, place: int) -> Any:
                numbers = np.array(job.clips[place])
                return contender.decode(job.paths[place], numbers, job.size, 1)

        if not hasattr(self, "_workers"):
            self._workers = DataLoader(
                Files(), batch_size=None, num_workers=2, persistent_workers=True
            )
        return self._workers


def split(frames: Any, job: Job) -> list[Any]:
    """The clips as views of all frames."""
    ends = np.cumsum([len(clip) for clip in job.clips]).tolist()
    return [frames[end - len(clip) : end] for clip, end in zip(job.clips, ends, strict=True)]


class Ours(Contender):
    def load(self) -> None:
        import torch  # noqa: F401

        import videoloader

        videoloader.Video  # noqa: B018  (imports what it needs)
        self._batches = hasattr(videoloader, "decode_batch")

    def decode(self, path: str, numbers: NDArray[np.int64], size: int | None, threads: int) -> Any:
        import videoloader as vl

        with vl.Video(path, threads=threads) as video:
            return video.get_frames(numbers, size=size).frames

    def stream(self, path: str) -> Iterator[Any]:
        import videoloader as vl

        with vl.Video(path, threads=THREADS) as video:
            yield from video

    def in_chunks(self, path: str, count: int) -> Iterator[Any]:
        import videoloader as vl

        with vl.Video(path, threads=THREADS) as video:
            for start in range(0, len(video), count):
                stop = min(start + count, len(video))
                yield from video.get_frames(start=start, stop=stop).frames

    def run(self, job: Job, consume: Consume) -> list[Any] | None:
        if not self._batches or not job.clips:
            return super().run(job, consume)
        paths = job.paths if job.is_many else job.paths * len(job.clips)
        requests = list(zip(paths, job.clips, strict=True))
        batch = 20 if job.is_many else len(requests)
        clips: list[Any] = []
        for first in range(0, len(requests), batch):
            clips += self._batch(requests[first : first + batch], job.size)
        return clips

    def _batch(self, requests: list[tuple[str, tuple[int, ...]]], size: int | None) -> list[Any]:
        import videoloader

        vl: Any = videoloader
        form: dict[str, Any] = {}
        if size is not None:
            form = {"size": size, "dtype": "float32", "layout": "FCHW", "mean": MEAN, "std": STD}
        wanted = [vl.ClipRequest(path, frames=list(frames)) for path, frames in requests]
        return list(vl.decode_batch(wanted, device="cpu", workers=THREADS, **form).frames)


class TorchCodec(Contender):
    layout = "FCHW"

    def __init__(self, seek_mode: str) -> None:
        self._seek_mode = seek_mode

    def load(self) -> None:
        import torchcodec.decoders  # noqa: F401

    def _open(self, path: str, size: int | None, threads: int) -> Any:
        from torchcodec.decoders import VideoDecoder
        from torchcodec.transforms import Resize

        transforms = None if size is None else [Resize((size, size))]
        return VideoDecoder(
            path, seek_mode=self._seek_mode, num_ffmpeg_threads=threads, transforms=transforms
        )

    def decode(self, path: str, numbers: NDArray[np.int64], size: int | None, threads: int) -> Any:
        return self._open(path, size, threads).get_frames_at(numbers.tolist()).data

    def stream(self, path: str) -> Iterator[Any]:
        yield from self._open(path, None, THREADS)

    def in_chunks(self, path: str, count: int) -> Iterator[Any]:
        decoder = self._open(path, None, THREADS)
        for start in range(0, len(decoder), count):
            stop = min(start + count, len(decoder))
            yield from decoder.get_frames_in_range(start, stop).data


class Decord(Contender):
    def load(self) -> None:
        import decord
        import torch  # noqa: F401

        decord.bridge.set_bridge("torch")

    def _open(self, path: str, size: int | None, threads: int) -> Any:
        import decord

        side = -1 if size is None else size
        return decord.VideoReader(path, num_threads=threads, width=side, height=side)

    def decode(self, path: str, numbers: NDArray[np.int64], size: int | None, threads: int) -> Any:
        distinct, places = np.unique(numbers, return_inverse=True)
        frames = self._open(path, size, threads).get_batch(distinct.tolist())
        return frames if np.array_equal(distinct, numbers) else frames[places.tolist()]

    def stream(self, path: str) -> Iterator[Any]:
        yield from self._open(path, None, THREADS)

    def in_chunks(self, path: str, count: int) -> Iterator[Any]:
        reader = self._open(path, None, THREADS)
        for start in range(0, len(reader), count):
            yield from reader.get_batch(range(start, min(start + count, len(reader))))


class ByHand(Contender):
    """A loop over decoded pictures that writes those that are wanted into one tensor."""

    def decode(self, path: str, numbers: NDArray[np.int64], size: int | None, threads: int) -> Any:
        import torch

        places: dict[int, list[int]] = {}
        for place, number in enumerate(numbers.tolist()):
            places.setdefault(number, []).append(place)
        frames: Any = None
        for number, picture in self.pick(path, sorted(places), size, threads):
            if frames is None:
                frames = np.empty((len(numbers), *picture.shape), np.uint8)
            for place in places[number]:
                frames[place] = picture
        return torch.from_numpy(frames)

    def pick(
        self, path: str, wanted: list[int], size: int | None, threads: int
    ) -> Iterator[tuple[int, Any]]:
        raise NotImplementedError


class PyAV(ByHand):
    """Seeks where the stream's own index says that a keyframe lies in between."""

    def load(self) -> None:
        import av  # noqa: F401
        import torch  # noqa: F401

    def _open(self, path: str, threads: int) -> Any:
        import av

        container = av.open(path)
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        stream.thread_count = threads
        return container, stream

    def pick(
        self, path: str, wanted: list[int], size: int | None, threads: int
    ) -> Iterator[tuple[int, Any]]:
        from av.video.reformatter import VideoReformatter

        reformatter = VideoReformatter()
        container, stream = self._open(path, threads)
        with container:
            ticks = 1 / (stream.average_rate * stream.time_base)
            start = stream.start_time or 0
            pts = [start + round(number * ticks) for number in wanted]
            waiting = dict(zip(pts, wanted, strict=True))
            container.seek(pts[0], stream=stream)
            keys = [entry.timestamp for entry in stream.index_entries if entry.is_keyframe]
            place = pts[0]
            while waiting:
                target = min(waiting)
                key = max((k for k in keys if k <= target), default=0)
                if key > place:
                    container.seek(target, stream=stream)
                for frame in container.decode(stream):
                    place = frame.pts
                    number = waiting.pop(frame.pts, None)
                    if number is None:
                        continue
                    side = size or 0
                    rgb = reformatter.reformat(
                        frame,
                        width=side or frame.width,
                        height=side or frame.height,
                        format="rgb24",
                        threads=threads,
                    )
                    yield number, rgb.to_ndarray()
                    if not waiting or _skips(keys, place, min(waiting)):
                        break
                else:
                    return

    def stream(self, path: str) -> Iterator[Any]:
        container, stream = self._open(path, THREADS)
        with container:
            for frame in container.decode(stream):
                yield frame.to_ndarray(format="rgb24")


def _skips(keys: list[int], place: int, target: int) -> bool:
    """Whether a keyframe lies well after the place reached and at or before the target."""
    return any(place < key <= target for key in keys)


class OpenCV(ByHand):
    def load(self) -> None:
        import cv2
        import torch  # noqa: F401

        cv2.setNumThreads(THREADS)

    def _open(self, path: str, threads: int) -> Any:
        import cv2

        return cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, threads])

    def pick(
        self, path: str, wanted: list[int], size: int | None, threads: int
    ) -> Iterator[tuple[int, Any]]:
        import cv2

        capture = self._open(path, threads)
        if wanted[0] > 0:
            capture.set(cv2.CAP_PROP_POS_FRAMES, wanted[0])
        following = wanted[0]
        for number in wanted:
            while following < number:
                capture.grab()
                following += 1
            there, picture = capture.read()
            following += 1
            if not there:
                raise ValueError(f"no frame {number}")
            if size is not None:
                picture = cv2.resize(picture, (size, size))
            yield number, cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)

    def stream(self, path: str) -> Iterator[Any]:
        import cv2

        capture = self._open(path, THREADS)
        while True:
            there, picture = capture.read()
            if not there:
                return
            yield cv2.cvtColor(picture, cv2.COLOR_BGR2RGB, dst=picture)


class Floor(Contender):
    """The bare decoding of packets that are known beforehand: no conversion, no copy.

    Args:
        drop: leave out the disposable packets, as we do; otherwise every packet from the keyframe
            to the last wanted frame is decoded, as peers do.
    """

    def __init__(self, *, drop: bool) -> None:
        self._drop = drop

    def load(self) -> None:
        import av  # noqa: F401

        import videoloader  # noqa: F401

    def prepare(self, job: Job) -> None:
        from videoloader import index_video
        from videoloader.sampling import plan_decode

        for place, path in enumerate(job.paths):
            index = index_video(path, headers=self._drop)
            clip = job.clips[place] if job.is_many else job.flat
            frames = clip if job.clips else range(index.num_frames)
            _PLANS[path] = (index, plan_decode(index, frames))

    def run(self, job: Job, consume: Consume) -> list[Any] | None:  # noqa: ARG002
        if not job.is_many:
            _decode_plan(job.paths[0], THREADS)
            return None
        if not hasattr(self, "_pool"):
            import multiprocessing

            self._pool = multiprocessing.get_context("fork").Pool(THREADS)
        self._pool.map(_decode_plan, job.paths, chunksize=5)
        return None


_PLANS: dict[str, Any] = {}  # index and plan of each path; processes that are forked have them too


def _decode_plan(path: str, threads: int = 1) -> None:
    from videoloader.decoding.cpu.frame_decoder import CpuDecoder
    from videoloader.sources.opening import open_source

    index, plan = _PLANS[path]
    source = open_source(path)
    for _ in CpuDecoder(index, source, threads=threads, drop="nothing").decode(plan):
        pass
    source.close()


CONTENDERS: dict[str, Contender] = {
    OURS: Ours(),
    "torchcodec, approx.": TorchCodec("approximate"),
    "torchcodec, exact": TorchCodec("exact"),
    "decord2": Decord(),
    "PyAV by hand": PyAV(),
    "OpenCV": OpenCV(),
    NEEDED: Floor(drop=True),
    EVERY: Floor(drop=False),
}
