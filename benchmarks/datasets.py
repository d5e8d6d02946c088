"""Data sets: each command on 10,000 files, and time to choose among a million generated rows.

    python benchmarks/datasets.py                  both
    python benchmarks/datasets.py files --save     one, and keep its figures

*files*: videos of 2 s at 320 x 180 in five codecs, made once in `benchmarks/data/many` (some
minutes). Of each codec 200 GOPs of one second are drawn and encoded, each of another shot; a file
is two of them, whose packets are copied. No two files have the same pair, so all are distinct, and
a GOP is in 20 of 10,000 files. Each command runs once, as a user calls it: wall time, and processor
time of all its processes, their start included. `load` is the load average when it began.

*rows*: no video is read or decoded. Each way runs once in this process, after the file was opened;
the time is that of the processors, all threads together, so other work counts little.
"""

from __future__ import annotations

import argparse
import compileall
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from footage import DATA
from machine import RESULTS, machine, today
from rich.console import Console
from rich.table import Table

import videoloader as vl
from videoloader.demo.shots import draw_shot, encode_pictures
from videoloader.indexing.dataset.rows import schema

FOLDER = DATA / "many"
PACKAGES = ("videoloader", "av", "numpy", "pyarrow", "opencv-python-headless")
GOPS, FRAMES = 200, 25  # GOPs of each codec that files are made of, and frames in one
_X265 = f"log-level=none:pools=none:frame-threads=1:keyint={FRAMES}:min-keyint={FRAMES}"
_REGULAR = {"g": str(FRAMES), "keyint_min": str(FRAMES)}
CODED = {  # codec: container and options, by which keyframes are where shots begin
    "libx264": ("mp4", {"preset": "veryfast", "threads": "1", "sc_threshold": "0"} | _REGULAR),
    "libx265": (
        "mp4",
        {"preset": "superfast", "x265-params": f"{_X265}:scenecut=0:open-gop=0"},
    ),
    "libsvtav1": (
        "mp4",
        {"preset": "10", "crf": "35", "svtav1-params": "lp=1:irefresh-type=2", "g": str(FRAMES)},
    ),
    "libvpx-vp9": (
        "webm",
        {"deadline": "good", "cpu-used": "6", "threads": "1", "b": "900k"} | _REGULAR,
    ),
    "mpeg4": ("mp4", {"b": "2M", "sc_threshold": "1000000000", "g": str(FRAMES)}),
}

Way = tuple[str, Callable[[vl.DatasetIndex], Any]]


def encode_gops(codec: str) -> Path:
    """A video of 200 shots of one second, each a closed group of pictures."""
    suffix, options = CODED[codec]
    path = FOLDER / "gops" / f"{codec}.{suffix}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"partial-{path.name}")
        first, size = 1000 * list(CODED).index(codec), (320, 180)
        shots = (draw_shot(FRAMES, seed=first + number, size=size) for number in range(GOPS))
        pictures = itertools.chain.from_iterable(shots)
        encode_pictures(partial, pictures, size=size, codec=codec, options=options)
        partial.rename(path)
    return path


def write_files(codec: str, count: int) -> None:
    """Files of two GOPs of a codec each, no two of the same pair."""
    source, suffix = encode_gops(codec), CODED[codec][0]
    with av.open(str(source)) as given:
        stream = given.streams.video[0]
        gops: list[list[tuple[bytes, int, int, bool]]] = []
        for packet in given.demux(stream):
            if packet.dts is None or packet.pts is None:
                continue
            if packet.is_keyframe:
                gops.append([])
            gops[-1].append((bytes(packet), packet.pts, packet.dts, packet.is_keyframe))
        assert len(gops) == GOPS, (codec, len(gops))
        tick = stream.time_base
        assert tick is not None
        for number in range(count):
            apart, first = divmod(number, GOPS)
            path = FOLDER / "files" / f"{number:05}-{codec}.{suffix}"
            if path.exists():
                continue
            partial = path.with_name(f"partial-{path.name}")
            with av.open(str(partial), "w") as made:
                target = made.add_stream_from_template(stream, opaque=True)
                for place, gop in enumerate((first, (first + apart + 1) % GOPS)):
                    for data, pts, dts, is_key in gops[gop]:
                        copy: Any = av.Packet(len(data))
                        copy.update(data)
                        shift = round((place - gop) * FRAMES / 25 / tick)
                        copy.pts, copy.dts, copy.time_base = pts + shift, dts + shift, tick
                        copy.duration = round(1 / 25 / tick)  # else the last frame has none
                        copy.is_keyframe, copy.stream = is_key, target
                        made.mux(copy)
            partial.rename(path)


COMMANDS: dict[str, list[str]] = {
    "index": ["files", "--out", "set.parquet"],
    "index, nothing new": ["files", "--out", "set.parquet"],
    "report": ["set.parquet", "--out", "report"],
    "scenes": ["set.parquet", "--out", "scenes.parquet"],
    "scenes --exact": ["set.parquet", "--out", "exact.parquet"],
    "dedupe": ["set.parquet", "--out", "near.parquet"],
    "dedupe --copies": ["set.parquet", "--out", "copies.parquet"],
    "score": ["set.parquet", "--out", "scores.parquet"],
    "query --count": ["set.parquet", "codec = 'av1' and num_frames >= 50"],
    "query --by codec": ["set.parquet"],
}


def measure_files(count: int, wanted: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Time of commands on generated files; what they print says how much they found."""
    (FOLDER / "files").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        list(pool.map(write_files, CODED, [count // len(CODED)] * len(CODED)))
    compileall.compile_dir(Path(vl.__file__).parent, quiet=1)  # as pip does when it installs
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "files").mkdir()
        for path in sorted((FOLDER / "files").glob("0*")):
            if int(path.name[:5]) < count // len(CODED):
                os.link(path, folder / "files" / path.name)
                path.read_bytes()  # into the page cache
        for name, words in COMMANDS.items():
            if name not in ("index", *wanted):
                continue
            command, *options = name.partition(",")[0].split()
            line = [sys.executable, "-m", "videoloader.cli", command, *words, *options]
            load = os.getloadavg()[0]
            before, begin = _used(), time.perf_counter()
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
            wall, used = time.perf_counter() - begin, _used() - before
            if done.returncode:
                raise RuntimeError(f"{line} failed: {done.stderr}")
            yield (
                name,
                {
                    "files": count,
                    "wall_seconds": round(wall, 1),
                    "processor_seconds": round(used, 1),
                    "files_per_second": round(count / wall),
                    "files_per_processor_second": round(count / used),
                    "load": round(load, 1),
                    "printed": done.stdout.strip().splitlines()[-1],
                },
            )


def _used() -> float:
    """Processor seconds of processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_rows(path: Path, count: int) -> None:
    """A data set index of videos that are not there, with indexes of 200 bytes."""
    rng = np.random.default_rng(0)
    rows = np.arange(count)
    names = pa.array([f"{row % 1000:03}/{row:011}_000010_000020.mp4" for row in range(count)])
    values: dict[str, Any] = {
        "key": names,
        "path": names,
        "codec": pa.array(["h264", "hevc", "av1"]).take(pa.array(rows % 3)),
        "height": rng.choice([240, 480, 720, 1080], count),
        "width": rng.choice([426, 854, 1280, 1920], count),
        "num_frames": rng.integers(30, 3000, count),
        "duration": rng.uniform(1, 100, count),
        "rotation": np.zeros(count),
        "member": pa.repeat("", count),
        "index": pa.repeat(pa.scalar(b"x" * 200, pa.large_binary()), count),
    }
    table = schema("/videos").empty_table()
    columns = [
        pa.array(values[field.name], field.type)
        if field.name in values and not isinstance(values[field.name], pa.Array)
        else values.get(field.name, pa.nulls(count, field.type))
        for field in table.schema
    ]
    pq.write_table(pa.table(columns, schema=table.schema), path, row_group_size=4096)


def captions(count: int) -> pa.Table:
    """A caption for each video, by the id in its name."""
    ids = pa.array([f"{row:011}" for row in range(count)])
    stems = pc.binary_join_element_wise(ids, "_000010_000020", "")
    texts = pc.binary_join_element_wise("a caption of", ids, " ")
    return pa.table({"id": ids, "stem": stems, "caption": texts})


def ways(count: int, folder: Path) -> list[Way]:
    """What is timed, by name."""
    table = captions(count)
    by_stem, by_id = table.select(["stem", "caption"]), table.select(["id", "caption"])
    fewer = pc.field("num_frames") / pc.field("duration") > 20
    found: list[Way] = [
        ("filter(min_height=720, codecs=)", lambda d: d.filter(min_height=720, codecs="av1")),
        ("filter(expression)", lambda d: d.filter(fewer)),
        ("query", lambda d: d.query("codec = 'av1' and height >= 720")),
        ("sample(1000)", lambda d: d.sample(1000)),
        ("split(0.9)", lambda d: d.split(0.9)),
        ("split(0.9, by=function)", lambda d: d.split(0.9, by=lambda key: key[:3])),
        ("select of three columns", lambda d: d.select(["key", "codec", "duration"])),
        ('join(on="stem")', lambda d: d.join(by_stem, on="stem")),
        ('join(on="path")', lambda d: d.join(by_stem, key="stem")),
        (
            "join(on=function)",
            lambda d: d.join(by_id, key="id", on=lambda path: path.rpartition("/")[2][:11]),
        ),
        ("write of a tenth", lambda d: d.split(0.1)[0].write(folder / "part.parquet")),
    ]
    return found


def measure_rows(counts: list[int]) -> dict[str, Any]:
    """Processor seconds of each way, by number of rows."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for count in counts:
            path = folder / f"{count}.parquet"
            write_rows(path, count)
            dataset, begin = None, time.process_time()
            for _ in range(2):  # the first opening makes the cache
                begin = time.process_time()
                dataset = vl.open_dataset(path)
            assert dataset is not None
            seconds.setdefault("open", []).append(time.process_time() - begin)
            for name, run in ways(count, folder):
                begin = time.process_time()
                run(dataset)
                seconds.setdefault(name, []).append(time.process_time() - begin)
    table = Table(title="seconds of processor time", title_justify="left", box=None)
    table.add_column("of rows")
    for count in counts:
        table.add_column(f"{count:,}", justify="right")
    for name, values in seconds.items():
        table.add_row(name, *(f"{value:.3f}" for value in values))
    Console().print(table)
    return {
        name: dict(zip(map(str, counts), (round(value, 4) for value in values), strict=True))
        for name, values in seconds.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("files", "rows")
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="all by default")
    parser.add_argument("--files", type=int, default=10_000, help="a multiple of 5")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=[*COMMANDS])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    target = RESULTS / f"datasets-{today()}.json"
    kept = json.loads(target.read_text()) if arguments.save and target.exists() else {}
    kept["machine"] = machine(PACKAGES)

    def save() -> None:
        if arguments.save:
            target.write_text(json.dumps(kept, indent=1) + "\n")

    for part in arguments.parts or parts:
        if part == "rows":
            kept[part] = measure_rows(arguments.rows)
        else:
            for name, figures in measure_files(arguments.files, arguments.commands):
                print(json.dumps({name: figures}), flush=True)
                if name in arguments.commands:
                    kept.setdefault(part, {})[name] = figures
                save()  # a run takes long
    save()


if __name__ == "__main__":
    main()
