"""Render a Jinja2 template in a runner, as Dify does (lenient, no autoescape).

The sandboxed environment is the second layer of protection; the first is a process without access to anything.
"""

# Imported now, because Jinja2 imports them late and the child can't open files then.
import codecs
import html  # noqa: F401
import json
import pprint  # noqa: F401
import random  # noqa: F401
import textwrap  # noqa: F401
from typing import Any

import jinja2.constants  # noqa: F401
from jinja2 import filters
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment


MAX_OUTPUT_CHARACTERS = 1_000_000
_MAX_MESSAGE = 300

# The kinds that the parent knows. An attacker may control the text of an exception, but not its class.
_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (TemplateSyntaxError, "syntax"),
    (UndefinedError, "undefined"),
    (SecurityError, "security"),
    (TemplateError, "template"),
    (MemoryError, "memory"),
    (RecursionError, "recursion"),
)


for _codec in ("unicode-escape", "raw-unicode-escape", "ascii", "latin-1", "utf-8"):
    codecs.lookup(_codec)


class _OutputTooLong(Exception):
    pass


def render(message: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a message: the text of its template, or the kind and message of the failure."""
    try:
        text = _render(
            message["template"], message["inputs"], prints_json=bool(message.get("prints_json"))
        )
    except _OutputTooLong:
        return {"ok": False, "kind": "output", "message": ""}
    except Exception as error:
        return _build_failure(error)
    return {"ok": True, "text": text}


def _render(template: str, inputs: dict[str, Any], *, prints_json: bool) -> str:
    # A new environment each time, so that no template can affect the next.
    environment = ImmutableSandboxedEnvironment(finalize=print_as_json if prints_json else None)
    environment.filters["indent"] = indent
    pieces: list[str] = []
    total = 0
    for piece in environment.from_string(template).generate(inputs):
        total += len(piece)
        if total > MAX_OUTPUT_CHARACTERS:
            raise _OutputTooLong
        pieces.append(piece)
    return "".join(pieces)


def indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """Indent as Jinja2's filter does, but refuse a result that is larger than the output may be."""
    step = width if isinstance(width, int) else len(width)
    if step * (s.count("\n") + 1) > MAX_OUTPUT_CHARACTERS:
        raise _OutputTooLong
    return filters.do_indent(s, width, first, blank)


def print_as_json(value: Any) -> Any:  # any value of a template
    """Return a list or an object as JSON, and any other value unchanged."""
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value


def _build_failure(error: Exception) -> dict[str, Any]:
    kind = next((name for cls, name in _KINDS if isinstance(error, cls)), "other")
    message = ""
    if kind in {"syntax", "undefined", "security", "template"}:
        message = str(error)[:_MAX_MESSAGE]
    elif kind == "other":
        message = f"{type(error).__name__}: {error}"[:_MAX_MESSAGE]
    line = error.lineno if isinstance(error, TemplateSyntaxError) else None
    return {"ok": False, "kind": kind, "message": message, "line": line}
