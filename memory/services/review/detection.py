"""Detect contradictions, duplicates and links between new and older memories, and save them as proposals for review.

The comparison takes long and locks nothing. A proposal records the entries that it compares, so that applying it fails
if they have been changed in the meantime.
"""

from collections.abc import Sequence

from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.records import MemoryEntry, MemoryQuery, Tier
from memory.logic.curation.links import find_term_links
from memory.logic.entries.texts import join_texts
from memory.logic.review.contradictions import find_contradictions
from memory.logic.review.proposal_rules import propose_links, propose_merges, propose_replacement
from memory.logic.review.proposals import Proposal
from memory.services.curation.learning_rules import LearningRule
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.review.proposals import save_proposals


PROPOSED_BY = "curation"
MAX_COMPARED = 300  # entries compared for contradictions
MAX_LINKED = 150  # entries compared for links
MAX_SIMILAR = 10  # entries found by search for each new one
# Entries of these categories record past events, so they neither contradict nor replace each other.
RUN_CATEGORIES = frozenset({"execution", "message", "note"})


@retry_on_conflict
def propose_changes(
    caller: MemoryCaller,
    *,
    namespace: str,
    keys: Sequence[str],
    run_id: str,
    learning: LearningRule,
) -> int:
    """Save proposals about the new entries with these keys, and return their number."""
    if not keys:
        return 0
    newest, similar_groups = _load_entries(caller, namespace, keys)
    proposals = _build_proposals(newest, similar_groups, frozenset(keys))
    if not proposals:
        return 0
    with open_namespace(caller, "write", "memory.proposed", namespace=namespace) as access:
        count = save_proposals(access, proposals, run_id=run_id, learning=learning)
        access.detail["keys"] = count
        return count


def _load_entries(
    caller: MemoryCaller, namespace: str, keys: Sequence[str]
) -> tuple[list[MemoryEntry], list[list[MemoryEntry]]]:
    """Return the namespace's newest entries and, for each new entry, a group of it and those that resemble it."""
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        newest = access.open_store().recall(MemoryQuery(namespace, top_k=MAX_COMPARED))
        new_entries = [
            entry for entry in newest if entry.key in keys and entry.category not in RUN_CATEGORIES
        ]
        similar_groups = [[entry, *_find_similar(access, entry)] for entry in new_entries]
        access.detail["keys"] = len(newest)
    return newest, similar_groups


def _find_similar(access: NamespaceAccess, entry: MemoryEntry) -> list[MemoryEntry]:
    text = join_texts(entry.value)[:2_000]
    query = MemoryQuery(entry.namespace, query_text=text, top_k=MAX_SIMILAR)
    return [hit for hit in access.open_store().recall(query) if hit.id != entry.id]


def _build_proposals(
    newest: Sequence[MemoryEntry],
    similar_groups: Sequence[Sequence[MemoryEntry]],
    keys: frozenset[str],
) -> list[Proposal]:
    candidates = [entry for entry in newest if entry.category not in RUN_CATEGORIES]
    replacements = _propose_replacements(candidates, similar_groups)
    contradicting_keys = {_get_keys(proposal) for proposal in replacements}
    merges = [
        proposal
        for proposal in _propose_merges(similar_groups, keys)
        if _get_keys(proposal) not in contradicting_keys
    ]
    # Entries that may be merged into one are not linked to each other.
    merging_pairs = [_get_keys(proposal) for proposal in (*replacements, *merges)]
    links = [
        proposal
        for proposal in _propose_links(candidates[:MAX_LINKED], keys)
        if not any(_get_keys(proposal) <= pair for pair in merging_pairs)
    ]
    return [*replacements, *merges, *links]


def _propose_replacements(
    candidates: Sequence[MemoryEntry], similar_groups: Sequence[Sequence[MemoryEntry]]
) -> list[Proposal]:
    long_term = [entry for entry in candidates if entry.tier is Tier.LONG_TERM]
    return [
        propose_replacement(conflict, _new_id, author=PROPOSED_BY)
        for group in similar_groups
        for conflict in find_contradictions(group[0], long_term)
    ]


def _propose_merges(
    similar_groups: Sequence[Sequence[MemoryEntry]], keys: frozenset[str]
) -> list[Proposal]:
    return [
        proposal
        for group in similar_groups
        for proposal in propose_merges(group, _new_id, author=PROPOSED_BY)
        if keys & _get_keys(proposal)
    ]


def _propose_links(candidates: Sequence[MemoryEntry], keys: frozenset[str]) -> list[Proposal]:
    new_ids = {entry.id for entry in candidates if entry.key in keys}
    links = find_term_links(candidates)
    new_links = [link for link in links if {link.first_id, link.second_id} & new_ids]
    return propose_links(new_links, candidates, _new_id, author=PROPOSED_BY)


def _get_keys(proposal: Proposal) -> frozenset[str]:
    return frozenset(target.key for target in proposal.targets)


def _new_id() -> str:
    return str(uuid7())
