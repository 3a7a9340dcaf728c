"""What curation would change, as proposals: it notices, people decide."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memory.core.records import MemoryEntry, Source, StoreParams
from memory.logic.curation.links import TermLink
from memory.logic.entries.duplicates import Likeness, compare_values, measure_similarity
from memory.logic.entries.texts import list_texts
from memory.logic.entries.write_batch import build_restore_params
from memory.logic.ports import NewId
from memory.logic.review.contradictions import Contradiction
from memory.logic.review.proposals import Kind, Proposal, Target


def to_add(draft: StoreParams, new_id: NewId, *, by: str, reason: str = "") -> Proposal:
    """A draft that waits for a person's word before it is stored."""
    return Proposal(
        new_id(), Kind.ADD, draft.namespace, (), draft, reason, by, score=draft.importance
    )


def to_settle(found: Contradiction, new_id: NewId, *, by: str) -> Proposal:
    """The newer would take the older one's place; the older stays readable as what it took in."""
    new = replace(
        build_restore_params(found.newer),
        metadata={"supersedes": found.older.key},
        source=Source(rule=by),
    )
    return Proposal(
        new_id(),
        Kind.MERGE,
        found.newer.namespace,
        (Target.of(found.newer), Target.of(found.older)),
        new,
        f"{found.conflict}: {found.about}",
        by,
    )


def to_merge(
    entries: Sequence[MemoryEntry], new_id: NewId, *, by: str, least: float = 0.6
) -> list[Proposal]:
    """Entries that look alike, though not so much that they were merged when they were written."""
    made = []
    taken: set[str] = set()
    ordered = sorted(entries, key=_age, reverse=True)
    for position, newer in enumerate(ordered):
        alike = [] if newer.id in taken else _alike(newer, ordered[position + 1 :], taken, least)
        if alike:
            taken |= {newer.id, *(one.id for one, _ in alike)}
            targets = (Target.of(newer), *(Target.of(one) for one, _ in alike))
            score = min(score for _, score in alike)
            new = replace(build_restore_params(newer), source=Source(rule=by))
            made.append(
                Proposal(
                    new_id(),
                    Kind.MERGE,
                    newer.namespace,
                    targets,
                    new,
                    "alike",
                    by,
                    round(score, 4),
                )
            )
    return made


def to_link(
    links: Iterable[TermLink], entries: Iterable[MemoryEntry], new_id: NewId, *, by: str
) -> list[Proposal]:
    known = {entry.id: entry for entry in entries}
    return [
        Proposal(
            new_id(),
            Kind.LINK,
            known[link.first].namespace,
            (Target.of(known[link.first]), Target.of(known[link.second])),
            None,
            ", ".join(link.terms[:8]),
            by,
            link.weight,
        )
        for link in links
        if known[link.first].namespace == known[link.second].namespace
    ]


_MOST_MERGED = 20


def _alike(
    newer: MemoryEntry, older: Sequence[MemoryEntry], taken: set[str], least: float
) -> list[tuple[MemoryEntry, float]]:
    found = [
        (one, _similarity(newer, one))
        for one in older
        if one.id not in taken
        and (one.namespace, one.category) == (newer.namespace, newer.category)
    ]
    return [(one, score) for one, score in found if score >= least][:_MOST_MERGED]


def _similarity(one: MemoryEntry, other: MemoryEntry) -> float:
    if compare_values(one.value, other.value) is not Likeness.DIFFERENT:
        return 1.0
    return measure_similarity("\n".join(list_texts(one.value)), "\n".join(list_texts(other.value)))


def _age(entry: MemoryEntry) -> tuple[str, str]:
    return (entry.updated_at.isoformat() if entry.updated_at else "", entry.id)
