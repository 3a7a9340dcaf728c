"""A step of a run asks memory for something in the namespace of its scope."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from memory.core.provider import NamespaceStore
from memory.core.records import Json, Source
from memory.core.scopes import replace_group, resolve_namespace


T = TypeVar("T")

Redact = Callable[[Any], Any]  # takes and returns JSON


def keep_unchanged(value: Any) -> Any:  # JSON
    return value


class RunnableStore(NamespaceStore, Protocol):
    """A store that can run its calls from an event loop; see ``memory.providers.base``."""

    async def run(self, work: Callable[[], T]) -> T: ...


class StepOrigin(Protocol):
    """The run and the node that call, with a key that is the same when the step is retried."""

    @property
    def run_id(self) -> str: ...
    @property
    def node_id(self) -> str: ...
    @property
    def idempotency_key(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run, with the scope and the ids that name its namespace."""

    scope: str
    identity: Mapping[str, Json]
    origin: StepOrigin
    group_id: str | None = None

    @property
    def namespace(self) -> str:
        return resolve_namespace(self.scope, replace_group(self.identity, self.group_id))

    @property
    def source(self) -> Source:
        person = str(self.identity.get("user_id") or "")
        actor = f"user:{person}" if person else ""
        return Source(actor, run_id=self.origin.run_id, node_id=self.origin.node_id)


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """The entry that a node stores."""

    key: str
    value: Json
    metadata: Mapping[str, Json]
    tier: str
    ttl_seconds: float | None
