"""Which memories belong together though different tasks wrote them: by the rare words they share."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from memory.core.records import MemoryEntry
from memory.logic.entries.text_similarity import list_significant_terms
from memory.logic.entries.texts import list_texts


@dataclass(frozen=True, slots=True)
class Link:
    """``one`` and ``other`` are entry ids in order; ``terms``: what they share, the rarest first."""

    one: str
    other: str
    weight: float
    terms: tuple[str, ...]


def links(entries: Sequence[MemoryEntry], *, least: float = 0.25, most_each: int = 5) -> list[Link]:
    """Strongest first. Entries of one run are together anyway, and are not linked."""
    terms = {entry.id: _terms(entry) for entry in entries}
    rarity = _rarity(terms)
    candidates = _pairs_sharing_something(terms)
    runs = {entry.id: entry.source.run_id for entry in entries}
    found = [
        link
        for one, other in sorted(candidates)
        if not (runs[one] and runs[one] == runs[other])
        and (link := _link(one, other, terms, rarity)).weight >= least
        and len(link.terms) >= _FEWEST_SHARED
    ]
    found.sort(key=lambda link: (-link.weight, link.one, link.other))
    return _at_most(most_each, found)


_FEWEST_SHARED = 2
_COMMON = 0.5  # a term in more than half of the entries links nothing
_WIDEST = 200  # nor does one in so many: the pairs would be countless


def _terms(entry: MemoryEntry) -> frozenset[str]:
    tags = entry.metadata.get("tags", ())
    texts = [*list_texts(entry.value), *(tag for tag in tags if isinstance(tag, str))]
    return frozenset(term for text in texts for term in list_significant_terms(text))


def _rarity(terms: Mapping[str, frozenset[str]]) -> dict[str, float]:
    counts = Counter(term for found in terms.values() for term in found)
    total = len(terms)
    most = min(_WIDEST, max(2, _COMMON * total))
    return {term: math.log(1 + total / n) for term, n in counts.items() if n <= most}


def _pairs_sharing_something(terms: Mapping[str, frozenset[str]]) -> set[tuple[str, str]]:
    homes: dict[str, list[str]] = defaultdict(list)
    rarity = _rarity(terms)
    for entry in sorted(terms):
        for term in terms[entry] & rarity.keys():
            homes[term].append(entry)
    return {pair for found in homes.values() for pair in combinations(found, 2)}


def _link(
    one: str, other: str, terms: Mapping[str, frozenset[str]], rarity: Mapping[str, float]
) -> Link:
    """Cosine of the two sets, each term weighing what it is rare."""
    left, right = terms[one] & rarity.keys(), terms[other] & rarity.keys()
    shared = sorted(left & right, key=lambda term: (-rarity[term], term))
    norm = math.sqrt(_square(left, rarity) * _square(right, rarity))
    weight = _square(shared, rarity) / norm if norm else 0.0
    return Link(one, other, round(weight, 6), tuple(shared))


def _square(terms: "Sequence[str] | frozenset[str]", rarity: Mapping[str, float]) -> float:
    return sum(rarity[term] ** 2 for term in sorted(terms))


def _at_most(most: int, found: Sequence[Link]) -> list[Link]:
    counts: Counter[str] = Counter()
    kept = []
    for link in found:
        if counts[link.one] < most and counts[link.other] < most:
            kept.append(link)
            counts.update((link.one, link.other))
    return kept
