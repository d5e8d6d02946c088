"""The diagrams of "How it works": each is drawn from what the library does with generated clips."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

import videoloader as vl
from making.svg import WIDTH, Drawing
from videoloader.demo.videos import encode_video
from videoloader.machinery.runtime.stage_thread import Stage
from videoloader.machinery.runtime.stages import StageRunner
from videoloader.sampling import BatchOrder
from videoloader.sampling.orders.sample_order import SampleOrder

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "how" / "made"
GOP = {"x264-params": "threads=1:no-mbtree=1:keyint=24:min-keyint=24:scenecut=0:bframes=3"}
FLAGS = vl.indexing.PacketFlags
ENGINES = 7  # of an H200


def order_of_packets(folder: Path) -> Drawing:
    """Packets as they lie in the file, joined to the frames in the order of display."""
    path = encode_video(folder / "order.mp4", size=(320, 180), frames=36, options=GOP)
    index = vl.index_video(path, headers=True)
    packets, step = index.packets, (WIDTH - 20) / len(index.packets)
    drawing = Drawing(300, "Packets in decode order, joined to frames in presentation order")
    drawing.text(0, 14, "packets, in the order of the file; heights are sizes")
    tallest = packets["size"].max()
    for number, packet in enumerate(packets):
        kind = "kept" if packet["flags"] & FLAGS.KEY else "fed"
        kind = "out" if packet["flags"] & FLAGS.DISPOSABLE else kind
        height = 8 + 80 * np.sqrt(packet["size"] / tallest)
        title = f"packet {number}: {packet['size']} bytes at {packet['offset']}"
        drawing.box(10 + number * step, 120 - height, step - 3, height, kind, title)
    middle = 10 + (step - 3) / 2
    for frame, packet in enumerate(index.frame_packets):
        drawing.line(middle + packet * step, 122, middle + frame * step, 208)
        drawing.text(middle + frame * step, 224, str(frame), anchor="middle", kind="small")
    drawing.text(0, 248, "frames, in the order in which they are shown")
    names = {"kept": "keyframe", "fed": "others refer to it", "out": "disposable"}
    drawing.legend(284, names)
    return drawing


def plans(folder: Path) -> Drawing:
    """Which packets are decoded for five wishes."""
    path = encode_video(folder / "plan.mp4", size=(320, 180), frames=96, options=GOP)
    index = vl.index_video(path, headers=True)
    wishes = {
        "frame 41": [41],
        "frames 30 to 45": range(30, 46),
        "every 8th frame": range(4, 96, 8),
        "4 clips of 4 frames": [*range(6, 10), *range(32, 36), *range(50, 54), *range(81, 85)],
        "all frames": range(96),
    }
    step = (WIDTH - 270) / len(index.packets)
    drawing = Drawing(44 * len(wishes) + 30, "Packets that are decoded for five requests")
    for row, (name, frames) in enumerate(wishes.items()):
        plan = vl.sampling.plan_decode(index, frames)
        fed = np.unique(np.concatenate([run.packets for run in plan]))
        kept = index.frame_packets[list(frames)]
        drawing.text(0, 44 * row + 20, name)
        for number in range(len(index.packets)):
            kind = "kept" if number in kept else "fed" if number in fed else "out"
            drawing.box(150 + number * step, 44 * row + 2, step - 1, 26, kind)
        text = f"{len(fed)} of {len(index.packets)}"
        drawing.text(WIDTH, 44 * row + 20, text, anchor="end")
    names = {"kept": "requested frame", "fed": "needed for one", "out": "never decoded"}
    drawing.legend(44 * len(wishes) + 18, names)
    return drawing


def engines(folder: Path) -> Drawing:
    """The runs of a batch, longest first, each taken by the engine that is free first."""
    path = encode_video(folder / "runs.mp4", size=(320, 180), frames=240, options=GOP)
    index, sampler = vl.index_video(path, headers=True), vl.RandomClip(12, stride=4)
    lengths = []
    for video in range(8):
        generator = vl.sampling.generator(0, sample=video)
        frames = vl.sampling.sample_frames(sampler, index, rng=generator)
        plan = vl.sampling.plan_decode(index, frames)
        lengths += [(len(run.packets), video) for run in plan]
    one = sum(length for length, _ in lengths)
    ends = [0.0] * ENGINES
    drawing = Drawing(26 * ENGINES + 66, "Runs of 8 clips on 7 decoding engines")
    placed: list[tuple[int, float, int, int]] = []
    for length, video in sorted(lengths, reverse=True):
        engine = int(np.argmin(ends))
        placed.append((engine, ends[engine], length, video))
        ends[engine] += length
    scale = (WIDTH - 90) / max(ends)
    for engine in range(ENGINES):
        drawing.text(0, 26 * engine + 16, f"engine {engine}")
    for engine, begin, length, video in placed:
        place = (80 + begin * scale, 26 * engine + 2)
        drawing.box(
            *place, length * scale - 2, 20, f"hue{video}", f"clip {video}: {length} packets"
        )
        drawing.text(place[0] + 4, place[1] + 14, str(video), kind="on")
    drawing.text(80, 26 * ENGINES + 24, f"{len(lengths)} runs of 8 clips, {one} packets in all; ")
    text = f"the busiest engine decodes {max(ends):.0f} of them, one session alone all {one}"
    drawing.text(80, 26 * ENGINES + 46, text)
    return drawing


def conversion(folder: Path) -> Drawing:
    """The planes of a decoded frame, the part of them that is read, and what is written."""
    path = encode_video(folder / "planes.mp4", size=(320, 180), frames=31, options=GOP)
    top, left, height, width = crop = (20, 120, 150, 150)
    with vl.Video(path) as video:
        _, surface = next(iter(video.decode([30])))
        planes = [np.array(plane) for plane in surface.planes]
    request = vl.ClipRequest(path, [30], crop=crop, size=(112, 112), flip=True)
    with vl.BatchDecoder(workers=0) as decoder:
        result = decoder.decode([request]).clips[0].frames[0].numpy()
    drawing = Drawing(310, "Planes of a frame, and the picture made of them")
    for number, plane in enumerate(planes):
        part = 2 if number else 1  # chroma has half the width and height
        x, y = (0, 24) if not number else (170 * (number - 1), 214)
        drawing.image(x, y, 320 / part, 180 / part, png(plane))
        drawing.frame(x + left / part, y + top / part, width / part, height / part)
    drawing.text(0, 14, "decoded: Y 180x320, U and V 90x160")
    steps = (
        f"read the crop of {height}x{width} pixels",
        "weigh those that an output pixel covers (triangular filter)",
        "Y'CbCr to RGB: the matrix and range of the stream",
        "mirror",
        "(x - mean) / std, cast to the element type",
        "write to its place in the batch, in its layout",
    )
    for row, step in enumerate(steps):
        drawing.text(350, 60 + 24 * row, f"{row + 1}.  {step}")
    drawing.image(768, 50, 112, 112, png(result[..., ::-1]))
    drawing.text(880, 182, "112x112 in the batch", anchor="end")
    return drawing


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A picture, BGR or grey, as a file."""
    return cv2.imencode(".png", pixels)[1].tobytes()


def stages(_: Path) -> Drawing:
    """Three stages that overlap, and a consumer that is sometimes slower: a trace of a run."""
    spans: list[tuple[str, int, float, float]] = []
    lock = threading.Lock()

    def lasting(name: str, seconds: Sequence[float]) -> Callable[..., int]:
        def work(item: int, _: object = None) -> int:
            begin = time.perf_counter()
            time.sleep(seconds[item % len(seconds)])
            with lock:
                spans.append((name, item, begin, time.perf_counter()))
            return item

        return work

    parts = {"choose clips": (0.01,), "decode": (0.06, 0.06, 0.12), "augment": (0.03,)}
    runner = StageRunner(
        [Stage(name, lasting(name, each)) for name, each in parts.items()], depth=2
    )
    train = lasting("training step", (0.07, 0.07, 0.07, 0.2))
    for _item in range(12):
        train(runner.next())
    stats = runner.stats()
    runner.close()
    rows = [*parts, "training step"]
    first, last = (
        min(span[2] for span in spans),
        max(span[3] for span in spans if span[0] == rows[-1]),
    )
    scale = (WIDTH - 130) / (last - first)
    drawing = Drawing(40 * len(rows) + 40, "A trace of stages that run ahead of a training loop")
    for row, name in enumerate(rows):
        drawing.text(0, 40 * row + 20, name)
        drawing.line(120, 40 * row + 32, WIDTH, 40 * row + 32)
    for name, item, begin, end in spans:
        if begin < last:
            place = (120 + (begin - first) * scale, 40 * rows.index(name) + 4)
            width = (min(end, last) - begin) * scale - 1.5
            drawing.box(*place, width, 24, f"hue{item % 8}", f"batch {item}")
            if width > 7 + 7 * len(str(item)):
                drawing.text(place[0] + 4, place[1] + 16, str(item), kind="on")
    told = str(stats).partition(";")[0]
    drawing.text(120, 40 * len(rows) + 24, f"{last - first:.2f} seconds. stats(): {told}")
    return drawing


def orders(_: Path) -> Drawing:
    """An epoch of 24 samples on two ranks, interrupted, and gone on with on three."""
    plan = SampleOrder(24, seed=3)
    drawing = Drawing(300, "The same order of samples on one, two and three ranks")
    step = (WIDTH - 150) / 24

    def row(
        y: float, label: str, places: Sequence[tuple[int, int]], kind: str | None = None
    ) -> None:
        drawing.text(0, y + 18, label)
        for place, sample in places:
            drawing.box(150 + place * step, y, step - 3, 26, kind or f"hue{sample % 8}")
            middle = 150 + place * step + (step - 3) / 2
            drawing.text(middle, y + 18, str(sample), anchor="middle", kind="on")

    def division(y: float, ranks: int, start: int, steps: int, batch_size: int) -> int:
        for rank in range(ranks):
            order = BatchOrder(plan, seed=3, rank=rank, num_ranks=ranks, batch_size=batch_size)
            found = []
            for number in range(steps):
                first = start + number * ranks * batch_size
                batch = order.batch(0, number, start)
                found += [
                    (first + rank + ranks * place, int(sample))
                    for place, sample in enumerate(batch)
                ]
            row(y + 32 * rank, f"rank {rank} of {ranks}", found)
        return start + steps * ranks * batch_size

    row(0, "epoch 0", list(enumerate(map(int, plan.at(np.arange(24), 0)))))
    position = division(54, 2, 0, 3, 2)
    division(142, 3, position, 2, 2)
    x = 150 + position * step - 2
    drawing.line(x, 46, x, 244, "mark")
    drawing.text(x + 6, 68, f"interrupted at position {position}; continues below on three ranks")
    row(262, "epoch 1", list(enumerate(map(int, plan.at(np.arange(24), 1)))))
    return drawing


def failures(folder: Path) -> Drawing:
    """A batch with a damaged and a cut file, decoded with `on_error="mask"`."""
    good = encode_video(folder / "good.mp4", size=(320, 180), frames=96, options=GOP)
    data = bytearray(good.read_bytes())
    index = vl.index_video(good)
    begin = int(index.packets["offset"][int(index.frame_packets[24])])
    data[begin + 4 : begin + 400] = bytes(396)
    (folder / "damaged.mp4").write_bytes(data)
    (folder / "cut.mp4").write_bytes(good.read_bytes()[:300])
    names, wanted = ["good", "damaged", "cut", "short"], range(2, 98, 6)
    encode_video(folder / "short.mp4", size=(320, 180), frames=60, options=GOP)
    requests = [vl.ClipRequest(folder / f"{name}.mp4", wanted, pad_mode="edge") for name in names]
    with vl.BatchDecoder(workers=0) as decoder:
        batch = decoder.decode(requests, size=(90, 160), on_error="mask")
    step = (WIDTH - 110) / len(wanted)
    drawing = Drawing(40 * len(names) + 52 + 22 * len(batch.failures), "Masks of four clips")
    for row, (name, clip) in enumerate(zip(names, batch.clips, strict=True)):
        drawing.text(0, 40 * row + 20, f"{name}.mp4")
        for place, (frame, is_there) in enumerate(zip(clip.indices, clip.mask, strict=True)):
            kind = "kept" if is_there else "lost" if frame < 0 else "fed"
            drawing.box(110 + place * step, 40 * row, step - 3, 30, kind)
            text = str(int(frame)) if frame >= 0 else ""
            drawing.text(
                110 + (place + 0.5) * step - 1, 40 * row + 20, text, anchor="middle", kind="on"
            )
    entries = {"kept": "the requested frame", "fed": "padding: mask is False", "lost": "failed"}
    drawing.legend(40 * len(names) + 20, entries)
    for row, failure in enumerate(batch.failures):
        text = str(failure.error).replace(f"{folder}/", "")
        drawing.text(0, 40 * len(names) + 56 + 22 * row, text, kind="small")
    return drawing


DIAGRAMS = (order_of_packets, plans, engines, conversion, stages, orders, failures)


def write(_: Sphinx) -> None:
    """Draw all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for draw in DIAGRAMS:
            text = draw(Path(folder)).svg()
            (FOLDER / f"{draw.__name__}.svg").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
