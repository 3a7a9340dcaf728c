"""What memory-retrieval makes for a prompt: working memory first, then what is verified, as Markdown.

The newest working entries count as fully relevant, whatever was asked; long-term hits come with
the score of their search. One order for all, by score; among equals working entries stay first.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from workflows.engine.document import Json
from workflows.engine.ports import MemoryHit
from workflows.engine.quoting import block_quoted, has_to_be_quoted


WORKING_ENTRIES: Final = 10
WORKING_SCORE: Final = 1.0


H = TypeVar("H", bound=MemoryHit, covariant=True)


@dataclass(frozen=True, slots=True)
class Record(Generic[H]):
    """An entry with the relevance it has here, which isn't that of its search."""

    hit: H
    score: float


@dataclass(frozen=True, slots=True)
class Wording:
    heading: str
    record: str

    def line(self, number: int, score: float) -> str:
        return self.record.format(number=number, score=score)


ENGLISH: Final = Wording("History", "Record {number} (relevance: {score:.2f})")
CHINESE: Final = Wording("历史上下文", "记录{number} (相关度: {score:.2f})")


def query_of(topic: Json = None, content: Json = None, document: Json = None) -> str:
    """What to search for: the first of the three that says something."""
    for given in (topic, content, document):
        text = "" if given is None else text_of(given)
        if text.strip():
            return text.strip()
    return ""


def merge(
    working: Iterable[H],
    long_term: Iterable[H],
    *,
    newest: int = WORKING_ENTRIES,
) -> list[Record[H]]:
    """By score, best first, each text once; both come in the order memory gave them: newest, best."""
    records = [Record(hit, WORKING_SCORE) for hit in list(working)[:newest]]
    records += [Record(hit, hit.score or 0.0) for hit in long_term]
    records.sort(key=lambda record: record.score, reverse=True)  # stable
    return _each_once(records)


def markdown(records: Sequence[Record[MemoryHit]], wording: Wording = ENGLISH) -> str:
    """Empty for no entries: a heading over nothing would only cost tokens."""
    if not records:
        return ""
    parts = [f"## {wording.heading}"]
    for number, record in enumerate(records, 1):
        parts.append(f"### {wording.line(number, record.score)}\n{_quoted(record.hit)}")
    return "\n\n".join(parts)


def wording_for(language: str, *texts: str) -> Wording:
    """Of a language by its code; without one, that of the first text that has words."""
    if language:
        return CHINESE if language.casefold().startswith("zh") else ENGLISH
    said = next((text for text in texts if _LETTERS.search(text)), "")
    return CHINESE if _HAN.search(said) else ENGLISH


def text_of(value: Json) -> str:
    """Text as it is, the rest as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _quoted(hit: MemoryHit) -> str:
    """As it was said, but for what could pass for a record of its own, or comes from strangers."""
    text = text_of(hit.value)
    if has_to_be_quoted(hit):
        return block_quoted(text)
    return _OUR_HEADINGS.sub(r"\g<1>\\\g<2>", text)


_OUR_HEADINGS = re.compile(
    r"^([ \t]*)(#{1,6}[ \t]*(?:History|Record|历史上下文|记录))", re.MULTILINE
)
_LETTERS = re.compile(r"[^\W\d_]")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = re.compile(r"\w+")


def _each_once(records: Iterable[Record[H]]) -> list[Record[H]]:
    ids: set[str] = set()
    texts: set[str] = set()
    kept = []
    for record in records:
        said = _normalised(text_of(record.hit.value))
        if record.hit.id in ids or said in texts:
            continue
        ids.add(record.hit.id)
        texts.add(said)
        kept.append(record)
    return kept


def _normalised(text: str) -> str:
    """Case, spaces and punctuation change nothing; of a text of signs alone they are all there is."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(plain)) or plain.strip()
