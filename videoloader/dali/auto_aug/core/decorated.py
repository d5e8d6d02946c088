"""Augmentations: functions of data and a parameter, called with a magnitude bin."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.auto_aug.core.magnitudes import (
    SignedBin,
    check_bin,
    parameter_table,
    signed_bin,
)
from videoloader.dali.pipeline.conditionals import converted_callee
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.dali.pipeline.graph.promotion import promote
from videoloader.dali.types import ArrayConstant, Constant, Operand, ScalarConstant
from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of, whole_number

_KEPT: Any = object()
_DEVICES = ("cpu", "gpu", "auto")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Augmentation:
    """A function of data and a parameter; made by the decorator `augmentation`.

    Attributes:
        op: the function.
        mag_range: magnitudes of the first and last bin, or an array of all magnitudes; None for
            functions without a parameter.
        randomly_negate: whether magnitudes are negated at random, per sample.
        mag_to_param: maps a magnitude to the parameter.
        param_device: device of the parameter: "cpu", "gpu", or "auto" for that of the data.
        name: in policies and in `excluded`.
    """

    def __init__(
        self,
        op: Callable[..., DataNode],
        mag_range: tuple[float, float] | np.ndarray[Any, Any] | None = None,
        randomly_negate: bool | None = None,
        mag_to_param: Callable[[float], Any] | None = None,
        param_device: str | None = None,
        name: str | None = None,
    ) -> None:
        self.op = op
        self.mag_range = mag_range
        self.randomly_negate = bool(randomly_negate)
        self.mag_to_param = mag_to_param or np.asarray
        self.param_device = param_device or "cpu"
        self.name: str = name or str(getattr(op, "__name__", type(op).__name__))
        one_of(f"{self.name}: param_device", self.param_device, _DEVICES)
        if isinstance(mag_range, np.ndarray):
            if mag_range.ndim != 1 or not len(mag_range):
                raise ArgumentError(f"{self.name}: magnitudes are an array of one dimension")
        elif mag_range is not None and len(mag_range) != 2:
            raise ArgumentError(f"{self.name}: mag_range is (first, last), got {mag_range}")
        positional = [each for each in self._parameters().values() if each.kind in _POSITIONAL]
        if len(positional) < 2:
            raise ArgumentError(f"{self.name}: an augmentation takes data and a parameter")

    def __call__(
        self,
        data: Any,
        *,
        magnitude_bin: int | Operand | SignedBin | None = None,
        num_magnitude_bins: int | None = None,
        **keywords: Any,
    ) -> DataNode:
        """Augment a batch.

        Args:
            data: images or clips, or a constant for all samples.
            magnitude_bin: a number from 0 to `num_magnitude_bins - 1`, for all samples or for each,
                or a result of `signed_bin`.
            num_magnitude_bins: number of magnitude bins.
            **keywords: passed to the function if it takes them.
        """
        self.check_needed(keywords)
        data = promote(data, f"augmentation {self.name}")
        taken = {key: value for key, value in keywords.items() if key in self.keywords}
        if self.mag_range is None:
            parameter = None
        else:
            parameter = self._parameter(magnitude_bin, num_magnitude_bins, data.device)
        result = converted_callee(self.op)(data, parameter, **taken)
        if not isinstance(result, DataNode):
            raise ArgumentError(
                f"augmentation {self.name} must give one data node, got {type(result).__name__}"
            )
        return result

    def augmentation(
        self,
        mag_range: Any = _KEPT,
        randomly_negate: Any = _KEPT,
        mag_to_param: Any = _KEPT,
        param_device: Any = _KEPT,
        name: Any = _KEPT,
        augmentation_cls: type[Augmentation] | None = None,
    ) -> Augmentation:
        """The same function with some settings replaced."""
        given = {
            "mag_range": mag_range,
            "randomly_negate": randomly_negate,
            "mag_to_param": mag_to_param,
            "param_device": param_device,
            "name": name,
        }
        settings = {
            key: getattr(self, key) if value is _KEPT else value for key, value in given.items()
        }
        return (augmentation_cls or type(self))(self.op, **settings)

    @property
    def keywords(self) -> dict[str, bool]:
        """Other arguments of the function, and whether each is required."""
        return {
            name: each.default is inspect.Parameter.empty
            for name, each in list(self._parameters().items())[2:]
            if each.kind in _BY_KEYWORD
        }

    def check_needed(self, given: Mapping[str, Any]) -> None:
        """Raise if a required argument is missing."""
        lacking = [name for name, needed in self.keywords.items() if needed and name not in given]
        if lacking:
            raise ArgumentError(f"augmentation {self.name} needs {', '.join(lacking)}")

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.op).parameters

    def _parameter(self, magnitude_bin: Any, count: int | None, device: str) -> DataNode:
        what = f"augmentation {self.name}"
        magnitudes = self._get_magnitudes(count)
        assert magnitudes is not None
        if isinstance(magnitude_bin, ScalarConstant):
            magnitude_bin = magnitude_bin.value
        elif isinstance(magnitude_bin, ArrayConstant):
            magnitude_bin = promote(magnitude_bin, what)
        if magnitude_bin is None:
            raise ArgumentError(f"{what} needs a magnitude_bin")
        if self.randomly_negate and not isinstance(magnitude_bin, SignedBin):
            magnitude_bin = signed_bin(magnitude_bin)
        number = magnitude_bin.bin if isinstance(magnitude_bin, SignedBin) else magnitude_bin
        check_bin(number, len(magnitudes), what)
        rows = magnitudes if isinstance(number, DataNode) else magnitudes[number : number + 1]
        index = [number if isinstance(number, DataNode) else 0]
        if self.randomly_negate:
            assert isinstance(magnitude_bin, SignedBin)
            pairs = [signed for magnitude in rows for signed in (magnitude, -magnitude)]
            table = self._map_mags_to_params(pairs)
            table = table.reshape(len(rows), 2, *table.shape[1:])
            index.append(magnitude_bin.sign)
        else:
            table = self._map_mags_to_params(rows)
        constant = Constant(table, device="cpu")
        assert isinstance(constant, Operand)
        parameter: DataNode = constant[tuple(index)]
        is_on_gpu = self.param_device == "gpu" or (self.param_device == "auto" and device == "gpu")
        return parameter.gpu() if is_on_gpu else parameter

    def _get_magnitudes(self, num_magnitude_bins: int | None) -> NDArray[Any] | None:
        """The magnitude of each bin; None for functions without a parameter."""
        if self.mag_range is None:
            return None
        if isinstance(self.mag_range, np.ndarray):
            if num_magnitude_bins not in (None, len(self.mag_range)):
                raise ArgumentError(
                    f"augmentation {self.name} has {len(self.mag_range)} magnitudes, "
                    f"num_magnitude_bins is {num_magnitude_bins}"
                )
            return self.mag_range
        if num_magnitude_bins is None:
            raise ArgumentError(f"augmentation {self.name} needs num_magnitude_bins")
        whole_number("num_magnitude_bins", num_magnitude_bins, least=1)
        return np.linspace(*self.mag_range, num_magnitude_bins)

    def _map_mags_to_params(self, magnitudes: Sequence[float] | NDArray[Any]) -> NDArray[Any]:
        """The parameter of each magnitude, along the first dimension."""
        return parameter_table(list(magnitudes), self.mag_to_param, f"augmentation {self.name}")

    def __repr__(self) -> str:
        settings: dict[str, Any] = {"mag_range": self.mag_range, "name": self.name}
        if self.mag_range is not None:
            settings |= {
                "randomly_negate": self.randomly_negate,
                "mag_to_param": getattr(self.mag_to_param, "__name__", self.mag_to_param),
                "param_device": self.param_device,
            }
        listed = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        return f"Augmentation({listed})"


@overload
def augmentation(function: Callable[..., Any]) -> Augmentation: ...


@overload
def augmentation(
    *,
    mag_range: tuple[float, float] | np.ndarray[Any, Any] | None = ...,
    randomly_negate: bool | None = ...,
    mag_to_param: Callable[[float], Any] | None = ...,
    param_device: str | None = ...,
    name: str | None = ...,
    augmentation_cls: type[Augmentation] | None = ...,
) -> Callable[[Callable[..., Any]], Augmentation]: ...


def augmentation(
    function: Callable[..., Any] | None = None,
    *,
    mag_range: tuple[float, float] | np.ndarray[Any, Any] | None = None,
    randomly_negate: bool | None = None,
    mag_to_param: Callable[[float], Any] | None = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
) -> Any:
    """Decorator that makes an `Augmentation` of a function.

    Args:
        function: takes a batch and a parameter and returns a batch; further arguments come from
            the keywords of the call.
        mag_range: magnitudes of the first and last bin, with the others evenly spaced between
            them, or an array of all magnitudes. Without it, the parameter is None.
        randomly_negate: negate the magnitude of each sample with probability 0.5.
        mag_to_param: maps a magnitude to the parameter, a number or an array; by default the
            magnitude itself. Called once per bin when the pipeline is defined.
        param_device: device of the parameter: "cpu", "gpu", or "auto" for that of the data.
        name: the function's by default.
        augmentation_cls: class of the result.
    """

    def decorate(function: Callable[..., Any]) -> Augmentation:
        kind = augmentation_cls or Augmentation
        return kind(function, mag_range, randomly_negate, mag_to_param, param_device, name)

    return decorate if function is None else decorate(function)


def check_keywords(augmentations: Iterable[Augmentation], given: Mapping[str, Any]) -> None:
    """Raise if an augmentation lacks an argument, or no augmentation takes a keyword."""
    known: set[str] = set()
    for each in augmentations:
        each.check_needed(given)
        known |= each.keywords.keys()
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ArgumentError(
            f"no augmentation takes {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
