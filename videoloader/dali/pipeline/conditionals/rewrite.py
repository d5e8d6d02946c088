"""Rewrites the source of a function: each test of a condition becomes calls for both sides.

A branch stays where it is, in the body of the function, so names, closures, `return`, `break` and
the lines of tracebacks keep their meaning. `if test: A else: B` becomes::

    with _vl.Branches(test, ("x",), (lambda: x,)) as _vl_if_1:
        if _vl_if_1.runs_body:
            A
            if _vl_if_1.splits:
                _vl_if_1.end_body()         # keeps x as A leaves it
                x = _vl_if_1.value(0)       # as it was before A
        if _vl_if_1.runs_orelse:
            B
            if _vl_if_1.splits:
                _vl_if_1.end_orelse()       # merges what A and B leave
                x = _vl_if_1.value(0)

With a plain condition one side runs and nothing else happens. `_vl` is `branches.py`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any, TypeVar

from videoloader.dali.pipeline.conditionals.symbols import assigned

RUNTIME = "_vl"
"""The name of the runtime in rewritten code."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FRAMES = {"super", "locals", "vars", "dir", "eval", "exec"}
"""Functions that look at the frame they are called in: they cannot move into a lambda."""

_Node = TypeVar("_Node", bound=ast.AST)
_Definition = TypeVar("_Definition", ast.FunctionDef, ast.AsyncFunctionDef)


def rewrite(function: Function) -> Function:
    """A function that works on data nodes as on plain values; the argument is not changed."""
    return _Rewriter().function(copy.deepcopy(function))


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function, and with rewriters of their own the functions inside it."""

    def __init__(self, tracked: frozenset[str] = frozenset()) -> None:
        self._tracked = tracked  # places that an `if` assigns: they may lack a value after it
        self._ifs: list[str] = []  # names of the conditionals around a statement
        self._in_loop = 0  # of these, those outside the innermost loop
        self._count = 0

    def function(self, node: Function) -> Function:
        """Rewrite a function in place; its decorators, defaults and annotations stay."""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return node
        for inner in ast.walk(node):
            if isinstance(inner, ast.If):
                self._tracked |= assigned([*inner.body, *inner.orelse]).keys()
        node.body = self._block(node.body, tail=True)
        return ast.fix_missing_locations(node)

    # Statements

    def _block(self, statements: Sequence[ast.stmt], *, tail: bool) -> list[ast.stmt]:
        """The rewritten statements.

        Args:
            statements: of a block.
            tail: whether the function ends behind the block, wherever it is left.
        """
        done: list[ast.stmt] = []
        rest = list(statements)
        while rest:
            statement = rest.pop(0)
            if isinstance(statement, ast.If):
                if tail and _returns(statement):
                    rest = _take_in(statement, rest)
                done += self._conditional(statement, tail=tail and not rest)
            elif isinstance(statement, ast.Return):
                done += self._return(statement, tail=tail)
                break  # what follows never runs
            else:
                done += self._statement(statement)
        return done

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Break() | ast.Continue():
                word = "break" if isinstance(node, ast.Break) else "continue"
                return [*self._refusal(word, self._ifs[self._in_loop :], node), node]
            case ast.For() | ast.AsyncFor() | ast.While():
                outside, self._in_loop = self._in_loop, len(self._ifs)
                self._visit_fields(node)
                self._in_loop = outside
                return [node]
            case ast.AugAssign(target=target) if ast.unparse(target) in self._tracked:
                before = self._read(_expression(ast.unparse(target)))
                self._visit_fields(node)
                return [_at(node, ast.Expr(before)), node]
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return [self.visit(node)]
        self._visit_fields(node)
        return [node]

    def _visit_fields(self, node: ast.AST) -> None:
        """Rewrite the blocks and expressions of a statement where they are."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self._block(value, tail=False))
            elif isinstance(value, list):
                for place, child in enumerate(value):
                    if isinstance(child, ast.ExceptHandler | ast.match_case):
                        self._visit_fields(child)
                    elif isinstance(child, ast.AST):
                        value[place] = self.visit(child)
            elif isinstance(value, ast.AST) and not isinstance(value, ast.pattern):
                setattr(node, name, self.visit(value))

    def _conditional(self, node: ast.If, *, tail: bool) -> list[ast.stmt]:
        """An `if` as the statement in the head of this module.

        Args:
            node: the statement.
            tail: whether the function ends behind it; values that branches return are then merged.
        """
        self._count += 1
        name = f"{RUNTIME}_if_{self._count}"
        gives = tail and _returns(node)
        places = assigned([*node.body, *node.orelse])
        start = _call(
            f"{RUNTIME}.Branches",
            self.visit(node.test),
            ast.Tuple([ast.Constant(text) for text in places], ast.Load()),
            ast.Tuple([_lambda(place) for place in places.values()], ast.Load()),
        )
        blocks: list[ast.stmt] = []
        self._ifs.append(name)
        for which, statements in (("body", node.body), ("orelse", node.orelse)):
            block = self._block(statements, tail=gives)
            end = _statement(f"if {name}.splits: {name}.end_{which}()")
            for number, place in enumerate(places.values()):
                end.body += _put_back(name, number, place)
            runs = _statement(f"if {name}.runs_{which}: pass")
            runs.body = [*block, _at(node, end)]
            blocks.append(_at(node, runs))
        self._ifs.pop()
        scope = ast.With([ast.withitem(start, ast.Name(name, ast.Store()))], blocks)
        result: list[ast.stmt] = [_at(node, scope)]
        if gives:
            given = _statement(f"if {name}.gives: pass")
            value = ast.Return(_expression(f"{name}.result()"))
            given.body = self._return(_at(node, value), tail=True, is_made=True)
            result.append(_at(node, given))
        return result

    def _return(self, node: ast.Return, *, tail: bool, is_made: bool = False) -> list[ast.stmt]:
        """A `return`: inside conditionals at the end of a function it gives its value to them."""
        if node.value is not None and not is_made:
            node.value = self.visit(node.value)
        if not self._ifs:
            return [node]
        if not tail:
            return [*self._refusal("return", self._ifs, node), node]
        value = ast.Constant(None) if node.value is None else node.value
        return [_at(node, ast.Expr(_call(f"{self._ifs[-1]}.give", value)))]

    def _refusal(self, word: str, ifs: Sequence[str], node: ast.stmt) -> list[ast.stmt]:
        """A call that fails if a condition around the statement is a data node."""
        if not ifs:
            return []
        names = [ast.Name(name, ast.Load()) for name in ifs]
        return [_at(node, ast.Expr(_call(f"{RUNTIME}.refuse", ast.Constant(word), *names)))]

    # Functions inside, expressions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._inner(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._inner(node)

    def _inner(self, node: _Definition) -> _Definition:
        body, node.body = node.body, []
        self._visit_fields(node)  # decorators, defaults and annotations run out here
        node.body = body
        _Rewriter(self._tracked).function(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        for place, child in enumerate(node.body):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                node.body[place] = self.visit(child)
        return node  # statements of its own stay: lambdas do not see the names of a class

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_tracked = isinstance(node.ctx, ast.Load) and node.id in self._tracked
        return self._read(node) if is_tracked else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._visit_place(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._visit_place(node)

    def _visit_place(self, node: ast.Attribute | ast.Subscript) -> ast.expr:
        text = ast.unparse(node)
        self.generic_visit(node)
        is_tracked = isinstance(node.ctx, ast.Load) and text in self._tracked
        return self._read(node) if is_tracked else node

    @staticmethod
    def _read(node: ast.expr) -> ast.expr:
        """A value that a branch may not have assigned is looked at before it is used."""
        return _at(node, _call(f"{RUNTIME}.read", node))

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id in _FRAMES):
            node.func = _at(node.func, _call(f"{RUNTIME}.converted", node.func))
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return _at(node, _call(f"{RUNTIME}.not_", node.operand))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if not all(map(_can_wait, node.values[1:])):
            self.generic_visit(node)
            return node
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        first, *others = node.values
        return _at(node, _call(f"{RUNTIME}.{name}", first, *map(_lambda, others)))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        can_wait = _can_wait(node.body) and _can_wait(node.orelse)
        self.generic_visit(node)
        if not can_wait:
            return node
        values = map(_lambda, (node.body, node.orelse))
        return _at(node, _call(f"{RUNTIME}.if_expression", node.test, *values))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        can_wait = all(map(_can_wait, node.comparators[1:]))
        self.generic_visit(node)
        if len(node.ops) == 1 or not can_wait:
            return node
        links = []
        for place, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            value = right if place == 0 else _lambda(right)
            links += [ast.Constant(type(operator).__name__), value]
        return _at(node, _call(f"{RUNTIME}.compare", node.left, *links))


def _returns(node: ast.If) -> bool:
    """Whether a `return` of the function lies in a branch."""
    waiting: list[ast.AST] = [*node.body, *node.orelse]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Return):
            return True
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            waiting += ast.iter_child_nodes(each)
    return False


def _ends(statements: Sequence[ast.stmt]) -> bool:
    """Whether a block never goes on behind its end."""
    match statements[-1] if statements else None:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=body, orelse=orelse):
            return _ends(body) and _ends(orelse)
    return False


def _take_in(node: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
    """Move the statements after an `if` into the branch that continues; returns the others."""
    body_ends, orelse_ends = _ends(node.body), _ends(node.orelse)
    if body_ends and not orelse_ends:
        node.orelse = [*node.orelse, *rest]
    elif orelse_ends and not body_ends:
        node.body = [*node.body, *rest]
    elif not body_ends:
        return rest
    return []


def _can_wait(node: ast.expr) -> bool:
    """Whether an expression means the same inside a lambda."""
    return not any(
        isinstance(each, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await)
        or (isinstance(each, ast.Name) and each.id in _FRAMES)
        for each in ast.walk(node)
    )


def _put_back(name: str, number: int, place: ast.expr) -> list[ast.stmt]:
    """Statements that give a place the value that the conditional has for it."""
    text = ast.unparse(place)
    if isinstance(place, ast.Name):
        return [_statement(f"{text} = {name}.value({number})")]
    put = f"if {name}.has({number}): {text} = {name}.value({number})"
    return [_statement(f"{put}\nelif {name}.lacks({number}): del {text}")]


def _statement(source: str) -> Any:
    """A new statement; it has no place in the source yet, see `_at`."""
    (node,) = ast.parse(source).body
    for each in ast.walk(node):
        for attribute in each._attributes:
            if hasattr(each, attribute):
                delattr(each, attribute)
    return node


def _expression(source: str) -> ast.expr:
    value: ast.expr = _statement(source).value
    return value


def _call(function: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_expression(function), list(arguments), [])


def _lambda(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, value)


def _at(origin: ast.AST, node: _Node) -> _Node:
    """A node with the place of another in the source for all in it that has none."""
    for each in ast.walk(node):
        if "lineno" in each._attributes and not hasattr(each, "lineno"):
            ast.copy_location(each, origin)
    return node
