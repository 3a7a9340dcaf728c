"""Builds JSON from an author's text with references: each reference stands for one value, whatever the value contains.

The text is read with marks in the places of its references, and then the values replace the marks. So a value never
ends a string, and never adds, hides or changes a member that the author wrote.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.language.document import Json, Selector
from workflows.engine.language.templating import Template, format_reference
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.nodes.http.graphql import QUERY, is_graphql, render_graphql
from workflows.engine.nodes.http.json_repair import (
    NotJson,
    UnquotedText,
    load_json,
    remove_fence,
    repair_json,
)
from workflows.engine.nodes.http.marks import (
    END_OUTSIDE,
    MARK,
    is_alone,
    mark_references,
    parse_template,
)
from workflows.engine.text_rendering import as_text


_MAX_DEPTH: Final = 100
_MARK_IN_ERROR: Final = re.compile(r"(?:\ufdd0|\\ufdd0)([0-9]+)(?:[\ufdd1\ufdd2]|\\ufdd[12])")
_PART_OF_MARK: Final = re.compile(r"[\ufdd0\ufdd1\ufdd2]|\\ufdd[012]")


@dataclass(frozen=True, slots=True)
class BuiltJson:
    """A JSON value, and whether the text that it was read from had to be repaired."""

    value: Json
    is_repaired: bool = False


@dataclass(frozen=True, slots=True)
class JsonSlip:
    """The line, from 1, at which a text stops being JSON, and whether what was meant is sent all the same."""

    line: int
    is_repaired: bool


def build_json(source: str, pool: VariablePool) -> BuiltJson:
    """Return the JSON value of a text with references. Raises NotJson.

    Inside quotes, and in keys, a reference is the text of its value. Outside quotes it is the value: a number, a list,
    an object, or a text, which may itself be JSON. A text that is nothing but one reference is the JSON in its value.
    """
    template = parse_template(source)
    if not template.references:
        return _read(template.source)
    if is_alone(template):
        return _read_value(template.references[0], pool)
    values = _Values(template.references, pool)
    try:
        marked = _read_marked(template)
        return BuiltJson(values.fill_in(marked.value), marked.is_repaired)
    except NotJson as error:
        raise NotJson(values.name_marks(str(error))) from None


def find_json_slip(source: str) -> JsonSlip | None:
    """Return where a text with references is no JSON, whatever values the references have; None if it is JSON."""
    template = parse_template(source)
    if is_alone(template):
        return None  # its value is the JSON
    try:
        json.loads(mark_references(template, quotes_outside=True), strict=False)
    except RecursionError:
        return None  # said when it is sent
    except json.JSONDecodeError as error:
        try:
            _read_marked(template)
        except NotJson:
            return JsonSlip(error.lineno, is_repaired=False)
        return JsonSlip(error.lineno, is_repaired=True)
    return None


def _read(text: str) -> BuiltJson:
    try:
        return BuiltJson(load_json(text))
    except NotJson:
        return BuiltJson(repair_json(text), is_repaired=True)


def _read_marked(template: Template) -> BuiltJson:
    try:
        return BuiltJson(load_json(mark_references(template, quotes_outside=True)))
    except NotJson:
        value = repair_json(mark_references(template), tells_unquoted=True)
        return BuiltJson(value, is_repaired=True)


def _read_value(selector: Selector, pool: VariablePool) -> BuiltJson:
    """Return the JSON of a value that is the whole text, which models and programs often give as text."""
    value = pool.get(selector)
    if value is MISSING:
        raise NotJson(f"there is no variable {'.'.join(selector)}")
    if value is None:
        raise NotJson(f"{'.'.join(selector)} is empty")
    return _read(value) if isinstance(value, str) else BuiltJson(value)


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of the references of one text, which replace their marks."""

    references: tuple[Selector, ...]
    pool: VariablePool

    def fill_in(self, value: Json, depth: int = 0) -> Json:
        if depth > _MAX_DEPTH:
            raise NotJson("nested too deeply")
        if isinstance(value, str):
            return self._fill_in_value(value)
        if isinstance(value, dict):
            return self._fill_in_object(value, depth)
        if isinstance(value, list):
            return [self.fill_in(item, depth + 1) for item in value]
        return value

    def name_marks(self, message: str) -> str:
        """Return an error's message with the references that the author wrote instead of their marks."""
        named = _MARK_IN_ERROR.sub(
            lambda mark: format_reference(self.references[int(mark[1])]), message
        )
        return _PART_OF_MARK.sub("", named)

    def _fill_in_object(self, members: Mapping[str, Json], depth: int) -> dict[str, Json]:
        filled: dict[str, Json] = {}
        for name, value in members.items():
            key = self._fill_in_text(name)
            if key in filled:
                raise NotJson(f"the member {key[:40]!r} is there twice")
            if name == QUERY and isinstance(value, str) and is_graphql(value):
                filled[key] = render_graphql(value, self._get_value)
            else:
                filled[key] = self.fill_in(value, depth + 1)
        return filled

    def _fill_in_value(self, text: str) -> Json:
        if not isinstance(text, UnquotedText) and not text.endswith(END_OUTSIDE):
            return self._fill_in_text(text)
        if mark := MARK.fullmatch(text):
            return read_outside(self._get_value(int(mark[1])))
        return read_outside(self._fill_in_text(text)) if MARK.search(text) else str(text)

    def _fill_in_text(self, text: str) -> str:
        return MARK.sub(lambda mark: as_text(self._get_value(int(mark[1]))), text)

    def _get_value(self, number: int) -> Json:
        """Return a value; of a missing variable its name, which every text shows in its place."""
        selector = self.references[number]
        value = self.pool.get(selector)
        return ".".join(selector) if value is MISSING else value


def read_outside(value: Json) -> Json:
    """Return a value that stands outside quotes. A text that is JSON is what it says, and any other text is itself."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(remove_fence(value))
    except NotJson:
        return value
