"""Rules that turn findings of curation into proposals, on which members decide."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memory.core.records import MemoryEntry, Source, StoreParams
from memory.logic.curation.links import TermLink
from memory.logic.entries.duplicates import (
    Likeness,
    compare_values,
    get_age_key,
    measure_similarity,
)
from memory.logic.entries.texts import list_texts
from memory.logic.entries.write_batch import build_restore_params
from memory.logic.ports import NewId
from memory.logic.review.contradictions import Contradiction
from memory.logic.review.proposals import ChangeKind, Proposal, Target


_MAX_MERGED = 20


def propose_addition(draft: StoreParams, new_id: NewId, *, by: str, reason: str = "") -> Proposal:
    """Propose a draft that is stored only after a review."""
    return Proposal(
        new_id(), ChangeKind.ADD, draft.namespace, (), draft, reason, by, score=draft.importance
    )


def propose_replacement(contradiction: Contradiction, new_id: NewId, *, by: str) -> Proposal:
    """Propose that the newer entry replaces the older one, which it then lists as superseded."""
    new = replace(
        build_restore_params(contradiction.newer),
        metadata={"supersedes": contradiction.older.key},
        source=Source(rule=by),
    )
    return Proposal(
        new_id(),
        ChangeKind.MERGE,
        contradiction.newer.namespace,
        (Target.of(contradiction.newer), Target.of(contradiction.older)),
        new,
        f"{contradiction.conflict}: {contradiction.about}",
        by,
    )


def propose_merges(
    entries: Sequence[MemoryEntry], new_id: NewId, *, by: str, min_similarity: float = 0.6
) -> list[Proposal]:
    """Propose merges of similar entries that the write-time duplicate check left apart."""
    proposals = []
    merged_ids: set[str] = set()
    ordered = sorted(entries, key=get_age_key, reverse=True)
    for position, newer in enumerate(ordered):
        similar = (
            []
            if newer.id in merged_ids
            else _list_similar(newer, ordered[position + 1 :], merged_ids, min_similarity)
        )
        if similar:
            merged_ids |= {newer.id, *(entry.id for entry, _ in similar)}
            targets = (Target.of(newer), *(Target.of(entry) for entry, _ in similar))
            score = min(score for _, score in similar)
            new = replace(build_restore_params(newer), source=Source(rule=by))
            proposals.append(
                Proposal(
                    new_id(),
                    ChangeKind.MERGE,
                    newer.namespace,
                    targets,
                    new,
                    "alike",
                    by,
                    round(score, 4),
                )
            )
    return proposals


def propose_links(
    links: Iterable[TermLink], entries: Iterable[MemoryEntry], new_id: NewId, *, by: str
) -> list[Proposal]:
    by_id = {entry.id: entry for entry in entries}
    return [
        Proposal(
            new_id(),
            ChangeKind.LINK,
            by_id[link.first].namespace,
            (Target.of(by_id[link.first]), Target.of(by_id[link.second])),
            None,
            ", ".join(link.terms[:8]),
            by,
            link.weight,
        )
        for link in links
        if by_id[link.first].namespace == by_id[link.second].namespace
    ]


def _list_similar(
    newer: MemoryEntry, older: Sequence[MemoryEntry], merged_ids: set[str], min_similarity: float
) -> list[tuple[MemoryEntry, float]]:
    similarities = [
        (entry, _measure_similarity(newer, entry))
        for entry in older
        if entry.id not in merged_ids
        and (entry.namespace, entry.category) == (newer.namespace, newer.category)
    ]
    return [(entry, score) for entry, score in similarities if score >= min_similarity][
        :_MAX_MERGED
    ]


def _measure_similarity(first: MemoryEntry, second: MemoryEntry) -> float:
    if compare_values(first.value, second.value) is not Likeness.DIFFERENT:
        return 1.0
    return measure_similarity(
        "\n".join(list_texts(first.value)), "\n".join(list_texts(second.value))
    )
