"""Solves the tasks about one text, without a model: chooses a class by its words, and extracts values by their names.

It finds only what the text says in so many words, such as “city: Paris”, “the price is 3” or one of the options.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from workflows.engine.errors import ModelNeeded
from workflows.engine.ports import CHOICE_TASK, CONDITIONS_TASK, FACTS_TASK, ModelRequest
from workflows.engine.tool_calls import ToolCall
from workflows.llm.offline import words
from workflows.llm.offline.filling import Schema, find_schema
from workflows.llm.offline.reply import Reply, build_call_ids
from workflows.llm.offline.sentences import split_sentences


# The option for a text that has nothing in common with the others.
_OTHERWISE: Final = "default"
_NUMBER: Final = re.compile(
    r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])|(?<=[\u3400-\u9fff])-?\d+(?:\.\d+)?"
)
_BETWEEN: Final = r"\s*(?:[:：=]|\bis\b|\bare\b|\bas\b|是|为)\s*"
_REST: Final = r"(?P<value>[^\n;；。!！?？]{1,2000}?)(?=[\n;；。!！?？]|\.(?:\s|$)|$)"
_VALUE: Final = (
    r"(?P<value>[^\n,，;；。!！?？]{1,400}?)(?=[\n,，;；。!！?？]|\.(?:\s|$)|\s+and\b|$)"
)
_YES: Final = frozenset({"yes", "true", "y", "on", "1", "是", "对", "有", "真"})
_LIST_SEPARATOR: Final = re.compile(r"\s*(?:[、/|,，]|\band\b|\bor\b|和|与)\s*")


def solve_task(request: ModelRequest) -> Reply | None:
    """Return the answer to a request about one text, or None for any other request.

    Raises ModelNeeded for the tasks that need a language model.
    """
    if request.task in (CHOICE_TASK, CONDITIONS_TASK, FACTS_TASK):
        raise ModelNeeded
    if request.subject is None:
        return None
    tool = request.tools[0] if request.tools and request.tool_choice != "none" else None
    schema = tool.parameters if tool else find_schema(request)
    if schema is None:
        return None
    answer = json.dumps(_TextReader(request.subject).read_object(schema), ensure_ascii=False)
    if tool is None:
        return Reply(answer)
    return Reply(tool_calls=(ToolCall(next(build_call_ids(request)), tool.name, answer),))


class _TextReader:
    """Reads the values of a schema's properties from one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._features = words.extract_features(text)
        self._sentences = split_sentences(text)

    def read_object(self, schema: Schema) -> dict[str, Any]:
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        return {name: self._read_value(name, value) for name, value in properties.items()}

    def _read_value(self, name: str, schema: Schema) -> Any:
        if options := _list_options(schema):
            return self._choose_option(options)
        type_name = _get_type(schema)
        labels = (_split_name(name), str(schema.get("description") or "").strip())
        labelled = self._find_labelled(labels, _REST if type_name == "array" else _VALUE)
        match type_name:
            case "number" | "integer":
                numbers = _find_numbers(labelled or "") or _find_numbers(self._text)
                return numbers[0] if numbers else _get_empty(schema, 0)
            case "boolean":
                return (labelled or "").strip().lower() in _YES
            case "array":
                return self._read_list(schema, labelled)
            case _:
                return labelled or self._find_sentence(name, schema)

    def _choose_option(self, options: Sequence[tuple[Any, str]]) -> Any:
        """Return the option that the text names, or else the one that has most words in common with it."""
        lowered = self._text.lower()
        scores = []
        for _value, label in options:
            overlap = words.measure_overlap(words.extract_features(label), self._features)
            is_named = bool(label.strip()) and label.lower() in lowered
            scores.append((is_named, overlap))
        best = max(scores)
        if not any(best):
            return next((value for value, label in options if label == _OTHERWISE), options[0][0])
        return options[scores.index(best)][0]

    def _find_labelled(self, labels: Iterable[str], value_pattern: str) -> str | None:
        """Return the text behind the name of a value or its description, such as “city: Paris”."""
        for label in filter(None, labels):
            pattern = rf"(?<![a-zA-Z]){re.escape(label)}{_BETWEEN}{value_pattern}"
            if match := re.search(pattern, self._text, re.IGNORECASE):
                return match["value"].strip().strip("\"'“”「」")
        return None

    def _read_list(self, schema: Schema, labelled: str | None) -> list[Any]:
        match _get_type(schema.get("items") or {}):
            case "number" | "integer":
                return _find_numbers(labelled or self._text)
            case "string":
                return [part for part in _LIST_SEPARATOR.split(labelled or "") if part]
            case _:
                return []

    def _find_sentence(self, name: str, schema: Schema) -> Any:
        """Return the sentence that has most words in common with the name and description of a value."""
        label = words.extract_features(f"{_split_name(name)} {schema.get('description') or ''}")
        return max(
            self._sentences,
            key=lambda sentence: words.measure_overlap(label, words.extract_features(sentence)),
            default=_get_empty(schema, ""),
        )


def _list_options(schema: Schema) -> list[tuple[Any, str]]:
    """Return the values to choose from, with the text that describes each."""
    if choices := schema.get("anyOf"):
        return [(choice.get("const"), str(choice.get("title") or "")) for choice in choices]
    return [(option, str(option)) for option in schema.get("enum") or () if option is not None]


def _get_type(schema: Schema) -> str:
    name = schema.get("type")
    return str(name[0]) if isinstance(name, list) else str(name)


def _get_empty(schema: Schema, zero: Any) -> Any:
    return None if isinstance(schema.get("type"), list) else zero


def _find_numbers(text: str) -> list[int | float]:
    return [float(number) if "." in number else int(number) for number in _NUMBER.findall(text)]


def _split_name(name: str) -> str:
    """Return a name as words: ``unit_price`` and ``unitPrice`` as “unit price”."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_\-]+", " ", name).strip()
