"""Propose and perform what a turn of a conversation does to memory, with permissions and audit log.

The operations of a turn are one transaction: a worker that is killed between them leaves none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from django.conf import settings

from accounts.request_transaction import pausable_tenant
from config.retry import retry_on_conflict
from memory.core.entry_codec import CONTENT, get_state
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.core.scopes import compute_lifetime
from memory.embedding.judge import find_judge
from memory.logic.judgement.judge import Decide, Judge, Proposal, Turn
from memory.logic.judgement.learning import Learner
from memory.logic.judgement.operations import (
    NOTHING_RELATED,
    LearnedChange,
    LearnRequest,
    RelatedFacts,
)
from memory.logic.judgement.related_entries import (
    build_fact_query,
    build_queries,
    find_related,
    list_compared_texts,
)
from memory.logic.judgement.relating import may_contradict
from memory.logic.judgement.turns import Clause
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.services.entries.edit import RevisionConflict, retire_entry
from memory.services.entries.forget import forget_entries
from memory.services.entries.remember import remember
from memory.services.entries.speakers import find_of_others
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess, NamespaceLookup
from memory.services.recall.recall import embed_for, open_embedded, open_for_query
from memory.services.review.contradicting import propose_contradictions


T = TypeVar("T")

MAX_ATTEMPTS: Final = 3  # of a turn, if somebody changes what it has read
REPLACED: Final = "replaced by a newer fact"
ENDED: Final = "no longer so"
FORGOTTEN: Final = "asked to forget"
REMAINING: Final = "the rest of what was asked to forget"


@retry_on_conflict
def propose_facts(caller: MemoryCaller, *, scope: str, turn: Turn) -> Proposal:
    """Propose, without a model, what the turn does to the entries of a scope.

    Nothing is compared with entries that the caller may not view, or that its person has paused.
    """
    first, *others = build_queries("", turn.message, turn.clauses)
    with open_for_query(caller, first, scope=scope, namespace=None) as (access, query):
        related = _find_related(access, [query, *others], turn)
    return turn.propose(related)


def learn_turn(
    caller: MemoryCaller, *, scope: str, turn: Turn, request: LearnRequest, decide: Decide
) -> tuple[Proposal, list[LearnedChange]]:
    """Propose what the turn does, and perform the operations that are decided, in one transaction.

    All that is compared is read and judged before the first write, which takes the namespace's lock.
    """
    return _repeat_after_changes(partial(_learn_turn, caller, scope, turn, request, decide))


def _repeat_after_changes(learn_once: Callable[[bool], T]) -> T:
    """Call a function again if somebody changed what it had read, the last time with True: it locks the namespace first."""
    for _attempt in range(MAX_ATTEMPTS - 1):
        with suppress(RevisionConflict):
            return learn_once(False)
    return learn_once(True)


@retry_on_conflict
def _learn_turn(
    caller: MemoryCaller,
    scope: str,
    turn: Turn,
    request: LearnRequest,
    decide: Decide,
    must_lock: bool,
) -> tuple[Proposal, list[LearnedChange]]:
    lookup = _build_lookup(request)
    first, *others = build_queries("", turn.message, turn.clauses)
    first, authorized = embed_for(caller, first, scope=scope)
    with pausable_tenant([caller.team_id]):
        with open_embedded(caller, first, authorized, scope=scope, lookup=lookup) as (
            access,
            query,
        ):
            if must_lock:
                access.lock()
            related = _find_related(access, [query, *others], turn)
            entries = {} if access.external else {**related.entries}
        proposal = turn.propose(related)
        request = replace(request, operations=decide(proposal))
        return proposal, _perform(caller, scope, request, turn.judge, lookup, entries)


def _find_related(
    access: NamespaceAccess, queries: Sequence[MemoryQuery], turn: Turn
) -> RelatedFacts:
    if access.target.row is None:
        return NOTHING_RELATED
    queries = [replace(query, namespace=access.text) for query in queries]
    return find_related(access.recall_each, queries, turn.clauses, partial(find_of_others, access))


def learn(caller: MemoryCaller, *, scope: str, request: LearnRequest) -> list[LearnedChange]:
    """Perform the operations, all or none. Raise NotFound if a target is in another namespace.

    What the content filter keeps out is a result with its reasons, and the other operations are performed. What
    contradicts a known fact is stored, and proposed for review. If somebody changes a target meanwhile, it is read again.
    """
    if not request.operations:
        return []
    return _repeat_after_changes(partial(_learn, caller, scope, request))


@retry_on_conflict
def _learn(
    caller: MemoryCaller, scope: str, request: LearnRequest, must_lock: bool
) -> list[LearnedChange]:
    judge, lookup = find_judge(), _build_lookup(request)
    texts = [operation.text for operation in request.operations if operation.text]
    clauses = judge.judge_texts(texts) if judge else []
    with pausable_tenant([caller.team_id]):
        if must_lock:
            _lock(caller, scope, lookup)
        if judge and any(map(may_contradict, clauses)):
            _judge_compared(caller, scope, clauses, judge, lookup)
        return _perform(caller, scope, request, judge, lookup, {})


def _lock(caller: MemoryCaller, scope: str, lookup: NamespaceLookup | None) -> None:
    """Let others wait with what they write until the transaction ends."""
    with open_namespace(caller, "view", "memory.listed", scope=scope, lookup=lookup) as access:
        access.lock()


def _judge_compared(
    caller: MemoryCaller,
    scope: str,
    clauses: Sequence[Clause],
    judge: Judge,
    lookup: NamespaceLookup | None,
) -> None:
    """Judge the facts that the clauses may contradict: once these are stored, others wait for the namespace's lock."""
    with open_namespace(caller, "view", "memory.recalled", scope=scope, lookup=lookup) as access:
        if access.target.row is not None and access.external is None:
            facts = access.open_store().recall(build_fact_query(access.text, clauses))
            judge.judge_texts(list_compared_texts(facts, clauses))


def _perform(
    caller: MemoryCaller,
    scope: str,
    request: LearnRequest,
    judge: Judge | None,
    lookup: NamespaceLookup | None,
    entries: dict[str, MemoryEntry],
) -> list[LearnedChange]:
    learner = _Learner(
        judge=judge, request=request, caller=caller, scope=scope, lookup=lookup, entries=entries
    )
    changes = learner.learn()
    stored = [change.entry for change in changes if change.entry and change.is_new]
    propose_contradictions(caller, stored, lookup)
    return changes


def _build_lookup(request: LearnRequest) -> NamespaceLookup | None:
    """Return the look-up that the operations of a turn share, if none of them can be refused while the others stay.

    Of a refused one nothing stays, for which it needs a savepoint, and what is kept elsewhere divides the transaction.
    """
    can_be_refused = bool(settings.MEMORY_PLACES) or request.tier == Tier.WORKING
    return None if can_be_refused else NamespaceLookup()


@dataclass(frozen=True, kw_only=True)
class _Learner(Learner):
    caller: MemoryCaller
    scope: str
    lookup: NamespaceLookup | None
    entries: dict[str, MemoryEntry]  # that the transaction has read and not changed, by id

    def _find(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """Return the targets that are in the namespace of the scope and not forgotten, in their order."""
        ids = [*dict.fromkeys(ids)]
        if self.entries.keys() >= {*ids}:
            return [replace(self.entries[i], score=None, explain={}) for i in ids]
        entries = self._fetch(lambda namespace: ids)
        return [entries[i] for i in ids if i in entries]

    def _find_replaced(self, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        list_ids = partial(rows.list_replaced_ids, ids=[entry.id for entry in entries])
        return [*self._fetch(list_ids).values()]

    def _fetch(self, list_ids: Callable[[Namespace], Sequence[str]]) -> dict[str, MemoryEntry]:
        """Return the entries in the namespace of the scope that the ids name and that aren't forgotten, by id."""
        with open_namespace(
            self.caller, "view", "memory.listed", scope=self.scope, lookup=self.lookup
        ) as access:
            namespace = access.target.row
            if namespace is None or access.external is not None:
                return {}
            ids = list_ids(namespace)
            return rows.fetch_by_ids(namespace, ids) if ids else {}

    def _store(self, key: str, content: Mapping[str, Any]) -> tuple[MemoryEntry, bool]:
        tier, ttl = self.request.tier, self.request.ttl_seconds
        entry = remember(
            self.caller,
            scope=self.scope,
            key=key,
            tier=tier,
            ttl_seconds=compute_lifetime(self.scope, ttl, tier),
            once=True,
            lookup=self.lookup,
            **content,
        )
        origin = self.caller.origin
        is_new = (entry.source.run_id, entry.source.node_id) == (origin.run_id, origin.node_id)
        return entry, is_new

    def _keep(self, params: StoreParams) -> MemoryEntry:
        return remember(
            self.caller,
            scope=self.scope,
            key=params.key,
            ttl_seconds=params.ttl_seconds,
            reason=REMAINING,
            raw=True,
            lookup=self.lookup,
            **{**get_state(params, CONTENT), "tier": str(params.tier)},
        )

    def _delete(self, targets: Sequence[MemoryEntry]) -> Sequence[MemoryEntry]:
        self._drop(targets)
        forget_entries(self.caller, targets, reason=FORGOTTEN, lookup=self.lookup)
        return targets

    def _retire(self, target: MemoryEntry, successor: str, moment: datetime) -> MemoryEntry:
        self._drop([target])
        return retire_entry(
            self.caller,
            target,
            successor=successor,
            moment=moment,
            reason=REPLACED if successor else ENDED,
            lookup=self.lookup,
        )

    def _drop(self, targets: Sequence[MemoryEntry]) -> None:
        for target in targets:
            self.entries.pop(target.id, None)
