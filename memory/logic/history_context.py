"""What the memory-retrieval node puts into a prompt: working memory first, then what is verified.

The newest working entries count as fully relevant, whatever was asked; long-term hits come with
the score of their search. One order for all, by score, and the newest first among equals.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memory.core.records import Json, MemoryEntry
from memory.core.values import compact
from memory.logic.near import Likeness, likeness


WORKING_ENTRIES = 10
WORKING_SCORE = 1.0


@dataclass(frozen=True, slots=True)
class Wording:
    heading: str
    record: str

    def line(self, number: int, score: float) -> str:
        return self.record.format(number=number, score=score)


ENGLISH = Wording("History", "Record {number} (relevance: {score:.2f})")
CHINESE = Wording("历史上下文", "记录{number} (相关度: {score:.2f})")


def query_of(topic: Json = None, content: Json = None, document: Json = None) -> str:
    """What to search for: the first of the three that says something."""
    for given in (topic, content, document):
        text = given if isinstance(given, str) else ("" if given is None else compact(given))
        if text.strip():
            return text.strip()
    return ""


def merge(
    working: Iterable[MemoryEntry],
    long_term: Iterable[MemoryEntry],
    *,
    newest: int = WORKING_ENTRIES,
) -> list[MemoryEntry]:
    """By score, best first, each text once; of two with the same text the better scored stays."""
    hot = sorted(working, key=_age, reverse=True)[:newest]
    ranked = sorted(long_term, key=lambda entry: (entry.score or 0.0, *_age(entry)), reverse=True)
    merged = [*(replace(entry, score=WORKING_SCORE) for entry in hot), *ranked]
    # A stable sort: among equals working entries stay first, newest first.
    merged.sort(key=lambda entry: entry.score or 0.0, reverse=True)
    return _each_once(merged)


def markdown(entries: Sequence[MemoryEntry], language: str = "en") -> str:
    """Empty for no entries: a heading over nothing would only cost tokens."""
    if not entries:
        return ""
    wording = wording_of(language)
    parts = [f"## {wording.heading}"]
    for number, entry in enumerate(entries, 1):
        parts.append(f"### {wording.line(number, entry.score or 0.0)}\n{text_of(entry.value)}")
    return "\n\n".join(parts)


def wording_of(language: str) -> Wording:
    return CHINESE if language.casefold().startswith("zh") else ENGLISH


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else compact(value)


def _each_once(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    kept: list[MemoryEntry] = []
    for entry in entries:
        if not any(_the_same(entry, one) for one in kept):
            kept.append(entry)
    return kept


def _the_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    return one.id == other.id or likeness(one.value, other.value) is Likeness.SAME


def _age(entry: MemoryEntry) -> tuple[str, str]:
    return (entry.updated_at.isoformat() if entry.updated_at else "", entry.id)
