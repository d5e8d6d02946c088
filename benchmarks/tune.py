"""What `tune` predicts beside what following it gives: python benchmarks/tune.py

For five kinds of videos: `tune` on copies of one; then they are transcoded as it advises, and
loaders of the files before and after are timed in turns, since machines are not steady. How many
times as fast the loader becomes, predicted and measured, and how far apart these are.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import footage
from machine import RESULTS, machine, today

import videoloader as vl
from videoloader.datasets.tuning.trials import Bench

KINDS = ("h264-240p.mp4", "h264-360p.mp4", "h264-1080p.mp4", "hevc-1080p.mp4", "vp9-720p.webm")
COPIES = 48
CLIPS = {"random": vl.RandomClip(16, stride=4), "uniform": vl.UniformClip(8)}
TURNS = 4
OPTIONS: dict[str, Any] = {"batch_size": 4, "size": 112, "shuffle": True}


def measure(name: str, kind: str, seconds: float) -> list[dict[str, Any]]:
    """The rows of one kind of videos and clips."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        videos = Path(folder, "videos")
        videos.mkdir()
        for number in range(COPIES):
            os.link(footage.DATA / name, videos / f"{number}{Path(name).suffix}")
        found = vl.tune(videos, CLIPS[kind], seconds=seconds, **OPTIONS)
        for each in found.advice:
            if each.is_measured:
                continue
            settings: dict[str, Any] = {
                name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", each.change)
            }
            out = Path(folder, "-".join(map(str, settings.values())))
            first = Path(folder, "first")
            first.mkdir(exist_ok=True)
            source = first / f"0{Path(name).suffix}"
            source.unlink(missing_ok=True)
            os.link(footage.DATA / name, source)
            vl.transcode(first, out, audio=False, **settings)
            (made,) = out.glob("*.mp4")
            for number in range(1, COPIES):
                os.link(made, out / f"copy{number}.mp4")
            before, after = (
                Bench(files, CLIPS[kind], OPTIONS, seconds / 20) for files in (videos, out)
            )
            after.run()  # the first time, files are indexed
            turns = [(before.run().rate, after.run().rate) for _ in range(TURNS)]
            was, is_now = map(sum, zip(*turns, strict=True))
            row: dict[str, Any] = {
                "videos": name,
                "clips": kind,
                "change": each.change,
                "clips_per_second": found.given.clips_per_second,
                "predicted": each.clips_per_second / found.given.clips_per_second,
                "measured": is_now / was,
                "limit": found.limit,
            }
            row["apart"] = row["predicted"] / row["measured"] - 1
            rows.append(row)
            print(
                f"{name:16} {kind:8} {each.change:36} {row['clips_per_second']:8.1f} "
                f"{row['predicted']:8.2f} {row['measured']:8.2f} {row['apart']:+6.0%}",
                flush=True,
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of each call of tune")
    parser.add_argument("--only", nargs="*", default=KINDS, help="names of videos")
    parser.add_argument("--json", action="store_true", help="write the figures to results/")
    options = parser.parse_args()
    footage.make_all([name.partition(".")[0] for name in options.only])
    print(f"{'videos':16} {'clips':8} {'change':36} {'clips/s':>8} {'predict.':>8} {'measured':>8}")
    result: dict[str, Any] = {"machine": machine(("av", "torch", "numpy")), "rows": []}
    for name, kind in itertools.product(options.only, CLIPS):
        result["rows"] += measure(name, kind, options.seconds)
        if options.json:  # each time, since all takes half an hour
            (RESULTS / f"tune-{today()}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
