"""The options of a run, which all its parts share."""

from __future__ import annotations

from dataclasses import dataclass

from videoloader.decoding.failures import FailurePolicy


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options with which a program makes batches: checked arguments of its pipeline.

    Attributes:
        batch_size: samples in a batch.
        seed: of all random draws.
        num_threads: that work on samples and open sources; processes of a decoder on the CPU.
        gpu: torch device that "gpu" stands for.
        depth: batches made ahead; as many blocks of memory are kept for the next ones.
        fuse: let decoders do what they can of the operators behind them.
        set_affinity: pin the threads that work on samples to processors.
        with_memory: count the memory of the outputs of operators.
        errors: what becomes of samples that fail, where their reader does not say itself.
        is_async: whether stages may call functions of the user's in threads of their own.
    """

    batch_size: int
    seed: int
    num_threads: int
    gpu: str
    depth: int
    fuse: bool
    set_affinity: bool
    with_memory: bool
    errors: FailurePolicy
    is_async: bool

    def torch_device(self, device: str) -> str:
        """The torch device of a node with device "cpu", "gpu" or "mixed"."""
        return "cpu" if device == "cpu" else self.gpu
