"""Where and when dynamic mode evaluates: `Device`, `EvalMode`, `EvalContext`, threads."""

from __future__ import annotations

from contextlib import ExitStack
from contextvars import ContextVar
from enum import Enum, auto
from typing import Any, ClassVar

import torch

from videoloader.dali.tensors.tensor import gpu_device
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.workers.processors import usable_processors

_ENTERED: ContextVar[tuple[tuple[Any, ExitStack], ...]] = ContextVar(
    "videoloader_dynamic_entered", default=()
)
"""Contexts that `with` blocks of this thread entered, and how each is undone."""


class _Entered:
    """Base of values for a `with` block, which may be entered again inside of it."""

    def __enter__(self) -> Any:
        with ExitStack() as undo:
            self._begin(undo)
            _ENTERED.set((*_ENTERED.get(), (self, undo.pop_all())))
        return self

    def __exit__(self, *_: object) -> None:
        *outer, (_, undo) = _ENTERED.get()
        _ENTERED.set(tuple(outer))
        undo.close()

    def _begin(self, undo: ExitStack) -> None:
        """Change settings for the block; `undo` restores them."""


def _innermost(kind: type[Any]) -> Any:
    entered = [value for value, _ in _ENTERED.get() if isinstance(value, kind)]
    return entered[-1] if entered else None


class Device(_Entered):
    """The CPU, or one GPU: in a `with` block it is the current one of CUDA.

    Args:
        name: "cpu", "gpu" or "gpu:1"; "cuda" is "gpu".
        device_id: number of the GPU, if `name` does not have it; by default the current one.

    Raises:
        NoGpuError: this machine has no GPU that torch can use.

    >>> Device("cpu"), str(Device.CPU), Device("cpu").device_id is None
    (Device(device_type='cpu'), 'cpu', True)
    """

    CPU: ClassVar[Device]

    def __init__(self, name: str, device_id: int | None = None) -> None:
        kind, _, number = name.partition(":")
        kind = "gpu" if kind == "cuda" else kind
        if kind not in ("cpu", "gpu") or (number and not number.isdecimal()):
            raise ArgumentError(f'a device is "cpu", "gpu" or "gpu:<number>", got {name!r}')
        if number and device_id is not None:
            raise ArgumentError(f"the device {name!r} has its number; device_id is not given too")
        device_id = int(number) if number else device_id
        if kind == "cpu" and device_id is not None:
            raise ArgumentError(f"the CPU has no number, got {device_id}")
        if kind == "gpu":
            device_id = gpu_device(device_id).index
            count = torch.cuda.device_count()
            if not 0 <= device_id < count:
                raise ArgumentError(f"gpu:{device_id} is not there: this machine has {count} GPUs")
        self.device_type, self.device_id = kind, device_id

    @staticmethod
    def current() -> Device:
        """The device of the innermost block; outside the current GPU, the CPU if there is none."""
        found: Device | None = _innermost(Device)
        return found or Device("gpu" if torch.cuda.is_available() else "cpu")

    @property
    def torch(self) -> torch.device:
        """The same device of torch."""
        return torch.device(str(self).replace("gpu", "cuda"))

    def _begin(self, undo: ExitStack) -> None:
        if self.device_type == "gpu":
            undo.enter_context(torch.cuda.device(self.device_id))

    def __str__(self) -> str:
        return self.device_type if self.device_id is None else f"gpu:{self.device_id}"

    def __repr__(self) -> str:
        number = "" if self.device_id is None else f", device_id={self.device_id}"
        return f"Device(device_type={self.device_type!r}{number})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


Device.CPU = Device("cpu")


def device(value: Any, id: int | None = None) -> Any:  # noqa: A002  DALI's name
    """The `Device` for a name, a `Device` or a `torch.device`; None for None.

    >>> device("cpu"), device(torch.device("cpu")) == Device.CPU, device(None)
    (Device(device_type='cpu'), True, None)
    """
    if value is None or isinstance(value, str):
        return value if value is None else Device(value, id)
    if id is not None:
        raise ArgumentError(f"id goes with the name of a device, not with {value!r}")
    if isinstance(value, Device):
        return value
    if isinstance(value, torch.device):
        return Device(str(value))
    raise ArgumentTypeError(f"a device is a name, a Device or a torch.device, got {value!r}")


class EvalMode(_Entered, Enum):
    """When calls are evaluated; `with EvalMode.sync_full:` sets it for a block.

    Every call is evaluated before it returns, in each mode: on a GPU its kernels may still run
    then, but with `sync_full`.

    >>> with EvalMode.sync_full:
    ...     EvalMode.current()
    <EvalMode.sync_full: 4>
    >>> EvalMode.current()
    <EvalMode.eager: 2>
    """

    deferred = auto()
    eager = auto()
    sync_cpu = auto()
    sync_full = auto()
    default = eager

    @staticmethod
    def current() -> EvalMode:
        """The mode of the innermost block, by default `eager`."""
        return _innermost(EvalMode) or EvalMode.default


_threads: int | None = None


def set_num_threads(count: int | None) -> None:
    """Set how many threads readers use that are made from now on; None for the default.

    >>> before = get_num_threads()
    >>> set_num_threads(3)
    >>> EvalContext.current().num_threads
    3
    >>> set_num_threads(before)
    """
    global _threads
    _threads = None if count is None else whole_number("num_threads", count, least=1)


def get_num_threads() -> int:
    """Threads of readers outside of contexts; by default one for each processor.

    >>> get_num_threads() == usable_processors()
    True
    """
    return usable_processors() if _threads is None else _threads


class EvalContext(_Entered):
    """Threads, GPU and stream for the calls in a `with` block.

    Args:
        num_threads: of readers that begin in the block.
        device_id: number of the GPU; by default the current one.
        cuda_stream: a `torch.cuda.Stream` or the address of a stream; by default the current one.

    >>> with EvalContext(num_threads=2) as context:
    ...     context.num_threads, EvalContext.current() is context
    (2, True)
    """

    def __init__(
        self,
        *,
        num_threads: int | None = None,
        device_id: int | None = None,
        cuda_stream: Any = None,
    ) -> None:
        self._threads = num_threads
        if num_threads is not None:
            whole_number("num_threads", num_threads, least=1)
        self._device = None if device_id is None else Device("gpu", device_id)
        if isinstance(cuda_stream, int):
            cuda_stream = torch.cuda.ExternalStream(cuda_stream)
        self._stream = cuda_stream

    @staticmethod
    def current() -> EvalContext:
        """The context of the innermost block; a default one outside."""
        return _innermost(EvalContext) or EvalContext()

    @property
    def num_threads(self) -> int:
        """Threads of readers."""
        return get_num_threads() if self._threads is None else self._threads

    @property
    def device_id(self) -> int | None:
        """Number of the GPU; None on a machine without one."""
        return (self._device or Device.current()).device_id

    @property
    def cuda_stream(self) -> Any:
        """The stream of torch on which operators run on the GPU; None without a GPU."""
        if self._stream is None and torch.cuda.is_available():
            return torch.cuda.current_stream(self.device_id)
        return self._stream

    def evaluate_all(self) -> None:
        """Do nothing: every call was evaluated where it was made."""

    def _begin(self, undo: ExitStack) -> None:
        if self._device is not None:
            undo.enter_context(self._device)
        if self._stream is not None:
            undo.enter_context(torch.cuda.stream(self._stream))
