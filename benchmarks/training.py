"""What a training loop gets: pipelines and Loader beside the batch decoder under them.

    python benchmarks/training.py                      every kind, device cuda if there is one
    python benchmarks/training.py --video h264-360p --video mix --device cpu --batches 4
    python benchmarks/training.py --files 16 --batch-size 16 --batch-size 64 --contender Loader
    python benchmarks/training.py --out training.json  keeps what there is after every case
    python benchmarks/training.py --shared             clips of one video in one batch, and apart

Clips of 16 frames with a stride of 4 become 224x224, normalised, float16 (float32 on the CPU). All
contenders get the same files, each with pictures of its own, in one process, in turn. An epoch has
32 batches or more, with further names of these files, so no clips of a batch share a video. `mix`
has files of all kinds that NVDEC decodes, in turn. On a GPU the ceiling is NVDEC alone: packets a
second of the clips of some epochs, through its decoders, no picture touched, over the packets that
the measured clips need. That of the mix is the one of its parts one by one. `beside a step` adds a
training step on the GPU, a transformer of about 60 ms: steps a second of both together over those
of the slower of the two alone. `beside a graph` is the same with the step as one CUDA graph, which
takes next to no time of the interpreter. NVDEC alone is measured beside both steps too. Results go
into the folder that OUT names, if it does.

`torchcodec` is the loop that its users write: threads that open, decode, resize and normalise the
clips of a batch while the one before is used. The two `DataLoader`s have two workers each and give
uint8; one holds our `ClipDataset`, the other a data set of torchcodec's decoders. They run on the
CPU.

With `--shared` the contenders are loaders of four draws of each video in an epoch, and of all clips
of each video end to end. They come apart, or four of a video in one batch (`together`). Processor
time is that of this process and its workers.

Every frame of the first batch of each contender is compared with `decode_batch` on the frames that
the batch says it holds; `gpu.py` and `decoding.py` compare those with a full decode by FFmpeg. Ours
are to be equal. torchcodec's filter and conversion differ from ours by up to a few steps of 255 on
average, which is printed; beyond 6 its frames are others than those asked for.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from compiled_loop import use_it
from footage import DATA, KINDS, distinct
from gpu import gpu
from gpu_ceiling import is_decoded, measure_beside, measure_ceiling, packets_of
from gpu_contenders import THREADS, normalised, resized
from machine import RESULTS, machine, processor_time, today
from rich.console import Console
from rich.table import Table
from torch.utils.data import DataLoader, Dataset

import videoloader as vl
from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.plugin.pytorch import GenericIterator

SIDE, COUNT, STRIDE = 224, 16, 4
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
PACKAGES = ("videoloader", "torchcodec", "PyNvVideoCodec", "cupy-cuda13x", "torch", "numpy", "av")
SAMPLER = vl.RandomClip(COUNT, stride=STRIDE)
SIZE = 16  # of a batch
EPOCH = 32  # batches at least: a `Loader` decodes nothing ahead across the end of an epoch
WORKERS = 2  # of a DataLoader
SHARED = 4  # clips of a video
# Files, and clips of each, for NVDEC alone: many, since some decoders are idle when the last end.
CEILING = 8, 32
MIX = "mix"
COLUMNS = (
    *("contender", "clips/s", "of the first", "of NVDEC", "CPU ms"),
    *("beside a step", "beside a graph", "MiB", "right"),
)
OTHER_FRAMES = 6.0  # mean difference, of 255, that no filter explains

Batches = Iterator[tuple[torch.Tensor, list[int], list[list[int]]]]  # frames, files, their numbers


class Case:
    """Files, and what is made of them."""

    def __init__(self, files: list[str], device: str, batch_size: int) -> None:
        batches = max(EPOCH, -(-len(files) // batch_size))
        self.files = renamed(files, batches * batch_size)
        self.device, self.batch_size = device, batch_size
        self.dtype: Any = "float16" if device == "cuda" else "float32"

    def options(self) -> dict[str, Any]:
        return {
            "size": (SIDE, SIDE),
            "dtype": self.dtype,
            "layout": "FCHW",
            "mean": MEAN,
            "std": STD,
        }

    def plans(self) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Batch after batch of files and frame numbers, those that Loader takes."""
        indexes = [vl.index_video(path) for path in self.files]
        for epoch in itertools.count():
            for first in range(0, len(self.files), self.batch_size):
                samples = list(range(first, first + self.batch_size))
                yield samples, [numbers_of(indexes[sample], sample, epoch) for sample in samples]

    def ceiling(self, batches: int) -> float:
        """Clips a second of NVDEC alone, of those in as many batches; not a number without it."""
        if self.device == "cpu" or not all(map(is_decoded, self.files)):
            return float("nan")
        seconds = 0.0
        for samples, numbers in itertools.islice(self.plans(), batches):
            for sample, clip in zip(samples, numbers, strict=True):
                path = self.files[sample]
                seconds += len(packets_of(path, tuple(clip))) / packets_a_second(kind_of(path))
        return batches * self.batch_size / seconds

    def decode_batch(self) -> Batches:
        """Nothing is decoded ahead of the consumer."""
        for samples, numbers in self.plans():
            requests = [(self.files[s], n) for s, n in zip(samples, numbers, strict=True)]
            batch = vl.decode_batch(requests, device=self.device, **self.options())
            assert isinstance(batch.frames, torch.Tensor)
            yield batch.frames, samples, numbers

    def loader(self, dataset: Any = None, clips: vl.ClipSampler = SAMPLER, **more: Any) -> Batches:
        loader = vl.Loader(
            self.files if dataset is None else dataset,
            clips,
            batch_size=self.batch_size,
            device=self.device,
            **self.options(),
            **more,
        )
        if more:
            print(more, loader.planned_packets(20), flush=True)
        for _ in itertools.count():
            for batch in loader:
                yield batch["frames"], batch["sample"].tolist(), batch["frame_numbers"].tolist()

    def draws(self, together: bool | int = False) -> Batches:
        return self.loader(clips_per_video=SHARED, together=together, shuffle=True)

    def all_clips(self, together: bool | int = False) -> Batches:
        index = vl.index_dataset(self.files, str(DATA / "shared.parquet"))
        clips = vl.DenseClips(COUNT, stride=STRIDE)
        return self.loader(index, clips, clips_per_video="all", together=together, shuffle=True)

    def pipeline(self) -> Batches:
        device = "gpu" if self.device == "cuda" else "cpu"

        @pipeline_def(batch_size=self.batch_size, seed=0)
        def definition() -> Any:
            clips, label, numbers = fn.readers.video(
                filenames=self.files,
                labels=list(range(len(self.files))),
                sampler=SAMPLER,
                pad_mode="edge",
                device=device,
                enable_frame_num="sequence",
                name="Reader",
            )
            clips = fn.resize(clips, size=(SIDE, SIDE))
            clips = fn.crop_mirror_normalize(
                clips,
                mean=list(MEAN),
                std=list(STD),
                dtype=types.FLOAT16 if self.device == "cuda" else types.FLOAT,
            )
            return clips, label, numbers

        iterator = GenericIterator(
            definition(), ["clips", "file", "numbers"], reader_name="Reader", auto_reset=True
        )
        try:
            while True:
                for (batch,) in iterator:
                    files = batch["file"].flatten().tolist()
                    yield batch["clips"], files, batch["numbers"].tolist()
        finally:
            iterator.close()

    def torchcodec(self) -> Batches:
        from torchcodec.decoders import VideoDecoder

        def read(file: int, numbers: list[int]) -> torch.Tensor:
            path = self.files[file]
            decoder = VideoDecoder(path, seek_mode="approximate", device=self.device)
            frames = resized(decoder.get_frames_at(numbers).data)
            clip: torch.Tensor = normalised(frames)
            return clip.to(getattr(torch, self.dtype))

        threads = THREADS if self.device == "cuda" else len(os.sched_getaffinity(0))
        with ThreadPoolExecutor(threads) as pool:
            ahead: tuple[Any, ...] | None = None
            for samples, numbers in self.plans():
                clips = [pool.submit(read, *clip) for clip in zip(samples, numbers, strict=True)]
                if ahead is not None:
                    yield torch.stack([clip.result() for clip in ahead[0]]), *ahead[1:]
                ahead = clips, samples, numbers

    def clip_dataset(self) -> Batches:
        dataset = vl.ClipDataset(self.files, SAMPLER, seed=0, size=(SIDE, SIDE))
        return self._loaded(dataset, vl.EpochSampler(dataset, seed=0))

    def torchcodec_dataset(self) -> Batches:
        dataset = TorchCodecClips(self.files)
        return self._loaded(dataset, vl.EpochSampler(dataset, seed=0))

    def _loaded(self, dataset: Dataset[dict[str, Any]], sampler: Any) -> Batches:
        loader = DataLoader(
            dataset, self.batch_size, sampler=sampler, num_workers=WORKERS, persistent_workers=True
        )
        for epoch in itertools.count():
            sampler.set_epoch(epoch)
            for batch in loader:
                yield batch["frames"], batch["sample"].tolist(), batch["frame_numbers"].tolist()

    def difference(self, frames: torch.Tensor, files: list[int], numbers: list[list[int]]) -> float:
        """Mean difference, of 255, of a batch from the frames that it says it holds."""
        requests = [(self.files[file], n) for file, n in zip(files, numbers, strict=True)]
        options = self.options()
        if frames.dtype == torch.uint8:
            options = {"size": (SIDE, SIDE), "layout": "FCHW"}
        expected = vl.decode_batch(requests, device=self.device, **options).frames
        assert isinstance(expected, torch.Tensor)
        step = 1.0 if frames.dtype == torch.uint8 else statistics.mean(STD)
        return step * (frames.float() - expected.float()).abs().mean().item()


def renamed(files: list[str], count: int) -> list[str]:
    """As many files, which are other names of these where they are more."""
    paths = list(files)
    for number in range(len(files), count):
        target = Path(files[number % len(files)])
        link = target.parent.parent / "renamed" / f"{number:03}-{target.name}"
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        paths.append(str(link))
    return paths


def kind_of(path: str) -> str:
    """Which of `KINDS` a file is."""
    return Path(path).resolve().stem.partition("-")[2]


Clips = tuple[tuple[str, ...], tuple[tuple[int, ...], ...], tuple[int, int]]
"""Files, the frames of each, and their height and width."""


@cache
def ceiling_clips(kind: str) -> Clips:
    """Clips of a kind of files for NVDEC alone."""
    count, clips_of_each = CEILING
    (files,) = distinct([kind], count).values()
    index = vl.index_video(files[0])
    paths = tuple(clips_of_each * files)
    numbers = (tuple(numbers_of(index, place, 0)) for place in range(len(paths)))
    return paths, tuple(numbers), (index.height, index.width)


@cache
def packets_a_second(kind: str) -> float:
    """What NVDEC alone decodes of a kind of files."""
    return float(measure_ceiling(*ceiling_clips(kind))["value"])


def files_of(name: str, count: int, device: str) -> list[str]:
    """The files of a kind, or of the mix."""
    if name != MIX:
        return distinct([name], count)[name]
    first = {kind: some[0] for kind, some in distinct([*KINDS], 1).items()}
    kinds = [kind for kind in KINDS if device == "cpu" or is_decoded(first[kind])]
    some = distinct(kinds, -(-count // len(kinds)))
    return [path for paths in zip(*some.values(), strict=True) for path in paths][:count]


def numbers_of(index: vl.VideoIndex, sample: int, epoch: int) -> list[int]:
    """The frames of a sample in an epoch."""
    rng = vl.sampling.generator(0, sample=sample, epoch=epoch)
    numbers: list[int] = vl.sampling.sample_frames(SAMPLER, index, rng=rng).tolist()
    return numbers


class TorchCodecClips(Dataset[dict[str, Any]]):
    """A data set of clips by torchcodec, one thread a decoder."""

    def __init__(self, files: list[str]) -> None:
        self._files = files
        self._index = vl.index_video(files[0])

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, draw: vl.sampling.Draw) -> dict[str, Any]:
        from torchcodec.decoders import VideoDecoder

        numbers = numbers_of(self._index, draw.sample, draw.epoch)
        decoder = VideoDecoder(
            self._files[draw.sample], seek_mode="approximate", num_ffmpeg_threads=1
        )
        frames = resized(decoder.get_frames_at(numbers).data).round().clamp(0, 255).byte()
        return {"frames": frames, "sample": draw.sample, "frame_numbers": torch.tensor(numbers)}


CONTENDERS: dict[str, Callable[[Case], Batches]] = {
    "decode_batch": Case.decode_batch,
    "Loader": Case.loader,
    "pipeline": Case.pipeline,
    "torchcodec": Case.torchcodec,
    "ClipDataset in a DataLoader": Case.clip_dataset,
    "torchcodec in a DataLoader": Case.torchcodec_dataset,
}
SHARING: dict[str, Callable[[Case], Batches]] = {
    "draws apart": Case.draws,
    "draws together": partial(Case.draws, together=SHARED),
    "all clips apart": Case.all_clips,
    "all clips together": partial(Case.all_clips, together=SHARED),
}
ON_THE_CPU = {"ClipDataset in a DataLoader", "torchcodec in a DataLoader"}


def contenders(device: str) -> list[str]:
    """Those that run here."""
    there = importlib.util.find_spec("torchcodec") is not None
    return [
        name
        for name in CONTENDERS
        if (there or "torchcodec" not in name) and (device == "cpu" or name not in ON_THE_CPU)
    ]


Step = Callable[[torch.Tensor | None], None]


def training_steps() -> dict[str, Step]:
    """A transformer forward and backward, about 60 ms on an H200: as code, and as a CUDA graph."""
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda().bfloat16()
    tokens = torch.randn(16, 784, 1024, device="cuda", dtype=torch.bfloat16)
    extra = torch.zeros((), device="cuda", dtype=torch.bfloat16)

    def work() -> None:
        model(tokens + extra).float().square().mean().backward()
        model.zero_grad()

    def stepping(run: Callable[[], None]) -> Step:
        def step(frames: torch.Tensor | None) -> None:
            if frames is not None:
                extra.copy_(frames.flatten()[0])
            run()
            torch.cuda.current_stream().synchronize()

        return step

    stream: Any = torch.cuda.Stream
    with torch.cuda.stream(stream()):  # as graphs want it
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return {"beside_a_step": stepping(work), "beside_a_graph": stepping(graph.replay)}


def seconds_a_batch(
    batches: Batches, count: int, repetitions: int, step: Callable[..., None] | None = None
) -> float:
    """Median over repetitions of `count` batches in a row."""
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        for frames, _, _ in itertools.islice(batches, count):
            if step is not None:
                step(frames)
            elif frames.is_cuda:
                torch.cuda.current_stream().synchronize()
        times.append((time.perf_counter() - begin) / count)
    return statistics.median(times)


def measure(
    case: Case, name: str, count: int, repetitions: int, steps: dict[str, Step]
) -> dict[str, Any]:
    """What a contender does with `count` batches at a time, beside steps, and alone around them."""
    if case.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_reserved()
    batches = (CONTENDERS | SHARING)[name](case)
    difference = case.difference(*next(batches))
    right = difference <= (OTHER_FRAMES if "torchcodec" in name else 0.0)
    for _ in itertools.islice(batches, EPOCH):
        pass
    used = processor_time()
    first = seconds_a_batch(batches, count, repetitions)
    clips = case.batch_size * count * repetitions
    found = {
        "processor_ms_a_clip": 1000 * (processor_time() - used) / clips,
        "right": right,
        "mean_difference": difference,
    }
    if case.device == "cuda":  # of the batches, without the model
        found["gpu_memory_mib"] = (torch.cuda.max_memory_reserved() - before) / 2**20
    both: dict[str, tuple[float, float]] = {}
    for kind, step in steps.items():
        for _ in range(3):
            step(None)
        begin = time.perf_counter()
        for _ in range(10):
            step(None)
        single = (time.perf_counter() - begin) / 10
        both[kind] = single, seconds_a_batch(batches, count, 3, step)
    # Again, as more is known of the files by now, and machines drift.
    alone = min(first, seconds_a_batch(batches, count, repetitions)) if steps else first
    found["clips_per_second"] = case.batch_size / alone
    for kind, (single, beside) in both.items():
        found |= {"step_ms": 1000 * single, kind: max(single, alone) / beside}
    batches.close()  # type: ignore[attr-defined]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--video", choices=[*KINDS, MIX], action="append")
    parser.add_argument("--contender", choices=[*CONTENDERS, *SHARING], action="append")
    parser.add_argument("--shared", action="store_true", help="loaders of several clips of a video")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--files", type=int, default=48)
    parser.add_argument("--batch-size", type=int, action="append")
    parser.add_argument("--batches", type=int, default=14, help="timed at a time; of 16 clips")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--compiled", action="store_true", help="as compiled_loop.py says")
    parser.add_argument("--no-step", action="store_true", help="leave out the training step")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.compiled:
        use_it()
    kind = "shared-clips" if arguments.shared else "training"
    folder = Path(os.environ.get("OUT", RESULTS))
    out = arguments.out or folder / f"{kind}-{today()}.json"
    names = arguments.video or [*KINDS, MIX]
    distinct([name for name in names if name != MIX], arguments.files)  # all at once
    steps = {} if arguments.device == "cpu" or arguments.no_step else training_steps()
    several = [*SHARING] if arguments.shared else contenders(arguments.device)
    results: dict[str, Any] = {}
    for name, size in itertools.product(names, arguments.batch_size or [SIZE]):
        case = Case(files_of(name, arguments.files, arguments.device), arguments.device, size)
        batches = max(1, arguments.batches * SIZE // size)
        ceiling = case.ceiling(batches * arguments.repetitions)
        row = name if size == SIZE else f"{name}, batches of {size}"
        found: dict[str, Any] = {}
        if ceiling > 0:
            found["NVDEC alone"] = {"clips_per_second": ceiling}
            for beside, step in steps.items() if name != MIX else ():
                share = measure_beside(*ceiling_clips(name), size, partial(step, None))
                found["NVDEC alone"][beside] = share
                print(row, "NVDEC alone", beside, f"{share:.2f}", flush=True)
        results[row] = found
        for contender in arguments.contender or several:
            found[contender] = measure(case, contender, batches, arguments.repetitions, steps)
            print(row, contender, found[contender], flush=True)
            facts = {**machine(PACKAGES), **gpu()}
            report = {"benchmark": kind, "run": facts, "results": results}
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(report, indent=1) + "\n")
        Console(width=120).print(table_of(f"{row}, {arguments.device}", found, ceiling))


def table_of(title: str, found: dict[str, Any], ceiling: float) -> Table:
    """What the contenders did, one in a row."""
    table = Table(title=f"{title}, NVDEC alone {ceiling:.1f} clips/s")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    ours = {name: one for name, one in found.items() if name in CONTENDERS | SHARING}
    first = next(iter(ours.values()))["clips_per_second"]
    for contender, one in ours.items():
        rate, missing = one["clips_per_second"], float("nan")
        table.add_row(
            contender,
            f"{rate:.1f}",
            f"{rate / first:.2f}",
            f"{rate / ceiling:.2f}",
            f"{one['processor_ms_a_clip']:.1f}",
            f"{one.get('beside_a_step', missing):.2f}",
            f"{one.get('beside_a_graph', missing):.2f}",
            f"{one.get('gpu_memory_mib', missing):.0f}",
            str(one["right"]),
        )
    return table


if __name__ == "__main__":
    main()
