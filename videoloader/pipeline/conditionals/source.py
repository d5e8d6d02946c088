"""The syntax tree of a function, from the file that it comes from."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import CodeType

from videoloader.errors import ArgumentError

__all__ = ["function_tree"]

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def function_tree(code: CodeType) -> tuple[Function, str]:
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
    """Whether a function is what some code was compiled from."""
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
