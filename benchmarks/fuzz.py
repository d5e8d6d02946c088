"""Mutated videos against the indexer: python benchmarks/fuzz.py [--count N] [--seed S]

Every input is a small video of some container with bytes flipped, cut, repeated or overwritten by
extreme numbers. Each must give an index or an error of ours, within 2 s and 200 MB. What breaks
that is written to `benchmarks/data/fuzz/`, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

import av

import videoloader as vl
from videoloader.demo.videos import encode_video

FOUND = Path(__file__).parent / "data" / "fuzz"
LIMIT_SECONDS, LIMIT_BYTES = 2.0, 200 << 20
EXTREMES = [bytes(n) for n in (1, 4, 8)] + [b"\xff" * n for n in (1, 4, 8)]
EXTREMES += [b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x00\x01", b"\x01\xff\xff\xff"]
CODECS = {"vp9.webm": "libvpx-vp9", "mpeg4.mp4": "mpeg4", "mpeg4.avi": "mpeg4"}
REMUXED = {
    "fragments.mp4": ("mp4", {"movflags": "frag_keyframe+empty_moov"}),
    "front.mp4": ("mp4", {"movflags": "faststart"}),
    "clip.mkv": ("matroska", {}),
    "clip.ts": ("mpegts", {}),
    "clip.flv": ("flv", {}),
    "clip.h264": ("h264", {}),
}


def seeds(folder: Path) -> dict[str, bytes]:
    """Small sound files, one a container."""
    clip = folder / "clip.mp4"
    encode_video(clip, frames=24, size=(64, 48), options={"g": "12"})
    for name, codec in CODECS.items():
        encode_video(folder / name, codec=codec, frames=12, size=(64, 48))
    for name, (format_name, options) in REMUXED.items():
        remux(clip, folder / name, format_name, options)
    remux(folder / "vp9.webm", folder / "vp9.ivf", "ivf", {})
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def remux(video: Path, path: Path, format_name: str, options: dict[str, str]) -> None:
    """Put the packets of a video into another container."""
    with (
        av.open(str(video)) as source,
        av.open(str(path), "w", format=format_name, options=options) as target,
    ):
        coded = source.streams.video[0]
        stream = target.add_stream_from_template(coded)
        for packet in source.demux(coded):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """A few changes; most of them where headers and tables are."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        edge = min(len(changed), 2048)
        place = rng.choice(
            [rng.randrange(len(changed)), rng.randrange(edge), -rng.randint(1, edge)]
        )
        match rng.randrange(5):
            case 0:
                changed[place] ^= 1 << rng.randrange(8)
            case 1:
                changed[place] = rng.randrange(256)
            case 2:
                value = rng.choice(EXTREMES)
                place %= len(changed)
                changed[place : place + len(value)] = value
            case 3:
                place %= len(changed)
                del changed[place : place + rng.randint(1, 64)]
            case _:
                place %= len(changed)
                changed[place:place] = changed[place : place + rng.randint(1, 64)]
        if not changed:
            return b"\0"
    if rng.random() < 0.1:
        del changed[rng.randrange(len(changed)) + 1 :]
    return bytes(changed)


def broken(data: bytes) -> str | None:
    """What is wrong with how an input is taken, None if nothing."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    try:
        index = vl.index_video(data, headers=True)
        vl.sampling.plan_decode(index, range(min(index.num_frames, 50)))
    except vl.VideoError:
        pass
    except BaseException:  # noqa: BLE001  (what the search is for)
        return traceback.format_exc()
    seconds = time.perf_counter() - begin
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if seconds > LIMIT_SECONDS or grown > LIMIT_BYTES:
        return f"{seconds:.2f} s, {grown >> 20} MiB"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        files = seeds(Path(folder))
    failures, begin, slowest = 0, time.perf_counter(), 0.0
    for number in range(arguments.count):
        name = rng.choice(sorted(files))
        data = mutate(files[name], rng)
        started = time.perf_counter()
        problem = broken(data)
        slowest = max(slowest, time.perf_counter() - started)
        if problem is not None:
            failures += 1
            FOUND.mkdir(parents=True, exist_ok=True)
            (FOUND / f"{arguments.seed}-{number}-{name}").write_bytes(data)
            print(f"{number} {name}: {problem}", file=sys.stderr)
    seconds = time.perf_counter() - begin
    print(
        f"{arguments.count} inputs of {len(files)} containers, {failures} failures, "
        f"{seconds:.0f} s, slowest {slowest * 1e3:.0f} ms"
    )
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
