"""Leads the imports of a program to shims, since monty has no modules that are programs themselves.

An import of one is replaced by an assignment of the shim's object, in the same line.
"""

import re
from collections.abc import Iterator
from typing import Final

from workflows.sandbox.shims.http import REQUESTS
from workflows.sandbox.shims.sources import SHIMS as PURE_SHIMS


SHIMS: Final = {**PURE_SHIMS, "requests": REQUESTS}
# Modules that programs use without importing them, as Dify's sandbox allows.
IMPLIED: Final = ("json", "re", "base64")

_NAME: Final = r"[A-Za-z_]\w*"
_PART: Final = rf"{_NAME}(?:\.{_NAME})*(?:[ \t]+as[ \t]+{_NAME})?"
_PARTS: Final = rf"{_PART}(?:[ \t]*,[ \t]*{_PART})*"
_IMPORT: Final = re.compile(
    rf"^([ \t]*)import[ \t]+({_PARTS})(?=[ \t]*(?:[#;\r\n]|\Z))", re.MULTILINE
)
_MODULES: Final = (*SHIMS, "requests.exceptions")
_FROM: Final = re.compile(
    rf"^([ \t]*)from[ \t]+({'|'.join(map(re.escape, _MODULES))})[ \t]+import[ \t]+\(?[ \t]*({_PARTS})[ \t]*,?[ \t]*\)?"
    r"(?=[ \t]*(?:[#;\r\n]|\Z))",
    re.MULTILINE,
)


def lead_imports_to_shims(source: str) -> str:
    """Return the program with assignments of shims instead of their imports. Every line keeps its number."""
    source = _FROM.sub(_assign_names, source)
    return _IMPORT.sub(_assign_modules, source)


def list_preludes(source: str) -> Iterator[str]:
    """Yield the programs to run before the program: the shims that it assigns, and the modules it uses unimported."""
    implied = [name for name in IMPLIED if re.search(rf"\b{name}\.", source)]
    if implied:
        yield f"import {', '.join(implied)}"
    for name, shim in SHIMS.items():
        if f"__shim_{name}" in source:
            yield shim


def _assign_modules(match: re.Match[str]) -> str:
    parts = [part.split() for part in match[2].split(",")]
    if not any(part[0] in _MODULES for part in parts):
        return match[0]
    return match[1] + "; ".join(map(_assign_module, parts))


def _assign_module(part: list[str]) -> str:
    """Return the statement for a module and, after ``as``, its name in the program."""
    if part[0] not in _MODULES:
        return f"import {' '.join(part)}"
    root = part[0].partition(".")[0]
    return f"{part[-1]} = {_name_object(part[0])}" if len(part) > 1 else f"{root} = __shim_{root}"


def _assign_names(match: re.Match[str]) -> str:
    parts = [part.split() for part in match[3].split(",")]
    return match[1] + "; ".join(
        f"{part[-1]} = {_name_object(match[2])}.{part[0]}" for part in parts
    )


def _name_object(module: str) -> str:
    root, dot, rest = module.partition(".")
    return f"__shim_{root}{dot}{rest}"
