"""Learn in which direction a shape moves: python samples/train_action_recognition.py

The clips are generated: a class is a direction, which no single frame shows. A small 3D CNN learns
it in a few epochs with `--processes 2` (gloo on the CPU, nccl on GPUs), or under torchrun:

    torchrun --nproc-per-node 2 samples/train_action_recognition.py

The run may be interrupted at any time; the same command continues with the next step, also with
another number of processes.
"""

from __future__ import annotations

import argparse
import os
import socket
from pathlib import Path
from typing import Any

import av
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import videoloader as vl

DIRECTIONS = {"down": (0, 1), "left": (-1, 0), "right": (1, 0), "up": (0, -1)}
SIDE, FRAMES = 64, 20  # of a generated clip
MEAN, STD = 110.0, 60.0


def make_clips(folder: Path, per_class: int, seed: int) -> None:
    """Encode clips of squares that move, in a folder for each direction."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE]
    for name, (dx, dy) in DIRECTIONS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(per_class):
            left, top = rng.uniform(0, SIDE, 2)
            speed, side = rng.uniform(2.0, 3.5), rng.integers(14, 24)
            colours = [rng.integers(0, 90, 3), rng.integers(165, 256, 3)]  # ground and square
            with av.open(str(folder / name / f"{number:04}.mp4"), "w") as container:
                stream = container.add_stream("mpeg4", rate=10)
                stream.width = stream.height = SIDE
                stream.bit_rate = 400_000
                for frame in range(FRAMES):
                    is_inside = (x - left - dx * speed * frame) % SIDE < side
                    is_inside &= (y - top - dy * speed * frame) % SIDE < side
                    picture = np.array(colours, np.uint8)[is_inside.astype(int)]
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
                container.mux(stream.encode())


class SmallNet(torch.nn.Module):
    """Three convolutions over time and space, then the mean."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = []
        for before, after in ((3, 16), (16, 32), (32, 32)):
            layers += [
                torch.nn.Conv3d(before, after, 3, stride=(1, 2, 2), padding=1),
                torch.nn.BatchNorm3d(after),
                torch.nn.ReLU(),
            ]
        self.layers = torch.nn.Sequential(
            *layers,
            torch.nn.AdaptiveAvgPool3d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(32, classes),
        )

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Scores of clips (B, 3, F, H, W)."""
        scores: torch.Tensor = self.layers(frames)
        return scores


def make_loader(folder: Path, arguments: argparse.Namespace, **options: Any) -> vl.Loader:
    """Clips of 8 frames, for the rank that torch.distributed gave this process."""
    return vl.Loader(
        folder,
        vl.RandomClip(8),
        batch_size=arguments.batch_size,
        device=arguments.device,
        size=(32, 32),
        dtype="float32",
        layout="CFHW",
        mean=MEAN,
        std=STD,
        **options,  # no `random_flip`: it would make "left" of "right"
    )


def save(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint on one rank for all; an interrupted write leaves the last one."""
    if dist.get_rank() == 0:
        torch.save(state, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
    dist.barrier()


def validate(model: torch.nn.Module, loader: vl.Loader, device: str) -> float:
    """The share of clips with the right class, over all ranks."""
    counts = torch.zeros(2, device=device)
    model.eval()
    with torch.no_grad():
        for batch in loader:
            found = model(batch["frames"]).argmax(1) == batch["labels"].to(device)
            counts += torch.tensor([float(found.sum()), float(len(found))], device=device)
    model.train()
    dist.all_reduce(counts)
    return float(counts[0] / counts[1])


def train(arguments: argparse.Namespace) -> None:
    """What each process does; torchrun's variables give its rank."""
    if arguments.device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # before the loader and the group
    dist.init_process_group("nccl" if arguments.device == "cuda" else "gloo")
    if dist.get_rank() == 0 and not arguments.folder.exists():
        make_clips(arguments.folder / "train", arguments.clips, seed=0)
        make_clips(arguments.folder / "test", max(1, arguments.clips // 4), seed=1)
    dist.barrier()
    torch.manual_seed(0)
    loader = make_loader(arguments.folder / "train", arguments, shuffle=True, seed=0)
    test = make_loader(arguments.folder / "test", arguments, remainder="keep")
    model = DistributedDataParallel(SmallNet(len(loader.classes)).to(arguments.device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr)
    totals = torch.zeros(2, device=arguments.device)  # loss and clips of the epoch, of all ranks
    if arguments.checkpoint.exists():
        state = torch.load(arguments.checkpoint, map_location=arguments.device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        totals = state["totals"]

    steps = arguments.steps
    while loader.next_epoch < arguments.epochs and steps:
        for batch in loader:
            labels = batch["labels"].to(arguments.device)
            loss = torch.nn.functional.cross_entropy(model(batch["frames"]), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step = torch.tensor([loss.item() * len(labels), len(labels)], device=arguments.device)
            dist.all_reduce(step)
            totals += step
            position = loader.state_dict()  # the same on every rank
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "loader": position,
                "totals": totals if position["position"] else torch.zeros_like(totals),
            }
            save(arguments.checkpoint, state)
            steps -= 1
            if not steps:
                break
        if loader.state_dict()["position"]:
            continue  # stopped inside an epoch
        accuracy = validate(model.module, test, arguments.device)
        if dist.get_rank() == 0:
            mean, clips = float(totals[0] / totals[1]), int(totals[1])
            print(f"epoch {loader.epoch}: {clips} clips, loss {mean:.3f}, test {accuracy:.0%}")
        totals = torch.zeros_like(totals)
    dist.destroy_process_group()


def start(rank: int, count: int, port: int, arguments: argparse.Namespace) -> None:
    """One of the processes that this program starts, with the variables that torchrun sets."""
    os.environ |= {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
    }
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // count))
    train(arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("moving_shapes"))
    parser.add_argument("--clips", type=int, default=120, help="to generate of each class")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--steps", type=int, default=-1, help="to stop after; none by default")
    parser.add_argument("--batch-size", type=int, default=4, help="of each process")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--checkpoint", type=Path, default=Path("moving_shapes.pt"))
    arguments = parser.parse_args()
    if "RANK" in os.environ:  # torchrun started this process
        train(arguments)
        return
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    if arguments.processes == 1:
        start(0, 1, port, arguments)
        return
    several = arguments.processes
    torch.multiprocessing.spawn(start, (several, port, arguments), nprocs=several)  # type: ignore[attr-defined, no-untyped-call]


if __name__ == "__main__":
    main()
