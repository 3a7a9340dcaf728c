"""Notice that something that was just stored contradicts what is candidates, and propose it for review.

Nothing is decided here: both entries stay as they are until a person chooses.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from django.utils import timezone

from accounts.tenancy import tenant
from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.records import MemoryEntry, Tier
from memory.embedding.judge import find_judge
from memory.logic.entries.duplicates import get_age_key
from memory.logic.entries.texts import get_single_text
from memory.logic.judgement.labels import SINGLE
from memory.logic.judgement.operations import KnownFact
from memory.logic.judgement.related_entries import ATTRIBUTE
from memory.logic.review.contradictions import (
    Contradiction,
    ContradictionKind,
    find_contradictions,
)
from memory.logic.review.proposal_rules import propose_replacement
from memory.logic.review.proposals import Proposal
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.services.curation.learning_rules import LearningRule
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.review.proposals import save_proposals


PROPOSED_BY: Final = "curation"
FACT: Final = "fact"
MAX_COMPARED: Final = 40  # the newest facts
MAX_LENGTH: Final = 300  # of a statement
SINGLE_ATTRIBUTES: Final = frozenset(str(each) for topic in SINGLE for each in topic)


@retry_on_conflict
def propose_contradictions(caller: MemoryCaller, entries: Iterable[MemoryEntry]) -> int:
    """Propose the contradictions between entries that the caller just stored and the known facts; return their number.

    A pair that is proposed already, or that a person decided to keep, isn't proposed again.
    """
    facts = [entry for entry in entries if _is_comparable(entry)]
    return sum(_propose(caller, entry) for entry in facts)


def _is_comparable(entry: MemoryEntry) -> bool:
    text = get_single_text(entry.value)
    is_statement = bool(text) and len(text or "") <= MAX_LENGTH
    return is_statement and (entry.category, entry.tier) == (FACT, Tier.LONG_TERM)


def _propose(caller: MemoryCaller, entry: MemoryEntry) -> int:
    with tenant([caller.team_id]):
        namespace = rows.find_namespace(caller.team_id, entry.namespace)
        candidates = _list_known(namespace, entry) if namespace else []
    proposals = [_build_proposal(conflict) for conflict in _find_contradictions(entry, candidates)]
    if not proposals:
        return 0
    with open_namespace(caller, "write", "memory.proposed", namespace=entry.namespace) as access:
        run_id, learning = caller.origin.run_id, LearningRule()
        access.detail["keys"] = count = save_proposals(
            access, proposals, run_id=run_id, learning=learning
        )
        return count


def _list_known(namespace: Namespace, entry: MemoryEntry) -> list[MemoryEntry]:
    """Return the newest facts that hold beside the entry; none if it doesn't hold itself by now."""
    now = timezone.now()
    holding = rows.find_visible(namespace, now, holding_at=now)
    newest = holding.filter(category=FACT, tier=Tier.LONG_TERM.value).order_by("-updated_at", "-id")
    entries = [rows.build_entry(row, namespace.text) for row in newest[: MAX_COMPARED + 1]]
    rest = [each for each in entries if each.id != entry.id]
    return [each for each in rest if _is_comparable(each)] if len(rest) < len(entries) else []


def _find_contradictions(
    entry: MemoryEntry, candidates: Sequence[MemoryEntry]
) -> Sequence[Contradiction]:
    by_words = find_contradictions(entry, candidates)
    conflicting_ids = {
        each.id for contradiction in by_words for each in (contradiction.older, contradiction.newer)
    }
    judge, attribute = find_judge(), entry.metadata.get(ATTRIBUTE)
    if judge is None or (attribute is not None and attribute not in SINGLE_ATTRIBUTES):
        return by_words
    # Another attribute is no contradiction; what has none was stored by a program, which says nothing about it.
    unlike = [e for e in candidates if {attribute, e.metadata.get(ATTRIBUTE)} <= {attribute, None}]
    facts = [
        KnownFact(e.id, get_single_text(e.value) or "")
        for e in unlike
        if e.id not in conflicting_ids
    ]
    ids = (
        set(judge.find_contradicting(get_single_text(entry.value) or "", facts)) if facts else set()
    )
    by_meaning = [_build_contradiction(entry, each) for each in candidates if each.id in ids]
    return [*by_words, *by_meaning]


def _build_contradiction(entry: MemoryEntry, other: MemoryEntry) -> Contradiction:
    older, newer = sorted((entry, other), key=get_age_key)
    subject = str(newer.metadata.get(ATTRIBUTE) or older.metadata.get(ATTRIBUTE) or "")
    return Contradiction(older, newer, ContradictionKind.VALUE, subject)


def _build_proposal(contradiction: Contradiction) -> Proposal:
    return propose_replacement(contradiction, lambda: str(uuid7()), author=PROPOSED_BY)
