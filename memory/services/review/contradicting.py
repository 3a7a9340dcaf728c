"""Notice that something that was just stored or imported contradicts what is known, and propose it for review.

Nothing is decided here: both entries stay as they are until a person chooses.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

from django.utils import timezone

from accounts.tenancy import reading, tenant
from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.recall.floor import ATTRIBUTE
from memory.core.records import MemoryEntry, MemoryQuery, Tier
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import parse_namespace
from memory.embedding.judge import find_judge
from memory.logic.entries.duplicates import get_age_key, list_affirmed_words
from memory.logic.entries.texts import get_single_text
from memory.logic.judgement.labels import SINGLE
from memory.logic.judgement.operations import KnownFact
from memory.logic.judgement.related_entries import MAX_COMPARED, MAX_COMPARED_LENGTH
from memory.logic.review.contradictions import (
    Contradiction,
    ContradictionKind,
    find_contradictions,
    parse_claim,
)
from memory.logic.review.proposal_rules import propose_replacement
from memory.logic.review.proposals import Proposal
from memory.models import Namespace, Revision
from memory.providers.postgres import rows
from memory.providers.postgres.newest import fetch_newest_of
from memory.services.curation.learning_rules import LearningRule
from memory.services.entries.speakers import list_of_others
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceLookup
from memory.services.review.proposals import save_proposals


PROPOSED_BY: Final = "curation"
FACT: Final = "fact"
# An import compares its newest facts among the newest ones of their namespace, so that its cost has an end, however long
# the file is: a fact costs its encoding, 3 ms, and forty comparisons.
MAX_IMPORTED: Final = 500
MAX_READ: Final = 2_000
SINGLE_ATTRIBUTES: Final = frozenset(str(each) for topic in SINGLE for each in topic)


@retry_on_conflict
def propose_contradictions(
    caller: MemoryCaller, entries: Iterable[MemoryEntry], lookup: NamespaceLookup | None = None
) -> int:
    """Propose the contradictions between entries that the caller just stored and the known facts; return their number.

    A pair that is proposed already, or that a person decided to keep, isn't proposed again.
    """
    facts = [entry for entry in entries if _is_comparable(entry)]
    by_namespace = groupby(facts, key=attrgetter("namespace"))
    return sum(_propose(caller, name, [*group], lookup) for name, group in by_namespace)


@retry_on_conflict
def propose_imported_contradictions(
    caller: MemoryCaller, *, namespace: str, change_id: UUID
) -> int:
    """Propose the contradictions of the facts that an import wrote, among them and with known ones; return their number.

    Facts about the same are found by an index, and each is proposed with the newest one that it contradicts only: ten
    values of one thing are nine proposals, and not forty-five.
    """
    with tenant([caller.team_id]):
        row = rows.find_namespace(caller.team_id, namespace)
        facts = _list_facts(row, MAX_READ) if row else []
        revisions = Revision.objects.unscoped().filter(
            change_id=change_id, entry_id__in=[UUID(fact.id) for fact in facts]
        )
        imported_ids = set(map(str, revisions.values_list("entry_id", flat=True)))
    index = _FactIndex(facts)
    imported = [fact for fact in facts if fact.id in imported_ids][:MAX_IMPORTED]
    return _save(caller, namespace, [c for fact in imported for c in _find_newest(fact, index)])


class _FactIndex:
    """Facts, the newest first, by what they are about: without a topic in common they don't contradict each other."""

    def __init__(self, facts: Iterable[MemoryEntry]) -> None:
        self._facts: dict[Hashable, list[MemoryEntry]] = defaultdict(list)
        for fact in facts:
            for topic in (*_list_word_topics(fact), *_list_attribute_topics(fact, is_asked=False)):
                self._facts[topic].append(fact)

    def find_candidates(self, fact: MemoryEntry) -> list[MemoryEntry]:
        """Return at most ``MAX_COMPARED`` other facts: those that say the same of something, then those of its kind."""
        topics = (*_list_word_topics(fact), *_list_attribute_topics(fact, is_asked=True))
        groups = (self._facts.get(topic, ())[: MAX_COMPARED + 1] for topic in topics)
        candidates = {each.id: each for group in groups for each in group if each.id != fact.id}
        return list(candidates.values())[:MAX_COMPARED]


def _list_word_topics(fact: MemoryEntry) -> Iterator[Hashable]:
    """Yield the topics by which the rules for words compare facts: a claim's subject, and what is affirmed or denied."""
    if claim := parse_claim(fact.value):
        yield claim.subject, claim.attribute
    yield list_affirmed_words(get_single_text(fact.value) or "")


def _list_attribute_topics(fact: MemoryEntry, *, is_asked: bool) -> Iterator[Hashable]:
    """Yield the topics under which a fact is stored, or asked for, to be compared by meaning.

    One without an attribute was stored by a program, which says nothing about it: it may be of any kind.
    """
    attribute = fact.metadata.get(ATTRIBUTE)
    if attribute is None:
        yield "of any kind" if is_asked else "of no kind"
    elif attribute in SINGLE_ATTRIBUTES:
        yield "of kind", str(attribute)
        if is_asked:
            yield "of no kind"
    if not is_asked and (attribute is None or attribute in SINGLE_ATTRIBUTES):
        yield "of any kind"


def _find_newest(fact: MemoryEntry, index: _FactIndex) -> list[Contradiction]:
    """Return the contradiction of the fact with the newest of those that contradict it, if there is one."""

    def get_age(contradiction: Contradiction) -> tuple[str, str]:
        is_older = contradiction.newer.id == fact.id
        return get_age_key(contradiction.older if is_older else contradiction.newer)

    contradictions = _find_contradictions(fact, index.find_candidates(fact))
    return [max(contradictions, key=get_age)] if contradictions else []


def _is_comparable(entry: MemoryEntry) -> bool:
    text = get_single_text(entry.value)
    is_statement = bool(text) and len(text or "") <= MAX_COMPARED_LENGTH
    return is_statement and (entry.category, entry.tier) == (FACT, Tier.LONG_TERM)


def _propose(
    caller: MemoryCaller,
    namespace: str,
    entries: Sequence[MemoryEntry],
    lookup: NamespaceLookup | None,
) -> int:
    with reading([caller.team_id]):
        row = lookup.get_row(namespace) if lookup else None
        row = row or rows.find_namespace(caller.team_id, namespace)
        facts = _list_facts(row, MAX_COMPARED + 1) if row else []
        holding_ids = {fact.id for fact in facts}
        entries = [entry for entry in entries if entry.id in holding_ids]
    contradictions = [
        contradiction
        for entry in entries
        for contradiction in _find_contradictions(entry, [c for c in facts if c.id != entry.id])
    ]
    stored_ids = {entry.id for entry in entries}
    comparable = _leave_out_others(caller, namespace, contradictions, stored_ids)
    return _save(caller, namespace, comparable, lookup)


def _leave_out_others(
    caller: MemoryCaller,
    namespace: str,
    contradictions: Sequence[Contradiction],
    stored_ids: Collection[str],
) -> Sequence[Contradiction]:
    """Leave out what others said about themselves in memory that people share: two people live in two towns."""
    judge = find_judge() if contradictions else None
    if judge is None or parse_namespace(namespace).seen_by is SeenBy.PERSON:
        return contradictions
    entries = {each.id: each for c in contradictions for each in (c.older, c.newer)}
    candidates = [each for each in entries.values() if each.id not in stored_ids]
    person = str(caller.identity.get("user_id") or "")
    with reading([caller.team_id]):
        of_others = list_of_others(caller.team_id, person, candidates)
    facts = [
        KnownFact(each.id, get_single_text(each.value) or "", is_of_other=each.id in of_others)
        for each in candidates
    ]
    ids = {*stored_ids, *(fact.id for fact in judge.select_comparable(facts))}
    return [c for c in contradictions if {c.older.id, c.newer.id} <= ids]


def _save(
    caller: MemoryCaller,
    namespace: str,
    contradictions: Sequence[Contradiction],
    lookup: NamespaceLookup | None = None,
) -> int:
    proposals = list(map(_build_proposal, contradictions))
    if not proposals:
        return 0
    with open_namespace(
        caller, "write", "memory.proposed", namespace=namespace, lookup=lookup
    ) as access:
        run_id, learning = caller.origin.run_id, LearningRule()
        access.detail["keys"] = count = save_proposals(
            access, proposals, run_id=run_id, learning=learning
        )
        return count


def _list_facts(namespace: Namespace, limit: int) -> list[MemoryEntry]:
    """Return the newest facts that hold now, and that can be compared."""
    condition = ("category = %s AND tier = %s", [FACT, Tier.LONG_TERM.value])
    query = MemoryQuery(namespace.text, top_k=limit)
    newest = fetch_newest_of(namespace, condition, timezone.now(), query)
    return [entry for entry in newest if _is_comparable(entry)]


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
    facts = [
        KnownFact(e.id, get_single_text(e.value) or "")
        for e in candidates
        if e.id not in conflicting_ids
        and (attribute is None or e.metadata.get(ATTRIBUTE) in (attribute, None))
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
