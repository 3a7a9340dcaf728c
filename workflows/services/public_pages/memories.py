"""What a workflow's team remembers about a visitor of its page, for that visitor: list it, and forget one or all."""

from uuid import UUID

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app
from workflows.models import Workflow
from workflows.services.runs.runs import resolve_subject


MAX_SHOWN = 100


def list_memories(principal: Principal, workflow: Workflow) -> "tuple[memory_app.MemoryEntry, ...]":
    """Return the newest memories about the visitor."""
    page = memory_app.list_entries(
        _build_caller(principal, workflow), scope="user", limit=MAX_SHOWN
    )
    return tuple(page.entries)


def forget_memory(principal: Principal, workflow: Workflow, entry_id: UUID) -> None:
    """Forget one memory about the visitor. Raise NotFound for any other."""
    caller = _build_caller(principal, workflow)
    ids = {entry.id for entry in list_memories(principal, workflow)}
    if str(entry_id) not in {str(each) for each in ids}:
        raise NotFound
    memory_app.forget(caller, entry_id=entry_id, reason="forgotten by the visitor of the page")


def forget_all(principal: Principal, workflow: Workflow) -> int:
    """Forget everything about the visitor, and return how many memories there were."""
    caller = _build_caller(principal, workflow)
    return memory_app.clear(
        caller, scope="user", reason="everything forgotten by the visitor"
    ).count


def _build_caller(principal: Principal, workflow: Workflow) -> "memory_app.MemoryCaller":
    identity = {"user_id": resolve_subject(principal, None).id}
    return memory_app.MemoryCaller(principal, workflow.team_id, identity=identity)
