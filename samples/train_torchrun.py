"""Train on several GPUs or hosts: torchrun --nproc-per-node 8 samples/train_torchrun.py [FOLDER]

FOLDER has a folder of videos for each class. Each process has one GPU and decodes its part of every
step there; without GPUs they train on the CPU. DistributedDataParallel exchanges gradients, or with
`--parallel fsdp` the model is sharded (FSDP2).

The run may be interrupted at any time; the same command continues after the last checkpoint, also
with another number of processes, or the other `--parallel`. An epoch has each clip once; if the
last step is not full, the first clips fill it. An unreadable video is replaced by the next one.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import videoloader as vl
from videoloader.demo.videos import make_classes


class SmallTransformer(torch.nn.Module):
    """Attention over the frames of a clip, each a token."""

    def __init__(self, pixels: int, classes: int, width: int = 64) -> None:
        super().__init__()
        self.token = torch.nn.Linear(pixels, width)
        self.blocks = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True)
            for _ in range(2)
        )
        self.head = torch.nn.Linear(width, classes)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Scores of clips (B, F, C, H, W)."""
        tokens = self.token(frames.flatten(2))
        for block in self.blocks:
            tokens = block(tokens)
        scores: torch.Tensor = self.head(tokens.mean(1))
        return scores


def make_parallel(model: SmallTransformer, how: str) -> torch.nn.Module:
    """The same model on every process, or a part of it on each."""
    if how == "ddp":
        return DistributedDataParallel(model)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return model


def save(folder: Path, state: dict[str, Any]) -> None:
    """Write a new checkpoint, then replace the last one: one of them is always complete."""
    new, old = folder.with_suffix(".new"), folder.with_suffix(".old")
    state_dict_saver.save(state, checkpoint_id=new)
    if dist.get_rank() == 0:
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    dist.barrier()


def train(arguments: argparse.Namespace) -> None:
    device = "cuda" if torch.cuda.is_available() and not arguments.cpu else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # before the group and the loader
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    loader = vl.Loader(
        arguments.folder or make_classes("demo/classes"),
        vl.RandomClip(8, stride=2),
        batch_size=arguments.batch_size,
        device=device,  # the current one; the rank is that of torch.distributed
        size=(32, 32),
        dtype="float32",
        mean=110.0,
        std=60.0,
        shuffle=True,
        on_error="replace",
        seed=0,
    )
    torch.manual_seed(0)
    small = SmallTransformer(3 * 32 * 32, len(loader.classes)).to(device)
    model = make_parallel(small, arguments.parallel)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    times = torch.zeros(loader.order.size, dtype=torch.int64, device=device)

    def state() -> dict[str, Any]:
        weights, moments = get_state_dict(model, optimizer)
        position = loader.state_dict()  # four integers, the same on every rank
        return {"model": weights, "optimizer": moments, "loader": position, "times": times}

    if arguments.checkpoint.exists():
        saved = state()
        state_dict_loader.load(saved, checkpoint_id=arguments.checkpoint)
        set_state_dict(
            model,
            optimizer,
            model_state_dict=saved["model"],
            optim_state_dict=saved["optimizer"],
        )
        loader.load_state_dict(saved["loader"])

    steps = 0
    while loader.next_epoch < arguments.epochs:
        for batch in loader:
            labels = batch["labels"].to(device)
            loss = torch.nn.functional.cross_entropy(model(batch["frames"]), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            taken = torch.bincount(batch["sample"].to(device), minlength=len(times))
            dist.all_reduce(taken)
            times += taken
            steps += 1
            if steps % arguments.save_every == 0:
                save(arguments.checkpoint, state())
            if steps == arguments.steps:
                break
        if steps == arguments.steps:
            break
        if dist.get_rank() == 0:
            print(
                f"epoch {loader.epoch}: loss {loss.item():.3f}, {len(times)} clips, each trained "
                f"on {times.min()} to {times.max()} times; {loader.stats()}"
            )
        times.zero_()
    loader.close()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="clips are made if left out")
    parser.add_argument("--parallel", choices=("ddp", "fsdp"), default="ddp")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4, help="of each process")
    parser.add_argument("--steps", type=int, default=-1, help="to stop after; none by default")
    parser.add_argument("--save-every", type=int, default=100, help="steps")
    parser.add_argument("--checkpoint", type=Path, default=Path("torchrun_checkpoint"))
    parser.add_argument("--cpu", action="store_true", help="leave GPUs alone")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
