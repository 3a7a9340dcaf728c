"""Renders Jinja2 templates that are simple enough for this process: plain text and ``{{ a.b.c }}``, nothing else.

All other templates are rendered by the runner pool, since a template is code. Nothing is evaluated here:
names are looked up in JSON values. Wherever Jinja would do more than that (call a method, apply a filter, or fail at an
undefined name in the middle of a path), the template is passed to the runner pool.
"""

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from workflows.engine.language.document import Json, Selector
from workflows.engine.language.values import to_json


_LOOKUP: Final = re.compile(
    r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*(?:\s*\.\s*[A-Za-z_][A-Za-z0-9_]*)*)\s*\}\}"
)
_NEWLINE: Final = re.compile(r"\r\n|\r|\n")

# Reserved names in an expression, and Jinja's globals.
_SPECIAL: Final = frozenset(keyword.kwlist) | {
    *("true", "false", "none", "self", "super", "caller", "varargs", "kwargs", "loop"),
    *("range", "dict", "lipsum", "cycler", "joiner", "namespace"),
}


class _Undefined:
    """A name or key that does not exist: it prints nothing and has no attributes."""


_UNDEFINED: Final = _Undefined()
_UNKNOWN: Final = object()  # a value that only Jinja can look up


@dataclass(frozen=True, slots=True)
class PlainTemplate:
    """A parsed template: literal text, and paths into the inputs."""

    segments: tuple[str | Selector, ...]

    def render(self, inputs: Mapping[str, Json], *, prints_json: bool = False) -> str | None:
        """Return the text that Jinja would give, or None when these values need the runner pool after all.

        With ``prints_json``, lists and objects are printed as JSON instead of as Python prints them.
        """
        parts: list[str] = []
        for segment in self.segments:
            if isinstance(segment, str):
                parts.append(segment)
                continue
            value = _look_up(inputs, segment)
            if value is _UNKNOWN:
                return None
            parts.append(_print(value, prints_json=prints_json))
        return "".join(parts)


@lru_cache(maxsize=1024)
def parse_plain_template(source: str) -> PlainTemplate | None:
    """Return the template for rendering in process, or None when it needs the runner pool."""
    if "{%" in source or "{#" in source:
        return None
    text = _NEWLINE.sub("\n", source).removesuffix("\n")  # Jinja drops one newline at the end
    segments: list[str | Selector] = []
    position = 0
    while (start := text.find("{{", position)) >= 0:
        match = _LOOKUP.match(text, start)
        if match is None:
            return None
        path = tuple(re.split(r"\s*\.\s*", match[1]))
        if path[0] in _SPECIAL or path[0].startswith("__"):
            return None
        if start > position:
            segments.append(text[position:start])
        segments.append(path)
        position = match.end()
    if position < len(text):
        segments.append(text[position:])
    return PlainTemplate(tuple(segments))


def _print(value: Json, *, prints_json: bool) -> str:
    if value is _UNDEFINED:
        return ""
    if prints_json and isinstance(value, list | tuple | Mapping):
        return to_json(value)
    return str(value)


def _look_up(inputs: Mapping[str, Json], path: Selector) -> Json:
    """Return the value at a path, which may be undefined, or ``_UNKNOWN`` if only Jinja knows it."""
    value: Json = inputs.get(path[0], _UNDEFINED)
    for name in path[1:]:
        # Jinja asks for the Python attribute before the key, so {{ order.items }} is a method.
        if value is _UNDEFINED or hasattr(type(value), name):
            return _UNKNOWN
        value = value.get(name, _UNDEFINED) if isinstance(value, Mapping) else _UNDEFINED
    return value
