"""Guesses what a program expects in a variable, from the keys and items that it reads, so that a trial run can pin it.

The program is read and never run. Each name stands for the shapes that it may have; reading a key of a name adds the key
to all of them. The guess is for pins only: a wrong one makes a trial fail that could have run, and nothing else.
"""

import ast
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.language.document import Json


LEAF: Final = "1"  # a text that can be read as a number, too
_MAX_DEPTH: Final = 12
_MAX_CALLS: Final = 40
# Calls that return what they are given, or its items in another order.
_SAME: Final = frozenset({"list", "sorted", "reversed", "tuple", "set"})


@dataclass(eq=False, slots=True)
class Shape:
    """Describes what a program reads of a value."""

    fields: dict[str, "Shape"] = field(default_factory=dict)
    items: "Shape | None" = None
    parsed: "Shape | None" = None  # what it reads of the JSON in a text

    def get_field(self, name: str) -> "Shape":
        return self.fields.setdefault(name, Shape())

    def get_item(self) -> "Shape":
        self.items = self.items or Shape()
        return self.items

    def parse(self) -> "Shape":
        self.parsed = self.parsed or Shape()
        return self.parsed

    def build_value(self, depth: int = 0) -> Json:
        """Return a value of this shape."""
        if depth > _MAX_DEPTH:
            return LEAF
        if self.fields:
            return {name: part.build_value(depth + 1) for name, part in self.fields.items()}
        if self.items is not None:
            return [self.items.build_value(depth + 1)]
        return LEAF


def guess_shapes(source: str, names: Iterable[str]) -> dict[str, Shape]:
    """Return the shape of each argument of the program's function ``main``; none for a program that can't be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    shapes = {name: Shape() for name in names}
    if (main := functions.get("main")) is not None:
        reader = _Reader(functions, {name: [shape] for name, shape in shapes.items()})
        reader.read_statements(main.body)
    return shapes


@dataclass(slots=True)
class _Reader:
    """Reads the statements of one function. ``names`` are the shapes that each of its names may have."""

    functions: dict[str, ast.FunctionDef]
    names: dict[str, list[Shape]]
    calls: list[str] = field(default_factory=list)

    def read_statements(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._read_statement(statement)

    def _read_statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            shapes = self._read(statement.value)
            for target in statement.targets:
                self._bind(target, shapes)
        elif isinstance(statement, ast.For):
            self._bind_item(statement.target, statement.iter)
        else:
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.expr):
                    self._read(child)
        for name in ("body", "orelse", "finalbody"):
            self.read_statements(getattr(statement, name, ()))
        for handler in getattr(statement, "handlers", ()):
            self.read_statements(handler.body)

    def _bind(self, target: ast.expr, shapes: list[Shape]) -> None:
        """A name keeps its earlier shapes, since the other branch of a condition may have set them."""
        if isinstance(target, ast.Name) and shapes:
            self.names[target.id] = [*self.names.get(target.id, ()), *shapes][-_MAX_DEPTH:]

    def _bind_item(self, target: ast.expr, source: ast.expr) -> None:
        if isinstance(source, ast.Call) and _get_name(source.func) == "enumerate" and source.args:
            source = source.args[0]
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        shapes = self._read(source)
        if isinstance(target, ast.Name):
            self.names[target.id] = [shape.get_item() for shape in shapes]

    def _read(self, node: ast.expr) -> list[Shape]:
        """Return the shapes that an expression may have, and add what it reads of others to them."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, [])
        if isinstance(node, ast.Subscript):
            return self._read_subscript(node)
        if isinstance(node, ast.Call):
            return self._read_call(node)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            for generator in node.generators:
                self._bind_item(generator.target, generator.iter)
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        shapes = [shape for child in children for shape in self._read(child)]
        return shapes if isinstance(node, ast.BoolOp | ast.IfExp) else []

    def _read_subscript(self, node: ast.Subscript) -> list[Shape]:
        shapes, key = self._read(node.value), node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return [shape.get_field(key.value) for shape in shapes]
        if isinstance(key, ast.Slice):
            return shapes
        self._read(key)
        return [shape.get_item() for shape in shapes] if _is_index(key) else []

    def _read_call(self, node: ast.Call) -> list[Shape]:
        name = _get_name(node.func)
        arguments = [self._read(argument) for argument in node.args]
        first = arguments[0] if arguments else []
        if isinstance(node.func, ast.Attribute):
            owner = self._read(node.func.value)
            key = node.args[0] if node.args else None
            if name == "get" and isinstance(key, ast.Constant) and isinstance(key.value, str):
                return [shape.get_field(key.value) for shape in owner]
            if name in ("strip", "replace", "encode", "decode"):
                return owner
        if name in ("loads", "literal_eval"):
            return [shape.parse() for shape in first]
        if name in _SAME:
            return first
        if name in self.functions and self.calls.count(name) < 2 and len(self.calls) < _MAX_CALLS:
            return self._read_function(self.functions[name], arguments)
        return []

    def _read_function(
        self, function: ast.FunctionDef, arguments: list[list[Shape]]
    ) -> list[Shape]:
        names = [argument.arg for argument in function.args.args]
        self.calls.append(function.name)
        reader = _Reader(self.functions, dict(zip(names, arguments, strict=False)), self.calls)
        reader.read_statements(function.body)
        returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
        return [shape for value in returned if value is not None for shape in reader._read(value)]


def _get_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_index(key: ast.expr) -> bool:
    """Return whether a subscript is certainly the number of an item."""
    if isinstance(key, ast.UnaryOp):
        key = key.operand
    return isinstance(key, ast.Constant) and isinstance(key.value, int)
