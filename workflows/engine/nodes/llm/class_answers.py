"""Finds the class that a model's answer names: in a JSON object, alone, or within a sentence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workflows.engine.nodes.llm.json_answers import find_json_object, strip_reasoning


class Uncertainty(StrEnum):
    """Why an answer doesn't say which class a text belongs to. These are values of an output."""

    NO_CLASS = "no class"
    SEVERAL_CLASSES = "several classes"


@dataclass(frozen=True, slots=True)
class NamedClass:
    """A class as models may write it: by its id or by its name."""

    id: str
    name: str


_KEYS: Final = ("category_id", "category_name")  # the first one decides
# Scripts in which other letters follow a word without a space, so that its names have no border: Thai, Lao, Burmese, Khmer,
# Japanese, Chinese and Korean.
_UNSPACED: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_LETTER: Final = rf"[^\W{_UNSPACED}]"
# What stands before the id of a class in a sentence; a mere number may be any number.
_BEFORE_ID: Final = r"(?:\b(?:class|category|category[ _]id|id)|类别|分类|编号)"
_BETWEEN: Final = r"(?:\s*(?:id|is|no\.|number|是|为|[:：=#]))*\s*[\"'“「(\[]*"


def find_class(answer: str, classes: Sequence[NamedClass]) -> str | Uncertainty:
    """Return the id of the class that an answer names, or why none is certain.

    In a JSON object the id decides, as in Dify, and the name if the id is none. Otherwise names come before ids, because an
    id is often a number.
    """
    parsed = find_json_object(answer)
    if parsed is None or not parsed.keys() & {*_KEYS}:
        return _find_in_text(strip_reasoning(answer), classes)
    texts = [str(value) for key in _KEYS if isinstance(value := parsed.get(key), str | int)]
    for text in texts:
        if id_ := _find_whole(text, classes):
            return id_
    return _find_in_text("\n".join(texts), classes)


def _find_in_text(text: str, classes: Sequence[NamedClass]) -> str | Uncertainty:
    if id_ := _find_whole(text, classes):
        return id_
    mentioned = _list_mentioned_names(text, classes) or _list_mentioned_ids(text, classes)
    if len(mentioned) == 1:
        return mentioned[0]
    return Uncertainty.SEVERAL_CLASSES if mentioned else Uncertainty.NO_CLASS


def _find_whole(text: str, classes: Iterable[NamedClass]) -> str | None:
    """Return the id of the class whose id or name is the whole text, but for case, white space and quotes."""
    simple = _simplify(text.strip().strip("\"'`*.。").strip())
    by_id = {_simplify(each.id): each.id for each in classes}
    by_name = {_simplify(each.name): each.id for each in reversed([*classes])}
    return (by_id.get(simple) or by_name.get(simple)) if simple else None


def _list_mentioned_names(text: str, classes: Iterable[NamedClass]) -> list[str]:
    """Return the ids of the classes whose names a text has. A name inside a longer one doesn't count."""
    text = _simplify(text)
    mentions = [
        (match.start(), match.end(), each.id)
        for each in classes
        if (name := _simplify(each.name))
        for match in re.finditer(_build_pattern(name), text)
    ]
    return [
        *dict.fromkeys(
            id_
            for start, end, id_ in mentions
            if not any(
                first <= start and end <= last and last - first > end - start
                for first, last, _id in mentions
            )
        )
    ]


def _list_mentioned_ids(text: str, classes: Iterable[NamedClass]) -> list[str]:
    text = _simplify(text)
    return [
        each.id
        for each in classes
        if re.search(f"{_BEFORE_ID}{_BETWEEN}{_build_pattern(_simplify(each.id))}", text)
    ]


def _build_pattern(name: str) -> str:
    """Return the pattern of a name that is no part of a longer word."""
    before = f"(?<!{_LETTER})" if re.match(_LETTER, name[0]) else ""
    after = f"(?!{_LETTER})" if re.match(_LETTER, name[-1]) else ""
    return f"{before}{re.escape(name)}{after}"


def _simplify(text: str) -> str:
    return " ".join(text.casefold().split())
