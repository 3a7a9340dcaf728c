"""What a workflow knows: the newest entries of the scopes that its nodes use, as far as the caller may see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from accounts.access import Principal
from workflows import memory_app, permissions
from workflows.engine.language.document import Document, Json
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.services.runs.memory_streams import MemoryStream, build_stream_variables
from workflows.services.runs.runs import resolve_subject


MAX_ENTRIES: Final = 20
SCOPES: Final = ("user", "conversation", "workflow", "global")


@dataclass(frozen=True, slots=True)
class KnownScope:
    """The newest entries of a scope and their number. Without a ``namespace`` the caller must name its group or conversation."""

    scope: str
    namespace: str = ""
    entries: Sequence["memory_app.MemoryEntry"] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """The person, the conversation and the group whose memories are meant; without a person those of the caller."""

    person: str = ""
    conversation: str = ""
    group: str = ""


def list_known(
    principal: Principal, *, workflow: Workflow, document: Document, owner: MemoryOwner
) -> list[KnownScope]:
    """Return the scopes in a fixed order, without those that the caller may not see."""
    permissions.check_view(principal, workflow)
    used = list_memory_scopes(document, load_kinds())
    identity = _build_identity(principal, workflow, document, owner)
    caller = memory_app.MemoryCaller(principal, workflow.team_id, identity=identity)
    scopes = (_load_scope(caller, scope) for scope in SCOPES if scope in used)
    return [scope for scope in scopes if scope is not None]


def forget_known(principal: Principal, *, workflow: Workflow, entry_id: str) -> UUID | None:
    """Forget an entry. The memory app checks the permission. Return the id of the change to undo, or None."""
    permissions.check_view(principal, workflow)
    caller = memory_app.MemoryCaller(principal, workflow.team_id)
    reason = f"from the editor of {workflow.name}"[:200]
    return memory_app.forget(caller, entry_id=entry_id, reason=reason).change_id


def _load_scope(caller: "memory_app.MemoryCaller", scope: str) -> KnownScope | None:
    try:
        namespace = memory_app.resolve_namespace(scope, caller.identity)
        page = memory_app.list_entries(caller, namespace=namespace, limit=MAX_ENTRIES)
    except memory_app.errors.InvalidInput:
        return KnownScope(scope)
    except (memory_app.errors.AccessDenied, memory_app.errors.NotFound):
        return None
    return KnownScope(scope, namespace, page.entries, page.total)


def _build_identity(
    principal: Principal, workflow: Workflow, document: Document, owner: MemoryOwner
) -> dict[str, Json]:
    stream = MemoryStream(owner.group) if owner.group else None
    identity: dict[str, Json] = {
        "user_id": resolve_subject(principal, owner.person or None).id,
        "app_id": str(workflow.pk),
        "workflow_id": str(workflow.pk),
        **build_stream_variables(principal, workflow, document, stream),
    }
    return identity | ({"conversation_id": owner.conversation} if owner.conversation else {})
