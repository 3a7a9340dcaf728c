"""The caller of a memory operation, and the namespaces that it may access."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from accounts.principals import Principal
from accounts.tenancy import TenantModel, TenantQuerySet
from memory.core.errors import InvalidInput
from memory.core.records import Json, Source
from memory.core.scopes import list_scope_kinds, resolve_namespace
from memory.embedding.callers import build_embedding_caller
from memory.host import EmbeddingCaller


M = TypeVar("M", bound=TenantModel)


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The step of a run that calls, empty outside of runs. A repeated step has the same ``idempotency_key``."""

    run_id: str = ""
    node_id: str = ""
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True)
class MemoryCaller:
    """The caller of a memory operation. ``identity`` has the system variables as the server knows them.

    ``reach`` lists the namespaces that a run may access: those of its own conversation, person, application and
    workflow, and its notes. ``knowledge_bases`` are those of the team that the run's document names; the run may read them
    as far as whoever started it may. ``reach`` of ``None`` means that a person or a key calls without a run, and permissions alone decide.
    ``participants`` are the accounts and keys that take part in the conversation besides the principal.
    ``is_for_external_user`` means that the run is for a user without an account. ``is_bookkeeping`` means that the
    product itself calls, for what it notes about a run: limits of the team neither refuse it nor count it.
    """

    principal: Principal
    team_id: UUID
    identity: Mapping[str, Json] = field(default_factory=dict)
    origin: CallOrigin = CallOrigin()
    reach: frozenset[str] | None = None
    knowledge_bases: frozenset[str] = frozenset()
    participants: frozenset[UUID] = frozenset()
    is_for_external_user: bool = False
    is_bookkeeping: bool = False

    @property
    def source(self) -> Source:
        """Return the source that the caller's writes get."""
        return Source(self.principal.actor, self.origin.run_id, self.origin.node_id)

    @property
    def embedding_caller(self) -> EmbeddingCaller:
        """Return for whom the embedding of a text that the caller sends is counted."""
        return build_embedding_caller(
            self.principal,
            run_id=str(self.identity.get("run_id") or ""),
            subject=str(self.identity.get("user_id") or ""),
        )


def select_visible(caller: MemoryCaller, model: type[M]) -> TenantQuerySet[M]:
    """Return the query for the rows of the caller's team that the caller may see. It needs an open ``tenant`` block."""
    return model.objects.visible_to(caller.principal).filter(team_id=caller.team_id)


def list_reachable(identity: Mapping[str, Json]) -> frozenset[str]:
    """Return the namespaces of all scopes that these system variables determine."""
    namespaces = set()
    for kind in list_scope_kinds():
        try:
            namespaces.add(resolve_namespace(kind.word, identity))
        except InvalidInput:
            continue
    return frozenset(namespaces)
