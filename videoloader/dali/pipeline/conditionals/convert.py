"""Functions whose conditions may be data nodes, from functions as they were written.

A function is converted when it is called by a converted one, so all code of the user that a
definition calls takes part. The standard library, installed packages and this one do not.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any, Literal, TypeVar

from videoloader.dali.pipeline.conditionals.rewrite import RUNTIME, Function, rewrite
from videoloader.errors import ArgumentError
from videoloader.machinery.system.callers import PACKAGE

_Callable = TypeVar("_Callable", bound=Callable[..., Any])

_INSTALLED = tuple(
    {str(Path(sysconfig.get_path(name)).resolve()) for name in ("purelib", "platlib")}
)
_STANDARD = tuple(
    {str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib")}
)
NOT_A_DEFINITION = (
    "@do_not_convert is for functions that the definition of a pipeline calls, not for the "
    "definition: that is converted only with enable_conditionals=True"
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_FACTORY, _FUNCTION = "_vl_factory", "_vl_function"
_FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)


def do_not_convert(function: _Callable) -> _Callable:
    """Leave a function as it is where a definition with conditionals calls it.

    Also those that it calls. Inside, a data node has no truth value.

    Raises:
        ArgumentError: the function makes pipelines: whether a definition is converted is what
            `enable_conditionals` says.

    >>> from videoloader.dali import fn, pipeline_def
    >>> @do_not_convert
    ... def doubled(data, times):  # `if` is Python's here
    ...     return data * 2 if times > 1 else data
    >>> @pipeline_def(batch_size=2, num_threads=1, enable_conditionals=True)
    ... def numbers():
    ...     return doubled(fn.ones(shape=[1]), 3)
    >>> with numbers() as pipe:
    ...     pipe.run()[0].as_tensor()
    tensor([[2],
            [2]], dtype=torch.int32)
    """
    if getattr(function, "_is_pipeline_def", False):
        raise ArgumentError(NOT_A_DEFINITION)

    @functools.wraps(function)
    def unconverted(*args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords)

    unconverted._is_unconverted = True  # type: ignore[attr-defined]
    return unconverted  # type: ignore[return-value]  # in this package: it is not converted


class DefinitionConverter:
    """Converts functions, each once.

    Args:
        runtime: what rewritten code calls, by name; see `rewrite.py`.
    """

    def __init__(self, runtime: Mapping[str, Any]) -> None:
        self._runtime = SimpleNamespace(**runtime, converted=self.callee)
        self._packages: set[str] = set()
        self._codes: dict[tuple[str, CodeType], CodeType] = {}

    def definition(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The converted definition of a pipeline; `ArgumentError` where there is no source."""
        if isinstance(function, MethodType):
            return MethodType(self.definition(function.__func__), function.__self__)
        if isinstance(function, FunctionType):
            self._packages.add(_package(function))
            return self._converted(function)
        called: Callable[..., Any] = self.callee(function)
        return called

    def callee(self, function: Any) -> Any:
        """Resolve a call of a converted function; user code is converted too."""
        match function:
            case FunctionType():
                return self._of_user(function)
            case type():
                return function
            case MethodType(__func__=inner, __self__=owner):
                pass
            case functools.partial(func=inner, args=args, keywords=keywords):
                return functools.partial(self.callee(inner), *args, **keywords)
            case _:
                inner, owner = inspect.getattr_static(type(function), "__call__", None), function
        converted = self._of_user(inner) if isinstance(inner, FunctionType) else inner
        return function if converted is inner else MethodType(converted, owner)

    def _of_user(self, function: FunctionType) -> FunctionType:
        """A function, converted unless it is of a library or has no source."""
        kind = _kind_of_file(function.__code__.co_filename)
        if kind != "user" and not (kind == "installed" and _package(function) in self._packages):
            return function
        try:
            return self._converted(function)
        except ArgumentError:  # a data node in a condition then says so itself
            return function

    def _converted(self, function: FunctionType) -> FunctionType:
        code = function.__code__
        if RUNTIME in code.co_freevars:
            return function  # inside one that was converted
        key = (code.co_filename, code)  # code of the same text in another file is equal
        if key not in self._codes:
            self._codes[key] = _compiled(code)
        new = self._codes[key]
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        cells[RUNTIME] = CellType(self._runtime)
        closure = tuple(cells[name] for name in new.co_freevars)
        result = FunctionType(
            new, function.__globals__, function.__name__, function.__defaults__, closure
        )
        result.__kwdefaults__ = function.__kwdefaults__
        functools.update_wrapper(result, function)
        return result


@functools.cache
def _kind_of_file(name: str) -> Literal["installed", "fixed", "user"]:
    if name.startswith(PACKAGE):
        return "fixed"
    path = str(Path(name).resolve())
    if path.startswith(_INSTALLED):
        return "installed"
    return "fixed" if path.startswith(_STANDARD) else "user"


def _package(function: FunctionType) -> str:
    """The outermost package that a function is in."""
    return str(function.__module__ or "").partition(".")[0]


def _compiled(code: CodeType) -> CodeType:
    """The code of a rewritten function, which takes the same free variables and the runtime."""
    tree, owner = _function_tree(code)
    function = rewrite(tree)
    if owner:
        function = _Mangler(owner).visit(function)
    _strip(function)
    names = [RUNTIME, *code.co_freevars]
    factory = ast.parse(f"def {_FACTORY}({', '.join(names)}): pass")
    outer = factory.body[0]
    assert isinstance(outer, ast.FunctionDef)
    if isinstance(function, ast.Lambda):
        outer.body = [ast.Return(function)]
    else:
        function.name = _FUNCTION  # its own name means what it means outside
        outer.body = [function]
    ast.fix_missing_locations(factory)
    flags = code.co_flags & _FUTURE
    module = compile(factory, code.co_filename, "exec", flags=flags, dont_inherit=True)
    (made,) = _inner_codes(_inner_codes(module)[0])
    return _renamed(made, code.co_name, made.co_qualname, code.co_qualname)


def _strip(function: Function) -> None:
    """Remove decorators, defaults and annotations: only the code is wanted."""
    arguments = function.args
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [each and ast.Constant(None) for each in arguments.kw_defaults]
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg):
            each.annotation = None
    if not isinstance(function, ast.Lambda):
        function.decorator_list, function.returns = [], None


def _inner_codes(code: CodeType) -> list[CodeType]:
    """The functions defined in some code."""
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _renamed(code: CodeType, name: str, made: str, original: str) -> CodeType:
    """The code of a function, and of functions inside it, with their original names."""
    consts = tuple(
        _renamed(each, each.co_name, made, original) if isinstance(each, CodeType) else each
        for each in code.co_consts
    )
    qualified = original + code.co_qualname.removeprefix(made)
    return code.replace(co_name=name, co_qualname=qualified, co_consts=consts)


class _Mangler(ast.NodeTransformer):
    """Gives names such as `__size` the form that they have inside a class."""

    def __init__(self, owner: str) -> None:
        self._owner = owner.lstrip("_")

    def _mangled(self, name: str) -> str:
        is_private = name.startswith("__") and not name.endswith("__") and "." not in name
        return f"_{self._owner}{name}" if is_private and self._owner else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._mangled(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._mangled(node.arg)
        return node


def _function_tree(code: CodeType) -> tuple[Function, str]:
    """The definition of a function with the lines of its file, and the class that it is in.

    Raises:
        ArgumentError: the source is not there, or has changed since it was loaded.
    """
    source = "".join(linecache.getlines(code.co_filename))
    where = f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"
    if not source:
        raise ArgumentError(
            f"the source of {where} is not available, and conditionals need it: "
            "define it in a file or a notebook, not with exec or python -c"
        )
    try:
        functions = _functions(source)
    except SyntaxError as error:
        raise ArgumentError(f"the source of {where} cannot be read: {error}") from error
    found = [pair for pair in functions if _is_of(pair[0], code)]
    if not found:
        raise ArgumentError(
            f"{where} is not in its file: it has changed since it was loaded; start again"
        )
    return min(found, key=lambda pair: _extent(pair[0]))


@functools.lru_cache(maxsize=64)
def _functions(source: str) -> tuple[tuple[Function, str], ...]:
    """Every function in a file, with the innermost class around it."""

    def within(node: ast.AST, owner: str) -> Iterator[tuple[Function, str]]:
        if isinstance(node, _FUNCTIONS):
            yield node, owner
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        for child in ast.iter_child_nodes(node):
            yield from within(child, inner)

    return tuple(within(ast.parse(source), ""))


def _is_of(node: Function, code: CodeType) -> bool:
    """Whether some code was compiled from a function."""
    if not isinstance(node, ast.Lambda):
        lines = [node.lineno, *(each.lineno for each in node.decorator_list)]
        return node.name == code.co_name and min(lines) == code.co_firstlineno
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    body = node.body
    return names == list(code.co_varnames[: len(names)]) and all(
        (body.lineno, body.col_offset) <= (line, column)
        and (end, last) <= (body.end_lineno, body.end_col_offset)
        for line, end, column, last in code.co_positions()
        if None not in (line, end, column, last) and last
    )


def _extent(node: Function) -> tuple[int, int]:
    """Size of a function in its file: of nested lambdas, the inner one is smaller."""
    end, last = node.end_lineno or node.lineno, node.end_col_offset or 0
    return end - node.lineno, last - node.col_offset
