"""Lists the modules that a program imports, also one that this Python can't parse."""

import ast
import re
import warnings
from collections.abc import Mapping
from typing import Final

from workflows.engine.language.document import NodeSpec
from workflows.engine.nodes.data.code import LANGUAGES


_LONG_STRING: Final = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)
_IMPORT: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w]*)", re.MULTILINE)
MAX_CHARACTERS: Final = 256 * 1024


def list_missing_modules(node: NodeSpec, modules: Mapping[str, frozenset[str] | None]) -> list[str]:
    """Return the modules that a code node imports and that are not among those of its language."""
    language = LANGUAGES.get(str(node.data.get("code_language") or "python3"))
    available = modules.get(language or "")
    if node.kind != "code" or available is None:
        return []
    imported = list_imports(str(node.data.get("code") or ""))
    return [module for module in imported if module not in available]


def list_imports(source: str) -> list[str]:
    """Return the first part of each imported module's name, without repetitions."""
    if len(source) > MAX_CHARACTERS:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the strings of the program
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        names = _IMPORT.findall(_LONG_STRING.sub("", source))
    else:
        names = [name for node in ast.walk(tree) for name in _list_names(node)]
    return list(dict.fromkeys(name.split(".")[0] for name in names))


def _list_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []
