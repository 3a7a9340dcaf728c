"""Parses the safe part of YAML: no anchors, aliases, merge keys, tags or second documents.

The tree is built from the parser's events, so that a document is rejected at its first alias and nothing is ever
expanded. Plain scalars are converted from text only if YAML 1.1 and 1.2 readers agree: ``NO``, ``1:30:45``, ``010``,
``1e3`` and dates stay text.
"""

import re
from typing import Any, Final

import yaml

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.limits import (
    build_rejection,
    check_depth,
    check_float,
    check_integer,
    check_text,
    read_integer,
)


_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_CONSTANTS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TEXT_TAGS: Final = frozenset({"!", "tag:yaml.org,2002:str"})
_COLLECTION_TAGS: Final = frozenset({None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


def read_yaml(text: str) -> Json:
    """Return the one document in the text. Raises DocumentInvalid."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.add_event(event)
    except yaml.YAMLError as error:
        raise build_rejection("yaml", f"Invalid YAML: {_describe_error(error)}") from None
    return builder.result


class _Builder:
    """Builds the tree from parser events, one by one, with a stack of open collections."""

    def __init__(self) -> None:
        self.result: Json = None
        self._documents = 0
        self._open: list[dict[str, Json] | list[Json]] = []
        self._keys: list[str | None] = []  # the key waiting for its value, for each open mapping

    def add_event(self, event: Any) -> None:  # PyYAML's events are untyped in the C parser
        if getattr(event, "anchor", None) is not None:
            message = "Anchors and aliases (& and *) are not supported; write the value out"
            raise build_rejection("alias", message)
        if isinstance(event, yaml.ScalarEvent):
            self._add_scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._start(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                message = "The text contains several YAML documents; one is expected"
                raise build_rejection("several", message)

    def _start(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            raise build_rejection("tag", f"The YAML tag {event.tag} is not supported")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        collection: dict[str, Json] | list[Json] = {} if is_mapping else []
        self._add(collection)
        self._open.append(collection)
        self._keys.append(None)
        check_depth(len(self._open))

    def _end(self) -> None:
        self._open.pop()
        self._keys.pop()

    def _add_scalar(self, event: Any) -> None:
        if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
            self._set_key(event)
        else:
            self._add(_read_scalar(event))

    def _set_key(self, event: Any) -> None:
        key = check_text(event.value)
        if key == "<<" and event.implicit[0]:
            raise build_rejection("merge", "Merge keys (<<) are not supported; write the value out")
        if key in self._open[-1]:
            line = event.start_mark.line + 1
            raise build_rejection("duplicate_key", f"The key {key!r} appears twice (line {line})")
        self._keys[-1] = key

    def _add(self, value: Json) -> None:
        if not self._open:
            self.result = value
            return
        parent = self._open[-1]
        if isinstance(parent, list):
            parent.append(value)
            return
        key = self._keys[-1]
        if key is None:
            raise build_rejection("key", "Keys must be text, not lists or mappings")
        parent[key] = value
        self._keys[-1] = None


def _read_scalar(event: Any) -> Json:
    text = check_text(event.value)
    plain = event.implicit[0]
    if event.tag in _TEXT_TAGS or (event.tag is None and not plain):
        return text
    if event.tag is not None:
        raise build_rejection("tag", f"The YAML tag {event.tag} is not supported")
    return _resolve_scalar(text)


def _resolve_scalar(text: str) -> Json:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return read_integer(text)
    if _HEXADECIMAL.fullmatch(text):
        return check_integer(int(text, 16))
    if _FLOAT.fullmatch(text):
        return check_float(float(text))
    if _NOT_FINITE.fullmatch(text):
        return check_float(float("nan"))
    return text


def _describe_error(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "unexpected character"
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})" if mark else problem
