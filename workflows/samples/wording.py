"""A shipped document in the reader's language: which of its texts are for people, and what they are then.

Keys, names of variables, `{{#…#}}` and metadata stay: programmes read them. In code the texts for people are
on lines that say so (`# said`).
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from django.utils.translation import pgettext

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.emit import to_yaml
from workflows.engine.language.dsl.yaml_reading import read_yaml


__all__ = ["CONTEXT", "in_language", "text_in_language", "texts_of_files"]

CONTEXT: Final = "sample"
FOLDER: Final = Path(__file__).parent

Say = Callable[[str], str]

_FOR_PEOPLE: Final = frozenset(
    [
        "title",
        "desc",
        "description",
        "label",
        "answer",
        "text",
        "jinja2_text",
        "template",
        "opening_statement",
        "say",
        "name",
        "value",
    ]
)
# Under these everything is for people, but for what programmes look up.
_ALL_OF_IT: Final = frozenset({"suggested_questions", "options", "inputs"})
# Names in here are of variables, and what a pin or metadata holds is for programmes.
_FOR_PROGRAMMES: Final = frozenset(
    {"loop_variables", "outputs", "metadata", "pins", "model", "id", "tags", "key", "items", "body"}
)
_PLACES: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_LETTER: Final = re.compile(r"[^\W\d_]")
_SAID: Final = re.compile(r"^(?P<code>.*?)(?P<mark>  # said)$", re.MULTILINE)
_LITERAL: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def text_in_language(source: str) -> str:
    """The file as it stands where nothing of it is said otherwise: seeds are kept to the byte."""
    tree = read_yaml(source)
    translated = in_language(tree)
    return source if translated == tree else to_yaml(translated)


def in_language(tree: Json) -> Json:
    return _Wording(lambda text: pgettext(CONTEXT, text), _options_of(tree)).of(tree)


def texts_of_files() -> Iterator[tuple[str, str]]:
    """Every text for people in the documents beside this file, and the file it stands in."""
    for path in sorted(FOLDER.glob("*/*.yml")):
        found: list[str] = []
        _Wording(_noted(found), _options_of(tree := read_yaml(path.read_text("utf-8")))).of(tree)
        yield from ((path.relative_to(FOLDER).as_posix(), text) for text in dict.fromkeys(found))


def _noted(found: list[str]) -> Say:
    def say(text: str) -> str:
        found.append(text)
        return text

    return say


@dataclass(frozen=True, slots=True)
class _Wording:
    """A tree again, with what is said in place of what is for people."""

    say: Say
    options: frozenset[str] = field(default_factory=frozenset)

    def of(self, tree: Json) -> Json:
        if isinstance(tree, list):
            return [self.of(one) for one in tree]
        if not isinstance(tree, Mapping):
            return tree
        return {name: self._field(tree, name, value) for name, value in tree.items()}

    def _field(self, parent: Mapping[str, Json], name: str, value: Json) -> Json:
        if name in _FOR_PROGRAMMES:
            return value
        if name == "code" and isinstance(value, str):
            return _SAID.sub(self._line, value)
        if name in _ALL_OF_IT or (name == "value" and _is_a_memory(parent)):
            return self._all(value)
        if not isinstance(value, str):
            return self.of(value)
        return self._text(value) if self._is_for_people(parent, name, value) else value

    def _is_for_people(self, parent: Mapping[str, Json], name: str, value: str) -> bool:
        if name == "value":
            compared = "comparison_operator" in parent and value in self.options
            return compared or ("of" in parent and not str(parent["of"]).startswith("step."))
        if name == "name":
            return "turns" in parent
        return name in _FOR_PEOPLE

    def _all(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self._all(one) for one in value]
        if isinstance(value, Mapping):
            return {n: v if n in _FOR_PROGRAMMES else self._all(v) for n, v in value.items()}
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        has_words = _LETTER.search(_PLACES.sub("", text)) and "://" not in text
        return self.say(text) if has_words else text

    def _line(self, line: re.Match[str]) -> str:
        return _LITERAL.sub(self._literal, line["code"]) + line["mark"]

    def _literal(self, literal: re.Match[str]) -> str:
        text = str(ast.literal_eval(literal[0]))
        said = self._text(text)
        return literal[0] if said == text else json.dumps(said, ensure_ascii=False)


def _is_a_memory(parent: Mapping[str, Json]) -> bool:
    return "key" in parent and "comparison_operator" not in parent and "type" not in parent


def _options_of(tree: Json) -> frozenset[str]:
    """What is chosen from; a condition that compares with it has to say it alike."""
    if isinstance(tree, list):
        return frozenset().union(*(_options_of(one) for one in tree))
    if not isinstance(tree, Mapping):
        return frozenset()
    own = tree.get("options")
    texts = (
        frozenset(one for one in own if isinstance(one, str))
        if isinstance(own, list)
        else frozenset()
    )
    return texts.union(*(_options_of(one) for one in tree.values()))
