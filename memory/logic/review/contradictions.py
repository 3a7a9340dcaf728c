"""Contradictions between two entries; they are detected and proposed, never resolved here.

Only attributes with a single value are compared, such as an address, a price or a start date. Likes and belongings
can have several values, so that two of them contradict nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memory.core.records import Json, MemoryEntry
from memory.logic.entries.duplicates import (
    Likeness,
    compare_values,
    differs_by_negation,
    get_age_key,
    normalize,
)
from memory.logic.entries.texts import get_single_text


_MAX_LENGTH = 300  # a longer text has several statements

# Attributes with a single value, and the verbs that state it.
_ENGLISH_VERBS = {
    "home": r"lives? in|is living in|moved to|resides? in",
    "work": r"works? (?:at|for)|is employed (?:at|by)|joined",
    "price": r"costs?|is priced at",
    "start": r"starts?(?: at| on| in)?|begins?(?: at| on| in)?|opens?(?: at| on)?",
    "end": r"ends?(?: at| on| in)?|closes?(?: at| on)?|is due(?: on| at| by)?|expires?(?: on| at)?",
    "birth": r"was born (?:in|on|at)",
    "name": r"is (?:called|named)",
    "place": r"is (?:located|based) (?:in|at)|takes place (?:in|at|on)",
    "preference": r"prefers?",
    "version": r"runs on|uses version",
    "is": r"is(?: now)?|are(?: now)?|was|were|=",
}
_CHINESE_VERBS = {
    "home": "住在|搬到了?|定居于?",
    "work": "就职于|任职于|供职于",
    "price": "售价为?|价格是|花费",
    "start": "开始于|始于",
    "end": "截止于?|结束于|到期于",
    "birth": "出生于|生于",
    "name": "名叫|叫做?",
    "place": "位于|坐落于",
    "is": "是|为|改为|定在|等于",
}

_NEGATION = r"(?:not |n't |no longer |never )"
_ENGLISH_CLAIMS = [
    (name, re.compile(rf"^(?P<subject>.+?)\s+(?:{verbs})\s+(?!{_NEGATION})(?P<value>.+)$", re.I))
    for name, verbs in _ENGLISH_VERBS.items()
]
_CHINESE_CLAIMS = [
    (name, re.compile(rf"^(?P<subject>[^不没]{{1,30}}?)(?:现在)?(?:{verbs})(?P<value>.+)$"))
    for name, verbs in _CHINESE_VERBS.items()
]

# "is" states a single value only for such a subject (the deadline, my name, Ann's desk); others can be several things.
_POSSESSIVE = re.compile(r"^(?:the|my|our|your|his|her|its|their)\s|'s\s|的", re.I)
_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.I)

_SEVERAL_SENTENCES = re.compile(r"[.!?]\s|[。！？;；\n]|\?$|？$")


class ContradictionKind(StrEnum):
    VALUE = "value"  # the same thing, another value
    NEGATION = "negation"  # the same sentence, denied


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about one attribute of a subject, in normalized words."""

    subject: str
    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two entries of which ``newer`` would supersede ``older`` if a member agrees."""

    older: MemoryEntry
    newer: MemoryEntry
    kind: ContradictionKind
    subject: str


def find_contradictions(
    entry: MemoryEntry, candidates: Iterable[MemoryEntry]
) -> list[Contradiction]:
    """Return the contradictions between the entry and each candidate of its namespace."""
    contradictions = []
    for candidate in candidates:
        if candidate.id == entry.id or candidate.namespace != entry.namespace:
            continue
        if conflict := find_conflict(entry.value, candidate.value):
            older, newer = sorted((entry, candidate), key=get_age_key)
            contradictions.append(Contradiction(older, newer, *conflict))
    return contradictions


def find_conflict(first: Json, second: Json) -> tuple[ContradictionKind, str] | None:
    """Return the kind and the subject of the conflict between two values, or None if there is no conflict."""
    claim, other = parse_claim(first), parse_claim(second)
    if claim and other and _contradicts(claim, other):
        return ContradictionKind.VALUE, f"{claim.subject}: {claim.attribute}"
    first_text, second_text = get_single_text(first), get_single_text(second)
    if first_text and second_text and differs_by_negation(first_text, second_text):
        return ContradictionKind.NEGATION, normalize(first_text)
    return None


def parse_claim(value: Json) -> Claim | None:
    """Parse a claim from an object with its three fields or from a single sentence; return None for other values."""
    if isinstance(value, dict):
        fields = [value.get(name) for name in ("subject", "attribute", "value")]
        if all(isinstance(field, str | int | float) for field in fields):
            return Claim(*(normalize(str(field)) for field in fields))
    text = get_single_text(value)
    return _parse_sentence(text) if text and len(text) <= _MAX_LENGTH else None


@lru_cache(maxsize=4_096)  # a new fact is compared with the newest ones, which are mostly the same
def _parse_sentence(text: str) -> Claim | None:
    sentence = " ".join(text.split()).rstrip(".!。！ ").replace("’", "'")
    if _SEVERAL_SENTENCES.search(sentence):
        return None
    # The special verbs come before "is", which is part of some of them.
    for attribute, pattern in (*_ENGLISH_CLAIMS, *_CHINESE_CLAIMS):
        match = pattern.match(sentence)
        if match and (attribute != "is" or _POSSESSIVE.search(match["subject"])):
            subject = normalize(_ARTICLE.sub("", match["subject"]))
            return Claim(subject, attribute, normalize(match["value"]))
    return None


def _contradicts(claim: Claim, other: Claim) -> bool:
    """Return whether the claims give one attribute different values. "Lyon" and "Lyon in France" don't differ."""
    first, second = claim.value, other.value
    if (claim.subject, claim.attribute) != (other.subject, other.attribute):
        return False
    if compare_values(first, second) is not Likeness.DIFFERENT:
        return False
    return not (_contains_phrase(first, second) or _contains_phrase(second, first))


def _contains_phrase(phrase: str, text: str) -> bool:
    """Return whether the text contains the phrase as whole words, or anywhere if it is Chinese without digits."""
    is_unspaced = not phrase.isascii() and not any(map(str.isdigit, phrase))
    return f" {phrase} " in f" {text} " or (is_unspaced and phrase in text)
