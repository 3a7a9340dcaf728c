"""Propose and perform what a turn of a conversation does to memory, with permissions and audit log.

The operations of a turn are one transaction: a worker that is killed between them leaves none of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from django.utils import timezone

from accounts.request_transaction import pausable_tenant
from config.retry import retry_on_conflict
from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import NotAdmitted
from memory.core.records import MemoryEntry, StoreParams, Tier
from memory.core.scopes import compute_lifetime
from memory.embedding.judge import find_judge
from memory.logic.judgement.judge import Proposal, propose
from memory.logic.judgement.learning import build_fact_metadata, list_remaining
from memory.logic.judgement.operations import Action, LearnedChange, LearnRequest, Operation
from memory.logic.judgement.related_entries import build_queries, collect_facts, find_latest
from memory.logic.profile import inherit_prompt_use
from memory.providers.postgres import rows
from memory.services.entries.edit import edit
from memory.services.entries.forget import forget_many
from memory.services.entries.remember import remember
from memory.services.entries.speakers import find_of_others
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.recall.recall import open_for_query
from memory.services.review.contradicting import propose_contradictions


REPLACED: Final = "replaced by a newer fact"
ENDED: Final = "no longer so"
FORGOTTEN: Final = "asked to forget"
REMAINING: Final = "the rest of what was asked to forget"


@retry_on_conflict
def propose_facts(caller: MemoryCaller, *, scope: str, message: str) -> Proposal:
    """Propose, without a model, what the message does to the entries of a scope.

    Nothing is compared with entries that the caller may not view, or that its person has paused.
    """
    judge = find_judge()
    clauses = judge.judge_message(message) if judge else []
    known_facts, latest = [], []
    first, *other_queries = build_queries("", message, clauses)
    with open_for_query(caller, first, scope=scope, namespace=None) as (access, query):
        if access.target.row is not None:
            store = access.open_store()
            queries = [query, *(replace(each, namespace=access.text) for each in other_queries)]
            hits = (hit for each in queries for hit in store.recall(each))
            find_others = partial(find_of_others, access)
            known_facts = collect_facts(hits, find_others)
            latest = find_latest(store, access.text, find_others)
    return propose(judge, message, clauses, known_facts, latest)


@retry_on_conflict
def learn(caller: MemoryCaller, *, scope: str, request: LearnRequest) -> list[LearnedChange]:
    """Perform the operations, all or none. Raise NotFound if a target is in another namespace.

    What the content filter keeps out is a result with its reasons, and the other operations are performed. What
    contradicts a known fact is stored, and proposed for review.
    """
    with pausable_tenant([caller.team_id]):
        learner = _Learner(caller, scope, request)
        changes = [learner.perform(operation) for operation in request.operations]
        stored = [change.entry for change in changes if change.entry and change.is_new]
        propose_contradictions(caller, stored)
        return changes


@dataclass(frozen=True)
class _Learner:
    caller: MemoryCaller
    scope: str
    request: LearnRequest

    def perform(self, operation: Operation) -> LearnedChange:
        targets = self._find(operation.targets)
        match operation.action:
            case Action.FORGET:
                return self._forget(operation, targets)
            case Action.ASK:
                return LearnedChange(operation.action, choices=tuple(targets))
            case Action.END:
                return LearnedChange(operation.action, ended=self._retire(targets, "", ENDED))
            case _:
                return self._add(operation, targets)

    def _forget(self, operation: Operation, targets: list[MemoryEntry]) -> LearnedChange:
        """Forget the targets, and store anew what they say beside what was to be forgotten."""
        rest = list_remaining(find_judge(), operation.evidence, targets, timezone.now())
        if rest is None:
            return LearnedChange(Action.ASK, choices=tuple(targets))
        if targets:
            ids = [entry.id for entry in targets]
            forget_many(self.caller, entry_ids=ids, reason=FORGOTTEN)
        remaining = [self._keep(params) for params in rest]
        return LearnedChange(operation.action, forgotten=tuple(targets), remaining=tuple(remaining))

    def _keep(self, params: StoreParams) -> MemoryEntry:
        content = get_state(params, CONTENT)
        return remember(
            self.caller,
            scope=self.scope,
            key=params.key,
            ttl_seconds=params.ttl_seconds,
            reason=REMAINING,
            raw=True,  # it was admitted with the entry that said it
            **{**content, "tier": str(params.tier)},
        )

    def _add(self, operation: Operation, targets: list[MemoryEntry]) -> LearnedChange:
        request = self.request
        metadata = build_fact_metadata({**request.metadata}, operation.text, find_judge())
        try:
            entry = remember(
                self.caller,
                scope=self.scope,
                key=operation.key,
                value=operation.text,
                metadata=metadata,
                tier=request.tier,
                ttl_seconds=compute_lifetime(self.scope, request.ttl_seconds, request.tier),
                once=True,
                valid_from=timezone.now() if targets else None,
                replaces=targets[0].id if targets else "",
                prompt_use=inherit_prompt_use(targets),
            )
        except NotAdmitted as fault:
            return LearnedChange(operation.action, reasons=tuple(fault.reasons), message=str(fault))
        origin = self.caller.origin
        is_new = (entry.source.run_id, entry.source.node_id) == (origin.run_id, origin.node_id)
        if entry.tier is Tier.QUARANTINE:
            return LearnedChange(operation.action, entry, is_new=is_new)
        other_targets = [target for target in targets if target.id != entry.id]
        retired = self._retire(other_targets, entry.id, REPLACED)
        return LearnedChange(operation.action, entry, is_new=is_new, ended=retired)

    def _retire(
        self, targets: Sequence[MemoryEntry], successor: str, reason: str
    ) -> tuple[MemoryEntry, ...]:
        return tuple(
            edit(
                self.caller,
                entry_id=target.id,
                if_revision=target.revision,
                reason=reason,
                valid_from=target.valid_from,
                valid_until=timezone.now(),
                replaced_by=successor,
            )
            for target in targets
        )

    def _find(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """Return the targets that are in the namespace of the scope and not forgotten, in their order."""
        if not ids:
            return []
        with open_namespace(self.caller, "view", "memory.listed", scope=self.scope) as access:
            row = access.target.row
            if row is None or access.external is not None:
                return []
            entries = {str(e.pk): e for e in rows.find_living(row).filter(pk__in=[*ids])}
            return [rows.build_entry(entries[i], row.text) for i in ids if i in entries]
