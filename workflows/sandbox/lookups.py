"""Render templates that only look values up (``Hello {{ user.name }}``) without Jinja and without a runner.

The result is the same as that of Jinja, which renders all other templates.
"""

import re
from collections.abc import Mapping
from typing import Any


_LOOKUP = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}", re.ASCII)
_SYNTAX = ("{{", "{%", "{#")
_NEWLINES = re.compile(r"\r\n|\r")
# Jinja's keywords take precedence over an input of the same name.
_RESERVED = (
    *("true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if"),
    *("else", "loop", "self", "super", "caller", "varargs", "kwargs"),
)
_PRINTABLE = (str, int, float, bool, list, dict, type(None))


class _NotPlain(Exception):
    pass


def substitute(template: str, inputs: Mapping[str, Any]) -> str | None:
    """Return the rendered text, or None if the template needs Jinja."""
    text_between = _LOOKUP.split(template)[::2]
    if any(mark in text for text in text_between for mark in _SYNTAX):
        return None
    template = _NEWLINES.sub("\n", template).removesuffix("\n")
    try:
        return _LOOKUP.sub(lambda match: _look_up(match[1], inputs), template)
    except _NotPlain:
        return None


def _look_up(path: str, inputs: Mapping[str, Any]) -> str:
    head, *names = path.split(".")
    if head in _RESERVED or head.startswith("__") or head not in inputs:
        raise _NotPlain  # a global such as ``range``, or undefined, which Jinja handles
    value = inputs[head]
    for name in names:
        # Jinja tries the attribute first ({{ d.items }} is a method) and the key second.
        if not isinstance(value, dict) or hasattr(value, name) or name not in value:
            raise _NotPlain
        value = value[name]
    if type(value) not in _PRINTABLE:
        raise _NotPlain
    return str(value)
