"""Pickles callables for other processes; functions that cannot be imported there go by value."""

from __future__ import annotations

import functools
import importlib
import io
import marshal
import pickle
from collections.abc import Callable, Iterator, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar

from videoloader.errors import ArgumentError, ArgumentTypeError

_Function = TypeVar("_Function", bound=Callable[..., Any])
_BY_VALUE = "_pickle_by_value"


def pickle_by_value(function: _Function) -> _Function:
    """Let a global function travel to worker processes as code, not as a name to import.

    Lambdas and functions inside functions always do.
    """
    if not isinstance(function, FunctionType):
        raise ArgumentTypeError(
            f"only a function can be pickled by value, got {type(function).__name__}"
        )
    setattr(function, _BY_VALUE, True)
    return function


class CallbackPickler(NamedTuple):
    """A pair of functions that serialize callables and restore them in a worker process.

    Attributes:
        dumps: serializes a value.
        loads: restores it; the worker must be able to import this function.
        dumps_arguments: keyword arguments of `dumps`.
        loads_arguments: keyword arguments of `loads`.
    """

    dumps: Callable[..., bytes]
    loads: Callable[..., Any]
    dumps_arguments: Mapping[str, Any] = {}
    loads_arguments: Mapping[str, Any] = {}

    @classmethod
    def of(cls, given: Any) -> CallbackPickler:
        """The pickler for the argument `py_callback_pickler` of a pipeline.

        Args:
            given: an object with `dumps` and `loads`, such as the module `dill`; a tuple of such
                an object and keyword arguments of both; None for the pickler of this module.
        """
        if given is None:
            return cls(_dumps, pickle.loads)
        if isinstance(given, cls):
            return given
        module, *keywords = given if isinstance(given, tuple | list) else (given,)
        if not (hasattr(module, "dumps") and hasattr(module, "loads")) or len(keywords) > 2:
            raise ArgumentError(
                "py_callback_pickler is an object with dumps and loads, or a tuple of one, "
                f"keywords of dumps and keywords of loads; got {given!r}"
            )
        return cls(module.dumps, module.loads, *(each or {} for each in keywords))

    def pack(self, value: Any) -> bytes:
        """The bytes of a value."""
        return self.dumps(value, **self.dumps_arguments)

    def loader(self) -> Callable[[bytes], Any]:
        """A function that restores values from bytes, for a process without this object."""
        return functools.partial(self.loads, **self.loads_arguments)


def pickle_for_program(value: Any) -> bytes:
    """Pickle a value for an interpreter that does not run the main script.

    Functions of the main script go by value, too.

    Raises:
        ArgumentError: something cannot be pickled, or is a class of the main script.
    """
    stream = io.BytesIO()
    try:
        _ProgramPickler(stream).dump(value)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ArgumentError(
            f"{value!r:.80} cannot be pickled for another process ({error}); make what does not "
            "pickle inside the function that needs it"
        ) from error
    return stream.getvalue()


def _dumps(value: Any) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream).dump(value)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles lambdas, inner functions and functions of `pickle_by_value` as code."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, FunctionType) and _goes_by_value(value):
            return _reduce(value)
        return NotImplemented


class _ProgramPickler(_Pickler):
    """Pickles functions of the main script as code."""

    def reducer_override(self, value: Any) -> Any:
        if getattr(value, "__module__", "") == "__main__":
            if isinstance(value, FunctionType):
                return _reduce(value)
            if isinstance(value, type):
                raise ArgumentError(
                    f"{value.__qualname__} is a class of the main script, which other processes do "
                    "not run; define it in a module that can be imported"
                )
        return super().reducer_override(value)


def _goes_by_value(function: FunctionType) -> bool:
    is_global = "<" not in function.__qualname__  # "<lambda>", "f.<locals>.g"
    return not is_global or hasattr(function, _BY_VALUE)


def _reduce(function: FunctionType) -> tuple[Any, ...]:
    """Make an empty function first, then fill it, since it may refer to itself."""
    cells = [_contents(cell) for cell in function.__closure__ or ()]
    names = set(_global_names(function.__code__))
    used = {name: value for name, value in function.__globals__.items() if name in names}
    shell = (marshal.dumps(function.__code__), function.__module__, len(cells))
    state = (
        function.__name__,
        function.__qualname__,
        function.__defaults__,
        function.__kwdefaults__,
        function.__dict__,
        used,
        cells,
    )
    return _make, shell, state, None, None, _fill


def _contents(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not assigned yet
        return ()


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _make(code: bytes, module: str, cells: int) -> FunctionType:
    scope = {"__builtins__": __builtins__, "__name__": module}
    return FunctionType(marshal.loads(code), scope, closure=tuple(CellType() for _ in range(cells)))


def _fill(function: FunctionType, state: tuple[Any, ...]) -> None:
    name, qualname, defaults, keyword_defaults, attributes, used, cells = state
    function.__name__, function.__qualname__ = name, qualname
    function.__defaults__, function.__kwdefaults__ = defaults, keyword_defaults
    function.__dict__.update(attributes)
    function.__globals__.update(used)
    for cell, contents in zip(function.__closure__ or (), cells, strict=True):
        if contents:
            (cell.cell_contents,) = contents
