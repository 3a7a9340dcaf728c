"""Two memories that can't both be true: noticed and proposed, never decided here.

Only what is said of one thing and can have one value: where somebody lives, what something costs,
when it starts. Likes and belongings add up, so that two of them contradict nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from memory.core.records import Json, MemoryEntry
from memory.logic.entries.duplicates import Likeness, compare_values, differs_by_negation, normalize
from memory.logic.entries.texts import get_single_text


class Conflict(StrEnum):
    VALUE = "value"  # the same thing, another value
    NEGATION = "negation"  # the same sentence, denied


@dataclass(frozen=True, slots=True)
class Claim:
    subject: str
    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """``newer`` would supersede ``older``, if a person agrees."""

    older: MemoryEntry
    newer: MemoryEntry
    conflict: Conflict
    about: str


def contradictions(entry: MemoryEntry, others: Iterable[MemoryEntry]) -> list[Contradiction]:
    found = []
    for other in others:
        if other.id != entry.id and other.namespace == entry.namespace:
            conflict = conflict_between(entry.value, other.value)
            if conflict:
                older, newer = sorted((entry, other), key=_age)
                found.append(Contradiction(older, newer, *conflict))
    return found


def conflict_between(one: Json, other: Json) -> tuple[Conflict, str] | None:
    """What kind, and about what; values that are no texts contradict each other by their names."""
    left, right = claim_of(one), claim_of(other)
    if left and right and _of_the_same(left, right) and _values_differ(left.value, right.value):
        return Conflict.VALUE, f"{left.subject}: {left.attribute}"
    said, denied = get_single_text(one), get_single_text(other)
    if said and denied and differs_by_negation(said, denied):
        return Conflict.NEGATION, normalize(said)
    return None


def claim_of(value: Json) -> Claim | None:
    if isinstance(value, dict):
        parts = [value.get(name) for name in ("subject", "attribute", "value")]
        if all(isinstance(part, str | int | float) for part in parts):
            subject, attribute, said = (normalize(str(part)) for part in parts)
            return Claim(subject, attribute, said)
    text = get_single_text(value)
    return _claim_in(" ".join(text.split())) if text and len(text) <= _LONGEST else None


_LONGEST = 300  # a longer text says more than one thing

# What can be said once of one thing, by the verb that says it.
_ENGLISH = {
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
_CHINESE = {
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

_DENIED = r"(?:not |n't |no longer |never )"
_ENGLISH_CLAIMS = [
    (attribute, re.compile(rf"^(?P<subject>.+?)\s+(?:{verbs})\s+(?!{_DENIED})(?P<value>.+)$", re.I))
    for attribute, verbs in _ENGLISH.items()
]
_CHINESE_CLAIMS = [
    (attribute, re.compile(rf"^(?P<subject>[^不没]{{1,30}}?)(?:现在)?(?:{verbs})(?P<value>.+)$"))
    for attribute, verbs in _CHINESE.items()
]

# "is" says one value of what something has (the deadline, my name, Ann's desk), many of what it is.
_HAD = re.compile(r"^(?:the|my|our|your|his|her|its|their)\s|'s\s|的", re.I)
_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.I)


def _claim_in(text: str) -> Claim | None:
    sentence = text.rstrip(".!。！ ").replace("’", "'")
    if _MORE_THAN_ONE.search(sentence):
        return None
    # One list in both: the special verbs before "is", which is part of some of them.
    for attribute, pattern in (*_ENGLISH_CLAIMS, *_CHINESE_CLAIMS):
        found = pattern.match(sentence)
        if found and (attribute != "is" or _HAD.search(found["subject"])):
            subject = normalize(_ARTICLE.sub("", found["subject"]))
            return Claim(subject, attribute, normalize(found["value"]))
    return None


_MORE_THAN_ONE = re.compile(r"[.!?]\s|[。！？;；\n]|\?$|？$")


def _of_the_same(one: Claim, other: Claim) -> bool:
    return (one.subject, one.attribute) == (other.subject, other.attribute)


def _values_differ(one: str, other: str) -> bool:
    """ "Lyon" and "Lyon in France" agree."""
    if compare_values(one, other) is not Likeness.DIFFERENT:
        return False
    return not (_within(one, other) or _within(other, one))


def _within(part: str, whole: str) -> bool:
    """As whole words; Chinese has no spaces, but 5 is not within 50 there either."""
    if f" {part} " in f" {whole} ":
        return True
    return not part.isascii() and not any(map(str.isdigit, part)) and part in whole


def _age(entry: MemoryEntry) -> tuple[str, str]:
    return (entry.updated_at.isoformat() if entry.updated_at else "", entry.id)
