"""Rules that turn findings of curation into proposals, on which members decide."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memory.core.records import Json, MemoryEntry, Source, StoreParams
from memory.logic.curation.links import TermLink
from memory.logic.entries.duplicates import (
    Likeness,
    compare_values,
    get_age_key,
    measure_similarity,
)
from memory.logic.entries.origins import get_untrusted_origin
from memory.logic.entries.texts import list_texts
from memory.logic.entries.write_batch import build_restore_params
from memory.logic.ports import NewId
from memory.logic.review.contradictions import Contradiction
from memory.logic.review.proposals import SUPERSEDES, ChangeKind, Proposal, Target


_MAX_MERGED = 20
_MIN_SIMILARITY = 0.6


def propose_addition(
    draft: StoreParams, new_id: NewId, *, author: str, reason: str = ""
) -> Proposal:
    """Propose a draft that is stored only after a review."""
    return Proposal(
        new_id(), ChangeKind.ADD, draft.namespace, (), draft, reason, author, score=draft.importance
    )


def propose_replacement(contradiction: Contradiction, new_id: NewId, *, author: str) -> Proposal:
    """Propose that the newer entry takes the place of the older one."""
    older, newer = contradiction.older, contradiction.newer
    # Whoever decides is shown where the newer value is from; only a review of the entry itself makes it trusted.
    origin = get_untrusted_origin(newer.metadata)
    metadata: dict[str, Json] = {SUPERSEDES: older.key, **({"origin": origin} if origin else {})}
    new = replace(build_restore_params(newer), metadata=metadata, source=Source(rule=author))
    namespace, reason = newer.namespace, f"{contradiction.kind}: {contradiction.subject}"
    targets = (Target.from_entry(newer), Target.from_entry(older))
    return Proposal(new_id(), ChangeKind.MERGE, namespace, targets, new, reason, author)


def propose_merges(entries: Sequence[MemoryEntry], new_id: NewId, *, author: str) -> list[Proposal]:
    """Propose merges of similar entries, which were too different to be merged when they were written."""
    proposals = []
    merged_ids: set[str] = set()
    ordered = sorted(entries, key=get_age_key, reverse=True)
    for position, newer in enumerate(ordered):
        others = [] if newer.id in merged_ids else ordered[position + 1 :]
        similar = _list_similar(newer, others, merged_ids)
        if similar:
            merged = [newer, *(entry for entry, _ in similar)]
            merged_ids |= {entry.id for entry in merged}
            targets = tuple(map(Target.from_entry, merged))
            score = round(min(score for _, score in similar), 4)
            new = replace(build_restore_params(newer), source=Source(rule=author))
            kind, namespace = ChangeKind.MERGE, newer.namespace
            proposal = Proposal(new_id(), kind, namespace, targets, new, "alike", author, score)
            proposals.append(proposal)
    return proposals


def propose_links(
    links: Iterable[TermLink], entries: Iterable[MemoryEntry], new_id: NewId, *, author: str
) -> list[Proposal]:
    """Propose links between entries of one namespace that share rare terms."""
    by_id = {entry.id: entry for entry in entries}
    proposals = []
    for link in links:
        first, second = by_id[link.first_id], by_id[link.second_id]
        if (namespace := first.namespace) == second.namespace:
            targets = (Target.from_entry(first), Target.from_entry(second))
            kind, reason, score = ChangeKind.LINK, ", ".join(link.terms[:8]), link.weight
            proposal = Proposal(new_id(), kind, namespace, targets, None, reason, author, score)
            proposals.append(proposal)
    return proposals


def _list_similar(
    newer: MemoryEntry, older: Sequence[MemoryEntry], merged_ids: set[str]
) -> list[tuple[MemoryEntry, float]]:
    """Return the older entries to merge with the newer one, each with its similarity."""
    similar = [
        (entry, score)
        for entry in older
        if entry.id not in merged_ids
        and (entry.namespace, entry.category) == (newer.namespace, newer.category)
        and (score := _measure_similarity(newer, entry)) >= _MIN_SIMILARITY
    ]
    return similar[:_MAX_MERGED]


def _measure_similarity(first: MemoryEntry, second: MemoryEntry) -> float:
    if compare_values(first.value, second.value) is not Likeness.DIFFERENT:
        return 1.0
    return measure_similarity(*("\n".join(list_texts(entry.value)) for entry in (first, second)))
