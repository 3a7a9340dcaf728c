"""Links between entries of different tasks that share rare terms."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from memory.core.records import MemoryEntry
from memory.logic.entries.text_similarity import list_significant_terms
from memory.logic.entries.texts import list_texts


_MIN_SHARED = 2
_MIN_WEIGHT = 0.25
_COMMON_SHARE = 0.5  # a term in more than half of the entries makes no links
_MAX_ENTRIES = 200  # nor does a term in more entries, because they would have too many pairs


@dataclass(frozen=True, slots=True)
class TermLink:
    """Two entries with their ids in order, and the terms that they share, the rarest first."""

    first_id: str
    second_id: str
    weight: float
    terms: tuple[str, ...]


def find_term_links(entries: Sequence[MemoryEntry], *, max_per_entry: int = 5) -> list[TermLink]:
    """Return the links, the strongest first. Entries of one run aren't linked, because they belong together anyway."""
    terms = {entry.id: _list_terms(entry) for entry in entries}
    rarity = _compute_rarity(terms)
    # Terms that are too frequent make no links.
    rare = {id_: entry_terms & rarity.keys() for id_, entry_terms in terms.items()}
    runs = {entry.id: entry.source.run_id for entry in entries}
    links = [
        link
        for first, second in sorted(_list_candidate_pairs(rare))
        if not (runs[first] and runs[first] == runs[second])
        and (link := _build_link(first, second, rare, rarity)).weight >= _MIN_WEIGHT
        and len(link.terms) >= _MIN_SHARED
    ]
    links.sort(key=lambda link: (-link.weight, link.first_id, link.second_id))
    return _limit_links(links, max_per_entry)


def _list_terms(entry: MemoryEntry) -> frozenset[str]:
    tags = entry.metadata.get("tags", ())
    texts = [*list_texts(entry.value), *(tag for tag in tags if isinstance(tag, str))]
    return frozenset(term for text in texts for term in list_significant_terms(text))


def _compute_rarity(terms: Mapping[str, frozenset[str]]) -> dict[str, float]:
    counts = Counter(term for entry_terms in terms.values() for term in entry_terms)
    total = len(terms)
    limit = min(_MAX_ENTRIES, max(2, _COMMON_SHARE * total))
    return {term: math.log(1 + total / count) for term, count in counts.items() if count <= limit}


def _list_candidate_pairs(terms: Mapping[str, frozenset[str]]) -> set[tuple[str, str]]:
    entries_by_term: dict[str, list[str]] = defaultdict(list)
    for entry in sorted(terms):
        for term in terms[entry]:
            entries_by_term[term].append(entry)
    return {pair for entries in entries_by_term.values() for pair in combinations(entries, 2)}


def _build_link(
    first: str, second: str, terms: Mapping[str, frozenset[str]], rarity: Mapping[str, float]
) -> TermLink:
    """Weigh the link by the cosine of both sets of terms, each term weighted by its rarity."""
    shared = sorted(terms[first] & terms[second], key=lambda term: (-rarity[term], term))
    norm = math.sqrt(_sum_squares(terms[first], rarity) * _sum_squares(terms[second], rarity))
    weight = _sum_squares(shared, rarity) / norm if norm else 0.0
    return TermLink(first, second, round(weight, 6), tuple(shared))


def _sum_squares(terms: Iterable[str], rarity: Mapping[str, float]) -> float:
    return sum(rarity[term] ** 2 for term in sorted(terms))


def _limit_links(links: Iterable[TermLink], max_per_entry: int) -> list[TermLink]:
    counts: Counter[str] = Counter()
    limited = []
    for link in links:
        ids = (link.first_id, link.second_id)
        if all(counts[id_] < max_per_entry for id_ in ids):
            limited.append(link)
            counts.update(ids)
    return limited
