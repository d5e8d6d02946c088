"""Which of the processes of a training this one is."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from videoloader.errors import ArgumentError


def find_rank(rank: int | None, num_ranks: int | None) -> tuple[int, int]:
    """The part that this process takes, and the number of parts.

    As given; else the rank of torch.distributed, if it is initialised; else RANK and WORLD_SIZE of
    the environment, if both are set, as torchrun does; else the whole. Other variables are not
    read: those of SLURM are set in batch scripts and shells too, which have no ranks.

    Raises:
        ArgumentError: one is given without the other, or the variables are no rank.
    """
    if (rank is None) != (num_ranks is None):
        raise ArgumentError("rank and num_ranks come together")
    if rank is not None and num_ranks is not None:
        return rank, num_ranks
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return _launched(os.environ) or (0, 1)


def _launched(environ: Mapping[str, str]) -> tuple[int, int] | None:
    """The rank that a launcher gave this process."""
    rank, count = environ.get("RANK", ""), environ.get("WORLD_SIZE", "")
    if not rank or not count:
        return None
    if not (rank.isdecimal() and count.isdecimal() and int(rank) < int(count)):
        raise ArgumentError(
            f"the environment has RANK={rank} and WORLD_SIZE={count}, which is no rank; "
            "unset them, or say which part to take, such as rank=0, num_ranks=1"
        )
    return int(rank), int(count)
