"""The text that memory-retrieval makes for a prompt: working memory first, then verified memory, as Markdown.

The newest working entries count as fully relevant for any query; long-term hits have
the score of their search, which says how much of the query they meet. All are sorted by score; with equal scores working entries come first.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from workflows.engine.language.document import Json
from workflows.engine.nodes.memory.disagreeing import group_disagreeing
from workflows.engine.nodes.memory.quoting import (
    describe_origin,
    describe_validity,
    needs_quoting,
    quote_block,
)
from workflows.engine.ports import MemoryHit


MAX_WORKING_ENTRIES: Final = 10
WORKING_SCORE: Final = 1.0
_OWN_HEADINGS: Final = re.compile(
    r"^([ \t]*)(#{1,6}[ \t]*(?:History|Record|历史上下文|记录))", re.MULTILINE
)
_LETTERS: Final = re.compile(r"[^\W\d_]")
_HAN: Final = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD: Final = re.compile(r"\w+")

H = TypeVar("H", bound=MemoryHit, covariant=True)


@dataclass(frozen=True, slots=True)
class Record(Generic[H]):
    """An entry with its relevance in this text, which differs from the relevance of its search."""

    hit: H
    score: float


@dataclass(frozen=True, slots=True)
class Wording:
    heading: str
    record: str  # the heading of a record, with ``number`` and ``score``
    disagreement: str


ENGLISH: Final = Wording("History", "Record {number} (relevance: {score:.2f})", "these disagree")
CHINESE: Final = Wording("历史上下文", "记录{number} (相关度: {score:.2f})", "这些说法互相矛盾")


def choose_query(topic: Json = None, content: Json = None, document: Json = None) -> str:
    """Return the text of the first argument that has text, or an empty string."""
    for value in (topic, content, document):
        if value is not None and (text := to_text(value).strip()):
            return text
    return ""


def merge_hits(working: Iterable[H], long_term: Iterable[H]) -> list[Record[H]]:
    """Return the records of both lists, best first, without repeated texts. ``working`` is sorted newest first."""
    records = [Record(hit, WORKING_SCORE) for hit in list(working)[:MAX_WORKING_ENTRIES]]
    records += [Record(hit, hit.score or 0.0) for hit in long_term]
    records.sort(key=lambda record: record.score, reverse=True)  # stable
    return _remove_duplicates(records)


def render_markdown(records: Sequence[Record[MemoryHit]], wording: Wording = ENGLISH) -> str:
    """Return the records as Markdown. Without records the text is empty, because a heading would only cost tokens."""
    if not records:
        return ""
    parts = [f"## {wording.heading}"]
    scores = {record.hit.id: record.score for record in records}
    groups = group_disagreeing(record.hit for record in records)
    for number, group in enumerate(groups, 1):
        score = max(scores.get(hit.id, 0.0) for hit in group)
        heading = wording.record.format(number=number, score=score)
        parts.append(f"### {heading}\n{_render_group(group, wording)}")
    return "\n\n".join(parts)


def choose_wording(language: str, *texts: str) -> Wording:
    """Choose the wording by a language code or, if it is empty, by the first text that has letters."""
    if language:
        return CHINESE if language.casefold().startswith("zh") else ENGLISH
    text = next((text for text in texts if _LETTERS.search(text)), "")
    return CHINESE if _HAN.search(text) else ENGLISH


def to_text(value: Json) -> str:
    """Return strings unchanged and other values as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _render_group(group: Sequence[MemoryHit], wording: Wording) -> str:
    """Render entries that disagree with their dates, and a single one with its date if memory says who said it, or until when."""
    if len(group) == 1:
        hit = group[0]
        label = describe_origin(hit) if getattr(hit, "speaker", "") else describe_validity(hit)
        return _render_value(hit, label)
    lines = [_render_value(hit, f"- {describe_origin(hit)}") for hit in group]
    return "\n".join([f"({wording.disagreement})", *lines])


def _render_value(hit: MemoryHit, label: str) -> str:
    """Render the value. It is quoted if it is untrusted or looks like a role marker; its headings are escaped."""
    text = to_text(hit.value)
    if needs_quoting(hit):
        return f"{label}:\n{quote_block(text)}" if label else quote_block(text)
    return (f"{label}: " if label else "") + _OWN_HEADINGS.sub(r"\g<1>\\\g<2>", text)


def _remove_duplicates(records: Iterable[Record[H]]) -> list[Record[H]]:
    ids: set[str] = set()
    texts: set[str] = set()
    unique = []
    for record in records:
        text = _normalize(to_text(record.hit.value))
        if record.hit.id in ids or text in texts:
            continue
        ids.add(record.hit.id)
        texts.add(text)
        unique.append(record)
    return unique


def _normalize(text: str) -> str:
    """Normalize case, and remove punctuation unless the text consists of it, so that similar texts are equal."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(plain)) or plain.strip()
