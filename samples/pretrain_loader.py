"""Pretraining on videos of all lengths and sizes: python samples/pretrain_loader.py [FOLDER]

A web server has tar shards of clips and captions. Several ranks train a small transformer together
on packs (or buckets) of them. In the middle of the epoch they are killed, and another number of
ranks continues from the checkpoint. At the end each clip was used exactly once.

FOLDER keeps shards, index, checkpoint and log; by default they are in a temporary folder. With
--shards URL ... it trains on your own shards.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import videoloader as vl
from videoloader.demo.serving import serve
from videoloader.demo.videos import encode_video

PATCH = (2, 16, 16)  # frames, rows and columns of a token
MAX_TOKENS = 768
BATCHES: dict[str, vl.Buckets | vl.Packing] = {
    # Clips keep their size and length: a batch is one sequence of at most this many tokens.
    "packs": vl.Packing(MAX_TOKENS, patchify=PATCH, max_pixels=128 * 128),
    # Clips are resized to the nearest of a few shapes: dense batches, as many clips as fit.
    "buckets": vl.Buckets(
        vl.aspect_buckets(96 * 96, frames=(2, 8), multiple_of=16, ratios=(9 / 16, 1, 16 / 9)),
        max_tokens=MAX_TOKENS,
        patch=PATCH,
    ),
}


class SmallTransformer(torch.nn.Module):
    """Embeds clips and captions, so that a clip and its caption are similar."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.patch = torch.nn.Linear(PATCH[0] * PATCH[1] * PATCH[2] * 3, width)
        self.place = torch.nn.Linear(4, width)  # time in seconds; frame, row and column of patches
        self.layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True)
        self.words = torch.nn.EmbeddingBag(256, width)

    def forward(self, tokens: dict[str, torch.Tensor], captions: list[str]) -> torch.Tensor:
        """Similarity of each clip to each caption, (B, B)."""
        clip = tokens["sample_ids"]
        place = torch.cat([tokens["times"][:, None], tokens["positions"]], dim=1)
        x = self.patch(tokens["patches"]) + self.place(place.float() / 8)
        # Tokens attend to those of their own clip. On a GPU, FlashAttention takes `cu_seqlens`.
        x = self.layer(x[None], src_mask=clip[:, None] != clip[None])[0]
        count = len(captions)
        sums = torch.zeros(count, x.shape[1]).index_add(0, clip, x)
        means = sums / torch.bincount(clip, minlength=count)[:, None]
        codes = [torch.tensor(list(caption.encode())) for caption in captions]
        offsets = torch.tensor([0, *map(len, codes[:-1])]).cumsum(0)
        words = self.words(torch.cat(codes), offsets)
        likeness: torch.Tensor = means @ words.T
        return likeness


def as_tokens(batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Tokens of a pack, or of a batch of a bucket."""
    if "patches" in batch:
        tokens = {name: batch[name] for name in ("positions", "sample_ids")}
        tokens |= {"patches": batch["patches"], "times": batch["token_times"]}
    else:
        clips = batch["frames"]
        grid = [side // unit for side, unit in zip(clips[0, :, 0].shape, PATCH, strict=True)]
        places = torch.cartesian_prod(*map(torch.arange, grid))
        tokens = {
            "patches": torch.cat([vl.patchify(clip, PATCH) for clip in clips]),
            "positions": places.repeat(len(clips), 1),
            "sample_ids": torch.arange(len(clips)).repeat_interleave(len(places)),
            "times": batch["times"][:, :: PATCH[0]].repeat_interleave(grid[1] * grid[2], dim=1),
        }
        tokens["times"] = tokens["times"].reshape(-1)
    tokens["patches"] = tokens["patches"].float() / 255
    return tokens


def train(arguments: argparse.Namespace) -> None:
    """What each rank does: one epoch, or the rest of it."""
    folder = arguments.folder
    rank, ranks = arguments.rank, arguments.num_ranks
    meeting = (folder / "meeting").absolute().as_uri()
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=ranks)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = SmallTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = vl.Loader(
        folder / "set.parquet",
        vl.RandomClip(16, fps=8),  # at most two seconds, eight frames each, with their real times
        batches=BATCHES[arguments.batches],
        columns=(".txt", ".json", "key"),
        shuffle=True,
        seed=7,
        remainder="repeat",
        workers=0,
    )
    checkpoint = folder / "checkpoint.pt"
    step = 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        step = state["step"]
    for batch in loader:
        likeness = model(as_tokens(batch), batch[".txt"])
        loss = torch.nn.functional.cross_entropy(likeness, torch.arange(len(likeness)))
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= ranks
        optimizer.step()
        step += 1
        line = {"step": step, "run": arguments.run, "keys": batch["key"]}
        with open(folder / f"log{rank}.jsonl", "a") as log:
            log.write(json.dumps(line) + "\n")
        dist.barrier()
        if rank == 0:  # written whole or not at all, as the run may be killed at any moment
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state | {"loader": loader.state_dict(), "step": step}, folder / "new.pt")
            (folder / "new.pt").replace(checkpoint)
            print(f"step {step}: loss {loss.item():.3f}, {len(batch['key'])} clips", flush=True)
        dist.barrier()
    dist.destroy_process_group()


def run_ranks(arguments: argparse.Namespace, *, run: int, kill_after: int | None = None) -> None:
    """Train with some ranks; kill them all after some steps, as if the machine failed."""
    num_ranks = arguments.ranks[run]
    (arguments.folder / "meeting").unlink(missing_ok=True)
    words = [sys.executable, __file__, str(arguments.folder), "--batches", arguments.batches]
    processes: list[subprocess.Popen[str]] = []
    try:
        for rank in range(num_ranks):
            more = ["--rank", str(rank), "--num-ranks", str(num_ranks), "--run", str(run)]
            pipe = subprocess.PIPE if rank == 0 else None
            processes.append(subprocess.Popen([*words, *more], stdout=pipe, text=True))
        assert processes[0].stdout is not None
        for line in processes[0].stdout:
            print(f"{num_ranks} ranks, {line.strip()}", flush=True)
            step = re.match(r"step (\d+)", line)
            if kill_after is not None and step is not None and int(step[1]) >= kill_after:
                for process in processes:
                    process.send_signal(signal.SIGKILL)
                print("all ranks are killed", flush=True)
                return
        for process in processes:
            if process.wait():
                raise SystemExit("a rank has failed")
    finally:
        for process in processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def make_shards(folder: Path, clips: int) -> list[str]:
    """Shards of clips of several sizes, lengths and rates, each with caption and metadata."""
    sizes = [(160, 96), (96, 160), (128, 128), (224, 128), (112, 208)]
    names = []
    for first in range(0, clips, 8):
        names.append(f"{first // 8:04}.tar")
        with tarfile.open(folder / names[-1], "w") as tar:
            for number in range(first, min(first + 8, clips)):
                width, height = sizes[number % len(sizes)]
                frames, fps = 8 + 7 * number % 50, (10, 24, 30)[number % 3]
                video = encode_video(
                    folder / "clip.mp4",
                    size=(width, height),
                    frames=frames,
                    fps=fps,
                    options={"preset": "ultrafast", "x264-params": "threads=1"},
                )
                caption = f"{frames / fps:.1f} seconds of a test picture, {width} wide"
                files = {
                    "json": json.dumps({"fps": fps, "frames": frames}).encode(),
                    "mp4": video.read_bytes(),
                    "txt": caption.encode(),
                }
                for ending, data in files.items():
                    member = tarfile.TarInfo(f"{number:05}.{ending}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    (folder / "clip.mp4").unlink()
    return names


def check_log(folder: Path, clips: int, resumed: int) -> None:
    """Check that each clip was used once, except those that fill the last step."""
    lines = [
        json.loads(line)
        for path in sorted(folder.glob("log*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    # Steps of a killed run after its last checkpoint are lost, and were done again.
    kept = [line for line in lines if (line["run"] == 0) == (line["step"] <= resumed)]
    last = max(line["step"] for line in kept)
    seen = Counter(key for line in kept for key in line["keys"])
    before = Counter(key for line in kept if line["step"] < last for key in line["keys"])
    assert len(seen) == clips, f"{clips - len(seen)} clips are missing"
    assert max(before.values()) == 1, "a clip was repeated"
    print(f"all {clips} clips once: {resumed} steps before the kill, {last - resumed} after it")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--shards", nargs="*", help="URLs or paths of tar archives of your own")
    parser.add_argument("--clips", type=int, default=64, help="to make, without --shards")
    parser.add_argument("--batches", choices=sorted(BATCHES), default="packs")
    parser.add_argument("--ranks", type=int, nargs=2, default=(2, 3), help="before and after")
    parser.add_argument("--kill-after", type=int, default=4, help="steps")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--num-ranks", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank is not None:
        train(arguments)
    elif arguments.folder is None:
        with tempfile.TemporaryDirectory() as folder:
            arguments.folder = Path(folder)
            show(arguments)
    else:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        show(arguments)


def show(arguments: argparse.Namespace) -> None:
    """Serve, index, train, kill, resume, check."""
    folder = arguments.folder
    for path in [folder / "checkpoint.pt", *folder.glob("log*.jsonl")]:
        path.unlink(missing_ok=True)
    with serve(folder) as url:
        shards = arguments.shards
        if shards is None:
            shards = [f"{url}/{name}" for name in make_shards(folder, arguments.clips)]
        dataset = vl.index_dataset(shards, folder / "set.parquet", workers=0)
        print(f"{len(dataset)} clips in {len(shards)} shards")
        run_ranks(arguments, run=0, kill_after=arguments.kill_after)
        resumed = torch.load(folder / "checkpoint.pt")["step"]
        run_ranks(arguments, run=1)
        check_log(folder, len(dataset.videos), resumed)


if __name__ == "__main__":
    main()
