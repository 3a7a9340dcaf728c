"""Memory for a test run, which reads real entries and its own writes, and never changes real memory.

When the run first accesses a namespace, it is copied into the in-memory provider, the reference for all others, so that
test runs and real runs behave alike. Permissions, policies and quotas are checked, and reads are audited.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from config.ids import uuid7
from memory.core.policy import check_bound, check_value
from memory.core.provider import check_query
from memory.core.recall.selection import get_category, holds
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.core.scopes import Scope, compute_lifetime, parse_tier
from memory.core.values import check_params
from memory.logic.conversations.conversation_requests import (
    ConversationRequest,
    ConversationResult,
    perform_request,
)
from memory.logic.engine_port import EnginePort
from memory.logic.entries.tiers import is_rejected
from memory.logic.judgement.asked_facts import name_reason
from memory.logic.judgement.judge import Decide, Proposal, Turn
from memory.logic.judgement.learning import StoreLearner, propose_for_store
from memory.logic.judgement.operations import Action, LearnedChange, LearnRequest, Operation
from memory.logic.knowledge.knowledge_base import list_page_entries
from memory.logic.knowledge.page_queries import (
    Address,
    PageContext,
    PageHit,
    PageQuery,
    search_pages,
)
from memory.logic.knowledge.page_requests import PageWriteResult, write_drafts
from memory.logic.knowledge.wiki_sources import WikiSource, list_sources
from memory.logic.profile import Profile, build_profile, build_profile_query, keep_prompt_use
from memory.logic.steps import Redact, Step, StoreRequest, keep_unchanged
from memory.logic.wiki.actions import WRITING, WikiAction, WikiResult, perform_action
from memory.logic.wiki.log import list_log
from memory.logic.wiki.wiki import Wiki
from memory.permissions import Verb
from memory.services.access.pause_state import WithheldEntries
from memory.services.entries.speakers import find_of_others
from memory.services.gateway import ingress_gate
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.engine_port import LoadCaller, RunMemory
from memory.services.gateway.gateway import hash_key, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.knowledge.page_finding import load_names
from memory.services.recall.prompt_notes import add_notes, list_shown
from memory.services.recall.recall import record_reads
from memory.services.sandbox.dry_run import DryRunChanges, DryRunStore, Ledger


_OPERATIONS: dict[str, tuple[Verb, str]] = {  # by the action of a conversation request
    "append": ("write", "memory.rehearsed"),
    "read": ("view", "memory.recalled"),
    "clear": ("forget", "memory.rehearsed"),
    "summarise": ("write", "memory.rehearsed"),
}


class SandboxMemory(RunMemory):
    """The engine's memory port for one test run. It works on copies, one operation at a time."""

    def __init__(
        self, caller: MemoryCaller | LoadCaller, ledger: Ledger, redact: Redact = keep_unchanged
    ) -> None:
        super().__init__(caller, redact)
        self._changes = DryRunChanges(ledger)
        self._copies: dict[str, DryRunStore] = {}  # by namespace
        self._lock = threading.RLock()  # a search opens several namespaces at once

    async def save_todos(self, **_arguments: Any) -> None:
        """Keep nothing, because a dry run has no metadata."""

    def _recall(self, step: Step, query: MemoryQuery, injected: bool) -> list[MemoryEntry]:
        with self._open(step, "view", "memory.recalled") as (access, copy):
            check_query(query)
            access.detail.update(keys=0, injected=injected, sandbox=True)
            if access.is_withheld:
                return WithheldEntries()
            entries = copy.recall(replace(query, namespace=access.text))
            entries = add_notes(access, query, name_reason(query, entries))
            access.detail["keys"] = len(entries)
            record_reads(access, copy.list_unchanged(list_shown(entries)), injected=injected)
            return entries

    def _recall_profile(self, step: Step, injected: bool) -> Profile:
        with self._open(step, "view", "memory.recalled") as (access, copy):
            access.detail.update(keys=0, injected=injected, sandbox=True, profile=True)
            if access.is_withheld:
                return Profile(withheld=WithheldEntries.withheld)
            query = build_profile_query(access.text)
            profile = build_profile(add_notes(access, query, copy.recall(query)))
            access.detail["keys"] = len(profile.entries)
            shown_entries = list_shown(profile.entries)
            record_reads(access, copy.list_unchanged(shown_entries), injected=injected)
            return profile

    def _propose(self, step: Step, turn: Turn) -> Proposal:
        with self._open(step, "view", "memory.recalled") as (access, copy):
            access.detail.update(keys=0, sandbox=True)
            if access.is_withheld:
                return turn.propose()
            return propose_for_store(copy, access.text, turn, partial(find_of_others, access))

    def _learn(self, step: Step, request: LearnRequest) -> list[LearnedChange]:
        return [self._learn_one(step, request, operation) for operation in request.operations]

    def _learn_turn(
        self, step: Step, turn: Turn, request: LearnRequest, decide: Decide
    ) -> tuple[Proposal, list[LearnedChange]]:
        return EnginePort._learn_turn(self, step, turn, request, decide)

    def _learn_one(self, step: Step, request: LearnRequest, operation: Operation) -> LearnedChange:
        """Perform one operation on the copy, with the permission that it needs on the real namespace."""
        verb: Verb = "forget" if operation.action is Action.FORGET else "write"
        with self._open(step, verb, "memory.rehearsed") as (access, copy):
            access.detail["sandbox"] = True
            ttl = compute_lifetime(step.scope, request.ttl_seconds, request.tier)
            learner = StoreLearner(
                judge=self._find_judge(),
                store=copy,
                namespace=access.text,
                source=access.caller.source,
                request=replace(request, operations=(operation,), ttl_seconds=ttl),
                screen=partial(self._admit, access, copy),
            )
            (change,) = learner.learn()
            return change

    def _admit(
        self, access: NamespaceAccess, copy: DryRunStore, params: StoreParams
    ) -> StoreParams:
        """Return the parameters that the content filter lets through. Raise NotAdmitted if it rejects them."""
        check_bound(access.policy, params.value, key=params.key, metadata=params.metadata)
        check_params(params)
        load = partial(_load_contents, access, copy)
        admission = ingress_gate.check_ingress(params, load, ingress_gate.Writer.RUN)
        params = admission.params
        size = check_value(access.policy, params.value, key=params.key, metadata=params.metadata)
        access.detail.update(admission.detail, key=hash_key(params.key), bytes=size)
        return params

    def _store(self, step: Step, request: StoreRequest) -> MemoryEntry:
        with self._open(step, "write", "memory.rehearsed") as (access, copy):
            params = StoreParams(
                namespace=access.text,
                key=request.key,
                value=request.value,
                metadata=request.metadata,
                category=get_category(request.metadata),
                tier=parse_tier(request.tier),
                ttl_seconds=compute_lifetime(step.scope, request.ttl_seconds, request.tier),
                source=access.caller.source,
            )
            params = keep_prompt_use(params, copy.living(access.text).get(params.key))
            return copy.store(self._admit(access, copy, params))

    def _delete(self, step: Step, key: str | None, filter_: Mapping[str, Json] | None) -> int:
        with self._open(step, "forget", "memory.rehearsed") as (access, copy):
            access.detail["keys"] = count = copy.forget(key, filter_)
            return count

    def _converse(self, step: Step, request: ConversationRequest) -> ConversationResult:
        verb, action = _OPERATIONS[request.action]
        with self._open(step, verb, action) as (access, copy):
            result = perform_request(
                request,
                access.target.parsed.ids[0],
                copy,
                new_id=lambda: str(uuid7()),
                clock=lambda: access.now,
                source=access.caller.source,
            )
            access.detail.update(keys=len(result.entries) or result.count, sandbox=True)
            if verb == "view":
                record_reads(access, copy.list_unchanged(result.entries), injected=False)
            return result

    def _find_pages(
        self, step: Step, search: PageQuery, namespaces: Sequence[str]
    ) -> Sequence[PageHit]:
        entries: list[MemoryEntry] = []
        sources: dict[Address, WikiSource] = {}
        with ExitStack() as stack:
            pairs = [
                stack.enter_context(self._open(step, "view", "memory.recalled", namespace=text))
                for text in namespaces or (None,)
            ]
            for access, copy in pairs:
                if not access.is_withheld:
                    entries += list_page_entries(copy, access.text, include_former=False)
                    sources |= {
                        (access.text, source.id): source
                        for source in list_sources(copy, access.text)
                    }
            names = load_names(entries) if search.accepts else {}
            hits = search_pages(search, entries, context=PageContext(sources, names))
            for access, copy in pairs:
                hit_entries = [hit.entry for hit in hits if hit.entry.namespace == access.text]
                access.detail.update(keys=len(hit_entries), pages=True, sandbox=True)
                record_reads(access, copy.list_unchanged(hit_entries), injected=False)
            return hits

    def _write_pages(
        self, step: Step, pages: Sequence[Mapping[str, Json]], mode: str
    ) -> Sequence[PageWriteResult]:
        with self._open(step, "write", "memory.rehearsed") as (access, copy):
            source, clock = access.caller.source, lambda: access.now
            results = write_drafts(pages, copy, access.text, mode=mode, clock=clock, source=source)
            access.detail.update(keys=len(results), pages=True)
            return results

    def _maintain_wiki(
        self, step: Step, action: WikiAction, arguments: Mapping[str, Json]
    ) -> WikiResult:
        is_write = action in WRITING
        verb: Verb = "write" if is_write else "view"
        audit_action = "memory.rehearsed" if is_write else "memory.listed"
        with self._open(step, verb, audit_action) as (access, copy):
            source, clock = access.caller.source, lambda: access.now
            wiki = Wiki(access.text, copy, clock=clock, author=source)
            person = str(access.caller.identity.get("user_id") or "")
            list_lines = partial(list_log, copy, access.text)
            result = perform_action(wiki, action, arguments, list_lines, person=person)
            access.detail.update(keys=len(result.entries), pages=True, sandbox=True)
            return result

    @contextmanager
    def _open(
        self, step: Step, verb: Verb, action: str, *, namespace: str | None = None
    ) -> Iterator[tuple[NamespaceAccess, DryRunStore]]:
        """Open the step's namespace, or the knowledge base with this name."""
        caller = self._build_caller(step)
        scope = Scope.GLOBAL.value if namespace else step.scope
        address = (None, namespace) if namespace else (scope, None)
        opening = open_namespace(caller, verb, action, scope=address[0], namespace=address[1])
        with self._lock, opening as access:
            yield access, self._open_copy(access, scope)

    def _open_copy(self, access: NamespaceAccess, scope: str) -> DryRunStore:
        """Return the copy of the namespace, made at its first use, for one operation."""
        copy = self._copies.get(access.text)
        if copy is None:
            copy = self._make_copy(access, scope)
            if not access.is_withheld:  # a copy without the withheld entries must not be used again
                self._copies[access.text] = copy
        copy.begin_operation(access)
        return copy

    def _make_copy(self, access: NamespaceAccess, scope: str) -> DryRunStore:
        return DryRunStore(access, scope, self._changes)


def _load_contents(access: NamespaceAccess, copy: DryRunStore) -> ingress_gate.NamespaceContents:
    living = copy.living(access.text)
    newest = sorted(living.values(), key=lambda entry: (entry.updated_at, entry.id), reverse=True)
    visible = [
        entry for entry in newest if entry.tier is not Tier.QUARANTINE and holds(entry, access.now)
    ]
    return ingress_gate.NamespaceContents(
        living.get,
        visible[: ingress_gate.LIMITS.recent_count],
        [entry.value for entry in newest if is_rejected(entry)][: ingress_gate.MAX_REJECTED],
        can_hold=access.external is None,
    )
