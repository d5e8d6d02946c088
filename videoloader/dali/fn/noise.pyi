# Written by `make written`; do not edit.

from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values

def gaussian(
    data: _Data, /, *, mean: float | _Values = 0.0, stddev: float | _Values = 1.0, seed: int | None = None,
    device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Add numbers of a normal distribution, to every element its own."""

def salt_and_pepper(
    data: _Data, /, *, prob: float | _Values = 0.05, salt_vs_pepper: float | _Values = 0.5,
    salt_val: float | _Values | None = None, pepper_val: float | _Values | None = None, per_channel: bool | int = False,
    seed: int | None = None, device: str | None = None, name: str | None = None, bytes_per_sample_hint: Any = ...,
    preserve: Any = ...
) -> Any:
    """Replace some pixels by one of two values, such as black and white."""

def shot(
    data: _Data, /, *, factor: float | _Values = 20.0, seed: int | None = None, device: str | None = None,
    name: str | None = None, bytes_per_sample_hint: Any = ..., preserve: Any = ...
) -> Any:
    """Put noise on the data as counting events does, of which each is worth `factor`."""
