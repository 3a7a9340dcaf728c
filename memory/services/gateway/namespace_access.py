"""A namespace that the gateway opened for a caller, and its store."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.personas import find_player
from config.ids import uuid7
from memory import permissions
from memory.core.errors import InvalidInput
from memory.core.policy import MemorySecurityPolicy
from memory.core.provider import NamespaceStore, check_query
from memory.core.records import MemoryEntry, MemoryQuery
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace
from memory.models import Change, Namespace
from memory.models.entries import Operation
from memory.permissions import NamespaceTarget, Verb
from memory.policies import Rules, find_namespace_and_rules
from memory.providers.postgres import rows
from memory.providers.postgres.provider import PostgresProvider, search_each
from memory.routing import ExternalProvider
from memory.services.gateway.caller import MemoryCaller


def _ignore_write(changed: bool) -> None:
    pass


@dataclass(slots=True)
class NamespaceLookup:
    """The row and the rules of a namespace, which the operations of one transaction look up once for all of them.

    Each operation still checks its own permission. A namespace that doesn't exist yet is looked up again.
    """

    row: Namespace | None = None
    rules: Rules | None = None

    def find(self, team_id: UUID, text: str, app_id: str) -> tuple[Namespace | None, Rules]:
        if self.row is None or self.rules is None or self.row.text != text:
            self.row, self.rules = find_namespace_and_rules(team_id, text, app_id)
        return self.row, self.rules

    def get_row(self, text: str) -> Namespace | None:
        """Return the row of this namespace if it was looked up before."""
        return self.row if self.row is not None and self.row.text == text else None


def find_target(caller: MemoryCaller, parsed: ParsedNamespace) -> NamespaceTarget:
    """Return the namespace in the caller's team, with its row if there is one, without a check of the permission."""
    row = rows.find_namespace(caller.team_id, parsed.text)
    return NamespaceTarget(caller.team_id, parsed, row)


@dataclass(slots=True)
class NamespaceAccess:
    """A namespace that a caller may access for one operation. ``detail`` is the detail of its audit entry."""

    caller: MemoryCaller
    verb: Verb
    target: NamespaceTarget
    rules: Rules
    now: datetime
    external: ExternalProvider | None = (
        None  # the provider of the namespace, if it isn't PostgreSQL
    )
    emergency_access: str = ""  # the id of the emergency access, if the caller has no other access
    is_withheld: bool = (
        False  # the person paused recalling, so the namespace is empty for the caller
    )
    detail: dict[str, Any] = field(default_factory=dict)  # JSON
    on_external_write: Callable[[bool], None] = _ignore_write

    @property
    def text(self) -> str:
        return self.target.parsed.text

    @property
    def policy(self) -> MemorySecurityPolicy:
        return self.rules.policy

    def recall_each(self, queries: Sequence[MemoryQuery]) -> list[list[MemoryEntry]]:
        """Return the result of each query in this namespace."""
        store = self.open_store()
        if isinstance(store, GatewayStore):
            return store.recall_each(queries)
        return [store.recall(query) for query in queries]

    def open_store(self, reason: str = "", change_id: UUID | None = None) -> NamespaceStore:
        """Return a store for this namespace alone. Its writes are revisions with this reason and change id.

        An external provider ignores both, and its writes are not rolled back. Its namespaces have a row here, too: a
        write creates it, forgetting locks it, and without a row nothing is found.
        """
        if self.external is None or not self._prepare_row(self.external.name):
            return GatewayStore(self, reason, change_id)
        if self.verb != "view":
            self.on_external_write(True)
        return self.external.provider

    def claim(self) -> Namespace:
        """Return the namespace's row, locked. It is created if it is missing."""
        ownership, limit = _resolve_ownership(self.caller, self.target), self.rules.max_namespaces
        return rows.claim_namespace(self.caller.team_id, self.text, ownership, max_count=limit)

    def claim_to_write(
        self, key: str, context: rows.WriteContext
    ) -> tuple[Namespace, rows.WriteState | None]:
        """Claim the namespace, and return its row and the state before the write, which is None for a new namespace."""
        row = self.target.row
        ownership = _resolve_ownership(self.caller, self.target)
        state = rows.claim_to_write(row, key, context, ownership) if row else None
        return (row, state) if row and state else (self.claim(), None)

    def lock(self) -> Namespace | None:
        return rows.lock_namespace(self.caller.team_id, self.text)

    def build_context(
        self, operation: Operation, reason: str = "", change_id: UUID | None = None
    ) -> rows.WriteContext:
        actor, origin = self.caller.principal.actor, self.caller.origin
        step = (origin.run_id, origin.node_id, origin.idempotency_key)
        return rows.WriteContext(
            operation, self.now, actor, reason, *step, change_id=change_id or uuid7()
        )

    def record_change(
        self,
        namespace: Namespace,
        operation: Operation,
        count: int,
        reason: str,
        *,
        change_id: UUID | None = None,
    ) -> Change:
        """Record a change of ``count`` entries of the locked namespace, so that it can be undone as a whole."""
        return Change.objects.unscoped().create(
            id=change_id or uuid7(),
            team_id=namespace.team_id,
            namespace=namespace,
            operation=operation,
            actor=self.caller.principal.actor,
            reason=reason[:500],
            entry_count=count,
            at=self.now,
        )

    def _prepare_row(self, provider: str) -> bool:
        """Create the row for a write or lock it to forget entries, and return whether there is one."""
        if self.verb == "write":
            row = self.claim()
            if row.kept_in != provider:
                Namespace.objects.unscoped().filter(pk=row.pk).update(kept_in=provider)
            return True
        return (self.lock() if self.verb == "forget" else self.target.row) is not None


class GatewayStore(PostgresProvider):
    """The store of the namespace that the gateway opened, used within the gateway's transaction.

    The store checks policy and quota at every write; the gateway checks the permission and writes the audit entry.
    """

    def __init__(self, access: NamespaceAccess, reason: str, change_id: UUID | None) -> None:
        super().__init__(access.caller.team_id, clock=lambda: access.now, policy=access.policy)
        self._access = access
        self._reason = reason
        self._change_id = change_id
        self._row = access.target.row
        self._written_keys: set[str] = set()

    def recall_each(self, queries: Sequence[MemoryQuery]) -> list[list[MemoryEntry]]:
        """Return what ``recall`` returns for each query, in fewer statements."""
        for query in queries:
            check_query(query)
            self._check(query.namespace)
        return (
            search_each(self._row, queries, self._clock()) if self._row else [[] for _ in queries]
        )

    def _check(self, namespace: str) -> None:
        if namespace != self._access.text:
            raise InvalidInput(f"namespace: only {self._access.text} is open.")

    def _embed_query(self, query: MemoryQuery) -> MemoryQuery:
        """Return the query unchanged, because embedders are slow: callers use them before the transaction."""
        return query

    def _transaction(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _find(self, namespace: str) -> Namespace | None:
        return self._row

    def _claim(self, namespace: str) -> Namespace:
        self._row = self._access.claim()
        return self._row

    def _lock(self, namespace: str) -> Namespace | None:
        return self._access.lock()

    def _build_context(self, operation: Operation, key: str = "") -> rows.WriteContext:
        context = self._access.build_context(operation, self._reason, self._change_id)
        if operation is not Operation.STORE:
            self._written_keys.discard(key)
        elif key in self._written_keys:  # a second write in the same step is not a repetition
            return replace(context, origin_key="")
        else:
            self._written_keys.add(key)
        return context


class Batch:
    """Several writes to one namespace that form one change with one audit entry and are undone together.

    The namespace is locked from the start. Writes to an external provider can't be undone.
    """

    def __init__(self, access: NamespaceAccess, reason: str) -> None:
        self.change_id = uuid7()
        self.namespace = access.claim()
        rows.expire(self.namespace, access.now)
        access.target = replace(access.target, row=self.namespace)
        self.store = access.open_store(reason, self.change_id)


def _resolve_ownership(caller: MemoryCaller, target: NamespaceTarget) -> rows.Ownership:
    """Return the owner and participants of a new namespace, or the participants that a run adds to an existing one."""
    parsed = target.parsed
    if target.row is not None and parsed.text not in (caller.reach or ()):
        return rows.NO_OWNERSHIP
    if parsed.seen_by is SeenBy.PERSON:
        if target.row is not None:
            return rows.NO_OWNERSHIP  # the owner was set on creation and does not change
        owner = permissions.find_account_id(parsed)
        return rows.Ownership(owner_user_id=owner, persona_of_id=find_player(parsed.ids[0]))
    if parsed.seen_by is SeenBy.PARTICIPANTS:
        participants = caller.participants | permissions.find_participants(target)
        if participant_id := permissions.get_participant_id(caller.principal):
            participants |= {participant_id}
        return rows.Ownership(participants=tuple(sorted(participants)))
    if parsed.seen_by is SeenBy.RUN and (guest_id := permissions.get_guest_id(caller.principal)):
        return rows.Ownership(participants=(guest_id,))  # only its own runs have access here
    return rows.NO_OWNERSHIP
