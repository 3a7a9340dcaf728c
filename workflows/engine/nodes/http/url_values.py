"""Fills values into a URL, each encoded for its place, so that it can't be anything else.

A variable may be the whole URL, its address or its whole path. There it is as it is, because it can change nothing that
the author wrote.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import quote, unquote

from workflows.engine.errors import NodeFailed
from workflows.engine.language.document import Json, Selector
from workflows.engine.language.templating import Template
from workflows.engine.language.values import to_json
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.nodes.http.json_body import read_outside
from workflows.engine.text_rendering import as_text


# For a reference, in what is before or after another one. No URL has it.
_MARK: Final = "\x00"
# What is before the value of a parameter, or before the rest of the value, which is in the group.
_BEFORE_PARAMETER: Final = re.compile(r"[^#]*[?&][^?&#=]*=([^&#]*)")
# What is behind a value in the name of a parameter, and what is before it.
_BEHIND_NAME: Final = re.compile(r"[^&#=]*=")
_BEFORE_NAME: Final = re.compile(r"[^#?]*\?(?:[^#]*&)?[^&#=]*")
_JSON: Final = re.compile(r'\s*(?:\{\s*"|\[\s*["{])')
_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)
_ADDRESS: Final = re.compile(r"(?:[^/?#]*://)?[^/?#]*")
_ENDS_HOST: Final = ("/", "?", "#")
_ENDS_PATH: Final = ("?", "#")

_MAX_SOURCE: Final = 16_384  # no address is as long, and each reference looks back


def render_url(source: str, pool: VariablePool) -> str:
    """Return the URL with its references filled in. Raises NodeFailed if one would lead out of its path."""
    template = Template.of(source)
    if len(source) > _MAX_SOURCE:
        return template.render_text(pool)
    parts: list[str] = []
    marked: list[str] = []  # the same, with a mark at each value that is a part of a path
    written = ""  # by the author, with a mark for each reference
    for index, segment in enumerate(template.segments):
        if isinstance(segment, str):
            parts.append(segment)
            marked.append(segment)
            written += segment
            continue
        value = pool.get(segment)
        place = _find_place(written, _get_text(template.segments[index + 1 :]))
        text = ".".join(segment) if value is MISSING else as_text(value)
        if place == "parameter":
            text = _encode_in_json(text, value, written)
        parts.append(_ENCODERS[place](text))
        marked.append(parts[-1] + _MARK if place == "segment" else parts[-1])
        written += _MARK
    _check_segments("".join(marked))
    return "".join(parts)


def _get_text(segments: Sequence[str | Selector]) -> str:
    """Return the text that follows a reference, or a mark if another reference does."""
    first = segments[0] if segments else ""
    return first if isinstance(first, str) else _MARK


def _find_place(written: str, following: str) -> str:
    if _BEFORE_PARAMETER.fullmatch(written):
        return "parameter"
    if _BEFORE_NAME.fullmatch(written) and _BEHIND_NAME.match(following):
        return "name"
    if "?" in written or "#" in written:
        return "query"
    address = _ADDRESS.match(written)
    end = address.end() if address else 0
    path = written[end:]
    _scheme, separator, host = written[:end].partition("://")
    if path:
        return _find_place_in_path(path, following) if separator else "segment"
    if separator and following and not following.startswith(_ENDS_HOST):
        return "host"
    return "end_of_host" if separator and host.strip(_MARK) else "url"


def _find_place_in_path(path: str, following: str) -> str:
    if path == "/" and not following:
        return "rest"
    return "path" if path == "/" and following.startswith(_ENDS_PATH) else "segment"


def _encode_in_json(text: str, value: Json, written: str) -> str:
    """Return the text of a value as the JSON, if there is any, in the parameter that is written before it has it."""
    parameter = _BEFORE_PARAMETER.fullmatch(written)
    before = unquote(parameter[1]) if parameter else ""
    if not _JSON.match(before):
        return text
    if sum(match[0] == '"' for match in _QUOTE.finditer(before)) % 2:
        return to_json(text)[1:-1]
    return text if value is MISSING else to_json(read_outside(value))


def _encode_delimiters(text: str, delimiters: str) -> str:
    encoded = (quote(letter, safe="") if letter in delimiters else letter for letter in text)
    return "".join(encoded)


def _encode_host(text: str) -> str:
    return _encode_delimiters(text, "/?#@\\")


def _encode_end_of_host(text: str) -> str:
    """Return a value behind a host: a path, or else a part of the name, which can't end it."""
    return text if text.startswith(_ENDS_HOST) else _encode_host(text)


_ENCODERS: Final[Mapping[str, Callable[[str], str]]] = {
    "url": str,
    "host": _encode_host,
    "end_of_host": _encode_end_of_host,
    "rest": str,
    "path": partial(_encode_delimiters, delimiters="?#"),
    "segment": partial(quote, safe=":@", errors="replace"),
    "parameter": partial(quote, safe="", errors="replace"),
    "name": partial(quote, safe="[]", errors="replace"),
    "query": str,
}


def _check_segments(url: str) -> None:
    """Refuse dots that would lead out of the path: they can't be encoded, since servers decode them first."""
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    for segment in path.split("/"):
        if _MARK in segment and segment.replace(_MARK, "") in (".", ".."):
            message = "A variable in the path of the URL is “.” or “..”, which leads elsewhere"
            raise NodeFailed("InvalidURLError", message)
