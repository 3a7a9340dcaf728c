"""Reads what a program is made of: the modules that it needs, also if this Python can't parse it, and its constructs."""

import ast
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from workflows.engine.language.document import NodeSpec
from workflows.engine.nodes.data.code import LANGUAGES


_LONG_STRING: Final = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)
_IMPORT: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w]*)", re.MULTILINE)
MAX_CHARACTERS: Final = 256 * 1024
# With a handler of one of these, a program goes on without a module that is missing.
_HANDLED_BY: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
# Names of parts that the parser has no class for.
WILDCARD: Final = "*"
RELATIVE_IMPORT: Final = "."


@dataclass(frozen=True, slots=True)
class Program:
    """A program consists of these: the modules that it needs, and the names of its kinds of parts, such as ClassDef."""

    imports: tuple[str, ...]
    parts: frozenset[str] | None  # None if the parser of this Python doesn't read the program


def list_missing_modules(node: NodeSpec, modules: Mapping[str, frozenset[str] | None]) -> list[str]:
    """Return the modules that a code node imports and that are not among those of its language."""
    language = LANGUAGES.get(str(node.data.get("code_language") or "python3"))
    available = modules.get(language or "")
    if node.kind != "code" or available is None:
        return []
    imported = list_imports(str(node.data.get("code") or ""))
    return [module for module in imported if module not in available]


def list_imports(source: str) -> tuple[str, ...]:
    """Return the first part of each imported module's name, without repetitions.

    An import that the program tries, and whose failure it handles, doesn't count.
    """
    return () if len(source) > MAX_CHARACTERS else read_program(source).imports


@lru_cache(maxsize=64)
def read_program(source: str) -> Program:
    """Return what a program is made of, as far as the parser of this Python reads it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the strings of the program
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Program(_list_first(_IMPORT.findall(_LONG_STRING.sub("", source))), None)
    names = (name for node in _iter_needed(tree) for name in _list_names(node))
    return Program(_list_first(names), frozenset(map(_name_part, ast.walk(tree))))


def _list_first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.split(".")[0] for name in names))


def _name_part(part: ast.AST) -> str:
    if isinstance(part, ast.alias) and part.name == "*":
        return WILDCARD
    is_relative = isinstance(part, ast.ImportFrom) and part.level > 0
    return RELATIVE_IMPORT if is_relative else type(part).__name__


def _iter_needed(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a program, without what it tries to import."""
    parts: deque[ast.AST] = deque([tree])
    while parts:
        part = parts.popleft()
        yield part
        if isinstance(part, ast.Try) and _handles_missing(part):
            parts += (*part.handlers, *part.orelse, *part.finalbody)
        else:
            parts += ast.iter_child_nodes(part)


def _handles_missing(part: ast.Try) -> bool:
    for handler in part.handlers:
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {each.id for each in types if isinstance(each, ast.Name)}
        if handler.type is None or names & _HANDLED_BY:
            return True
    return False


def _list_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []
