"""Find the known entries that a turn may speak of, in a store."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from memory.core.provider import utc_now
from memory.core.recall.floor import ATTRIBUTE
from memory.core.recall.selection import is_former
from memory.core.records import MemoryEntry, MemoryQuery, PromptUse
from memory.logic.entries.texts import get_single_text, join_texts
from memory.logic.judgement.operations import KnownFact, RelatedFacts
from memory.logic.judgement.relating import may_contradict
from memory.logic.judgement.turns import Clause


KIND: Final = "kind"  # the key of the metadata that says that a fact is an instruction
MAX_RELATED: Final = 10  # by what the turn says, by what it is about, and of the newest
MAX_LATEST: Final = 20
MAX_EVERYTHING: Final = 1_000  # facts that a wish to forget all of them lists
MAX_COMPARED: Final = 40  # the newest facts, which a statement may contradict
MAX_COMPARED_LENGTH: Final = 300
MAX_QUERY_LENGTH: Final = 2_000

# Returns the result of each query.
RecallEach = Callable[[Sequence[MemoryQuery]], list[list[MemoryEntry]]]

# Returns the ids of the entries that somebody else than the person of the turn told a memory which people share.
FindOfOthers = Callable[[Sequence[MemoryEntry]], Collection[str]]


def build_queries(namespace: str, message: str, clauses: Sequence[Clause]) -> list[MemoryQuery]:
    """Return the queries whose hits a turn is compared with. The first one needs the embedding of its text.

    The newest facts are for a turn without a word of what it changes, and for what it may contradict. If it asks to forget
    something, former facts are compared, too: a former phone number is one. The newest entries come last then.
    """
    is_forget = any(clause.is_forget for clause in clauses)
    text = message[:MAX_QUERY_LENGTH]
    queries = [MemoryQuery(namespace, query_text=text, top_k=MAX_RELATED, include_former=is_forget)]
    if attributes := sorted({str(clause.attribute) for clause in clauses}):
        condition = {ATTRIBUTE: {"$in": attributes}}
        queries.append(
            MemoryQuery(namespace, filter=condition, top_k=MAX_RELATED, include_former=is_forget)
        )
    queries.append(build_fact_query(namespace, clauses))
    if is_forget:
        queries.append(MemoryQuery(namespace, top_k=MAX_LATEST))
    return queries


def build_fact_query(namespace: str, clauses: Sequence[Clause]) -> MemoryQuery:
    """Return the query for the newest facts: more if a clause may contradict one, and all if it asks to forget them."""
    facts = MemoryQuery(namespace, filter={"category": "fact"})
    if any(clause.means_everything for clause in clauses):
        return replace(facts, top_k=MAX_EVERYTHING, include_former=True)
    may_contradict_one = any(map(may_contradict, clauses))
    return replace(facts, top_k=MAX_COMPARED if may_contradict_one else MAX_RELATED)


def find_of_nobody_else(entries: Sequence[MemoryEntry]) -> frozenset[str]:
    """Return no id: in the memory of one person everything is theirs."""
    return frozenset()


def find_related(
    recall_each: RecallEach,
    queries: Sequence[MemoryQuery],
    clauses: Sequence[Clause],
    find_of_others: FindOfOthers = find_of_nobody_else,
) -> RelatedFacts:
    """Return the facts that the queries find and, if the turn asks to forget something, the ids of what was stored last."""
    results = recall_each(queries)
    entries = {entry.id: entry for entry in chain(*results)}
    is_forget = any(clause.is_forget for clause in clauses)
    latest = _list_latest(results.pop(), find_of_others) if is_forget else []
    facts = _collect_facts(chain(*(hits[:MAX_RELATED] for hits in results)), find_of_others)
    everything = _list_everything(results[-1], clauses, find_of_others)
    compared_texts = list_compared_texts(results[-1], clauses)
    return RelatedFacts(facts, latest, everything, compared_texts, entries)


def _list_everything(
    facts: Sequence[MemoryEntry], clauses: Sequence[Clause], find_of_others: FindOfOthers
) -> list[str]:
    """Return the ids of the person's facts, what holds first, if a clause means them all."""
    if not any(clause.means_everything for clause in clauses):
        return []
    of_others, now = find_of_others(facts), utc_now()
    own_facts = [fact for fact in facts if fact.id not in of_others]
    return [fact.id for fact in sorted(own_facts, key=lambda fact: is_former(fact, now))]


def list_compared_texts(facts: Sequence[MemoryEntry], clauses: Sequence[Clause]) -> list[str]:
    """Return the texts of the facts that a statement of the clauses may contradict: of its attribute, or of unknown ones."""
    attributes = {str(clause.attribute) for clause in clauses if may_contradict(clause)}
    texts = [
        get_single_text(fact.value) or ""
        for fact in facts
        if attributes and fact.metadata.get(ATTRIBUTE) in (None, *attributes)
    ]
    return [text for text in texts if 0 < len(text) <= MAX_COMPARED_LENGTH]


def _collect_facts(hits: Iterable[MemoryEntry], find_of_others: FindOfOthers) -> list[KnownFact]:
    """Return the facts among the hits, each once. Messages, pages and results of tasks are none."""
    facts = {hit.id: hit for hit in hits if hit.category == "fact"}
    of_others, now = find_of_others([*facts.values()]), utc_now()
    return [
        KnownFact(
            hit.id,
            join_texts(hit.value),
            may_enter_prompts=hit.prompt_use is not PromptUse.NEVER,
            is_of_other=hit.id in of_others,
            is_former=is_former(hit, now),
        )
        for hit in facts.values()
    ]


def _list_latest(entries: Sequence[MemoryEntry], find_of_others: FindOfOthers) -> list[str]:
    """Return the ids of those of the newest entries that the person's latest run stored: what "don't remember that" means."""
    of_others = find_of_others(entries)
    newest = [entry for entry in entries if entry.id not in of_others]
    if not newest or not newest[0].source.run_id:
        return []
    return [entry.id for entry in newest if entry.source.run_id == newest[0].source.run_id]
