"""The targets of assignments: local names, and attributes and elements of objects."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(statements: Iterable[ast.stmt]) -> dict[str, ast.expr]:
    """The places that statements may assign or delete, by their text, names first.

    `box.item` and `table["key"]` count unless the statements assign `box` or `table` as well:
    another object has no earlier value to go back to.
    """
    found = _Assigned()
    for statement in statements:
        found.visit(statement)
    names: dict[str, ast.expr] = {name: ast.Name(name, ast.Load()) for name in sorted(found.names)}
    places = sorted(found.places.items())
    return names | {text: place for text, place in places if not _names(place) & found.names}


def _is_plain_place(node: ast.expr) -> bool:
    """Whether an expression is made of names, attributes and elements of known index only."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=value):
            return _is_plain_place(value)
        case ast.Subscript(value=value, slice=index):
            return _is_plain_place(value) and isinstance(index, ast.Name | ast.Constant)
    return False


def _names(place: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(place) if isinstance(node, ast.Name)}


class _Assigned(ast.NodeVisitor):
    """Collects names and places that are assigned, except in inner functions."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.places: dict[str, ast.expr] = {}

    def generic_visit(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self.names.add(name)
            case (
                ast.Attribute(ctx=ast.Store() | ast.Del())
                | ast.Subscript(ctx=ast.Store() | ast.Del())
            ):
                if _is_plain_place(node):
                    text = ast.unparse(node)
                    self.places[text] = ast.parse(text, mode="eval").body
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                self.names.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                self.names.add(name)
            case ast.alias(name=module, asname=other):
                self.names.add(other or module.partition(".")[0])
        if isinstance(node, _COMPREHENSIONS):
            self._visit_comprehension(node)
        elif isinstance(node, _SCOPES):
            self._visit_scope(node)
        else:
            super().generic_visit(node)

    def _visit_comprehension(self, node: ast.AST) -> None:
        """Its own variables are its own; `:=` in it assigns outside."""
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                self.names.add(child.target.id)

    def _visit_scope(self, node: ast.AST) -> None:
        """A function or class assigns its name; names inside belong to it."""
        if not isinstance(node, ast.Lambda):
            self.names.add(node.name)  # type: ignore[attr-defined]
