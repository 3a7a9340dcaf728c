"""Parses the safe part of YAML: no merge keys, tags or second documents.

The tree is built from the parser's events. An alias is replaced by a copy of its value, which counts towards the
number of values of a document before it is made, so that a few hundred bytes can't expand to gigabytes. Plain scalars are converted from text only if YAML 1.1 and 1.2 readers agree: ``NO``, ``1:30:45``, ``010``,
``1e3`` and dates stay text.
"""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import yaml

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.limits import (
    build_rejection,
    check_count,
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
# What libyaml says → what its reader sees. It expects a line of dashes wherever the first value has ended too early.
_PLAIN_WORDS: Final[Mapping[str, str]] = {
    "did not find expected <document start>": "the text goes on after its first value has ended",
    "did not find expected node content": "a value is missing or cut off",
    "could not find expected ':'": "a key without a colon",
    "mapping values are not allowed in this context": "a colon where no key may stand",
    "found character that cannot start any token": "a character that no value begins with, such as a tab",
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


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read, with the key that waits for its value."""

    value: dict[str, Json] | list[Json]
    anchor: str | None
    first_value: int  # the number of values before it
    key: str | None = None
    height: int = 1  # levels of the largest value inside, with its own


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A complete value that aliases may repeat."""

    value: Json
    count: int  # of values, with itself
    height: int


class _Builder:
    """Builds the tree from parser events, one by one, with a stack of open collections."""

    def __init__(self) -> None:
        self.result: Json = None
        self._documents = 0
        self._values = 0
        self._open: list[_Open] = []
        self._anchored: dict[str, _Anchored] = {}
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._add_scalar,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._repeat,
            yaml.DocumentStartEvent: self._start_document,
        }

    def add_event(self, event: Any) -> None:  # PyYAML's events are untyped in the C parser
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def _start_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            message = "The text contains several YAML documents; one is expected"
            raise build_rejection("several", message)

    def _start(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            raise build_rejection("tag", f"The YAML tag {event.tag} is not supported")
        collection: Json = {} if type(event) is yaml.MappingStartEvent else []
        first_value = self._values
        self._add(collection)
        self._open.append(_Open(collection, event.anchor, first_value))
        check_depth(len(self._open))

    def _end(self, event: Any) -> None:
        closed = self._open.pop()
        if closed.anchor is not None:
            count = self._values - closed.first_value
            self._anchored[closed.anchor] = _Anchored(closed.value, count, closed.height)
        if self._open:
            self._open[-1].height = max(self._open[-1].height, closed.height + 1)

    def _repeat(self, event: Any) -> None:
        """Add a copy of the value with the anchor."""
        anchored = self._anchored.get(event.anchor)
        if anchored is None:
            message = f"The alias *{event.anchor} stands before or inside the value that it repeats"
            raise build_rejection("alias", message)
        check_count(self._values + anchored.count)
        check_depth(len(self._open) + anchored.height)
        self._add(deepcopy(anchored.value))
        self._values += anchored.count - 1
        if self._open:
            self._open[-1].height = max(self._open[-1].height, anchored.height + 1)

    def _add_scalar(self, event: Any) -> None:
        top = self._open[-1] if self._open else None
        if top is not None and top.key is None and type(top.value) is dict:
            self._set_key(event, top, top.value)
            return
        value = _read_scalar(event)
        self._add(value)
        if event.anchor is not None:
            self._anchored[event.anchor] = _Anchored(value, 1, 0)

    def _set_key(self, event: Any, top: _Open, mapping: dict[str, Json]) -> None:
        key = check_text(event.value)
        if key == "<<" and event.implicit[0]:
            raise build_rejection("merge", "Merge keys (<<) are not supported; write the value out")
        if key in mapping:
            line = event.start_mark.line + 1
            raise build_rejection("duplicate_key", f"The key {key!r} appears twice (line {line})")
        top.key = key

    def _add(self, value: Json) -> None:
        self._values += 1
        check_count(self._values)
        if not self._open:
            self.result = value
            return
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if top.key is None:
            raise build_rejection("key", "Keys must be text, not lists or mappings")
        top.value[top.key] = value
        top.key = None


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
    problem = _PLAIN_WORDS.get(problem, problem)
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})" if mark else problem
