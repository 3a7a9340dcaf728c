"""Translate the human-readable strings of a shipped document into the reader's language.

Keys, names of variables, `{{#…#}}` and metadata stay, because programs read them. In code, the
human-readable strings are on lines marked `# translate`.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.utils.translation import pgettext

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.emit import to_yaml
from workflows.engine.language.dsl.yaml_reading import read_yaml


__all__ = ["CONTEXT", "list_file_texts", "translate_tree", "translate_yaml"]

CONTEXT: Final = "sample"
FOLDER: Final = Path(__file__).parent

Translate = Callable[[str], str]

_TRANSLATED_KEYS: Final = frozenset(
    {
        *("title", "desc", "description", "label", "answer", "text", "jinja2_text"),
        *("template", "opening_statement", "say", "instruction", "query", "form_content"),
    }
)
# Everything under these keys is translated, except the values of _UNTRANSLATED_KEYS.
_TRANSLATED_SUBTREES: Final = frozenset({"suggested_questions", "options", "inputs", "values"})
# Names under these keys are variables, and the content of pins and metadata is for programs.
_UNTRANSLATED_KEYS: Final = frozenset(
    {"loop_variables", "outputs", "metadata", "pins", "model", "id", "tags", "key", "items", "body"}
)
# What the offline provider says is for people, the rest of a model's settings for programs.
_MODEL_SCRIPT: Final = "offline_script"
_SCRIPT_KEYS: Final = frozenset({"when", "text", "reasoning"})
_PLACEHOLDERS: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_LETTER: Final = re.compile(r"[^\W\d_]")
_MARKED_LINE: Final = re.compile(r"^(?P<code>.*?)(?P<mark>  # translate)$", re.MULTILINE)
_LITERAL: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def translate_yaml(source: str) -> str:
    """Return the YAML text translated, or byte for byte unchanged if none of its strings has a translation."""
    tree = read_yaml(source)
    translated = translate_tree(tree)
    return source if translated == tree else to_yaml(translated)


def translate_tree(tree: Json) -> Json:
    return _Translator(lambda text: pgettext(CONTEXT, text), _collect_options(tree)).translate(tree)


def list_file_texts() -> Iterator[tuple[str, str]]:
    """Yield every human-readable string in the documents of this package, with its file."""
    for path in sorted(FOLDER.glob("*/*.yml")):
        tree = read_yaml(path.read_text("utf-8"))
        texts: list[str] = []
        _Translator(_build_collector(texts), _collect_options(tree)).translate(tree)
        yield from ((path.relative_to(FOLDER).as_posix(), text) for text in dict.fromkeys(texts))


def _build_collector(texts: list[str]) -> Translate:
    def collect(text: str) -> str:
        texts.append(text)
        return text

    return collect


@dataclass(frozen=True, slots=True)
class _Translator:
    """Copies a tree with its human-readable strings translated."""

    translate_phrase: Translate
    options: frozenset[str]

    def translate(self, tree: Json) -> Json:
        if isinstance(tree, list):
            return [self.translate(item) for item in tree]
        if not isinstance(tree, Mapping):
            return tree
        return {name: self._translate_field(tree, name, value) for name, value in tree.items()}

    def _translate_field(self, parent: Mapping[str, Json], name: str, value: Json) -> Json:
        if name == "model":
            return self._translate_script(value)
        if name in _UNTRANSLATED_KEYS:
            return value
        if name == "inputs" and _is_form(value):
            return self.translate(value)
        if name == "code" and isinstance(value, str):
            return _MARKED_LINE.sub(self._translate_line, value)
        if name in _TRANSLATED_SUBTREES or (name == "value" and _is_memory(parent)):
            return self._translate_all(value)
        if not isinstance(value, str):
            return self.translate(value)
        return self._translate_text(value) if self._is_translated(parent, name, value) else value

    def _is_translated(self, parent: Mapping[str, Json], name: str, value: str) -> bool:
        if name == "value":
            is_compared_option = "comparison_operator" in parent and value in self.options
            return is_compared_option or (
                "of" in parent and not str(parent["of"]).startswith("step.")
            )
        if name == "default":
            return "variable" in parent  # of a start form
        if name == "name":
            return "turns" in parent or parent.keys() == {"id", "name"}  # a case, or a class
        return name in _TRANSLATED_KEYS

    def _translate_script(self, model: Json) -> Json:
        """Return the settings of a model with the answers of its script translated."""
        settings = model.get("completion_params") if isinstance(model, Mapping) else None
        script = settings.get(_MODEL_SCRIPT) if isinstance(settings, Mapping) else None
        if not isinstance(settings, Mapping) or not script:
            return model
        answers = [
            {
                name: self._translate_text(value) if name in _SCRIPT_KEYS else value
                for name, value in answer.items()
            }
            for answer in script
        ]
        return {**model, "completion_params": {**settings, _MODEL_SCRIPT: answers}}

    def _translate_all(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self._translate_all(item) for item in value]
        if isinstance(value, Mapping):
            return {
                name: item if name in _UNTRANSLATED_KEYS else self._translate_all(item)
                for name, item in value.items()
            }
        return self._translate_text(value) if isinstance(value, str) else value

    def _translate_text(self, text: str) -> str:
        has_words = _LETTER.search(_PLACEHOLDERS.sub("", text)) and "://" not in text
        return self.translate_phrase(text) if has_words else text

    def _translate_line(self, line: re.Match[str]) -> str:
        return _LITERAL.sub(self._translate_literal, line["code"]) + line["mark"]

    def _translate_literal(self, literal: re.Match[str]) -> str:
        text = str(ast.literal_eval(literal[0]))
        translated = self._translate_text(text)
        return literal[0] if translated == text else json.dumps(translated, ensure_ascii=False)


def _is_form(inputs: Json) -> bool:
    """Return whether these are the fields of a human-input node, whose types are for programs."""
    return isinstance(inputs, list) and all(
        isinstance(item, Mapping) and "output_variable_name" in item for item in inputs
    )


def _is_memory(parent: Mapping[str, Json]) -> bool:
    return "key" in parent and "comparison_operator" not in parent and "type" not in parent


def _collect_options(tree: Json) -> frozenset[str]:
    """Return all selectable options; a condition that compares with an option must be translated alike."""
    if isinstance(tree, list):
        return frozenset().union(*(_collect_options(item) for item in tree))
    if not isinstance(tree, Mapping):
        return frozenset()
    options = tree.get("options")
    texts = (
        frozenset(item for item in options if isinstance(item, str))
        if isinstance(options, list)
        else frozenset()
    )
    return texts.union(*(_collect_options(item) for item in tree.values()))
