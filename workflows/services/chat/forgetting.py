"""Forget the newest memory that a workflow stored about a person, as requested in the chat, and undo that."""

import json
from dataclasses import dataclass
from uuid import UUID

from accounts.access import Principal
from workflows import memory_app, permissions
from workflows.models import Run, Workflow
from workflows.services.runs.runs import resolve_subject


MAX_ENTRIES = 50  # newest memories of the person


@dataclass(frozen=True, slots=True)
class ForgottenMemory:
    """A forgotten memory; ``change_id`` identifies the change to undo."""

    change_id: UUID
    text: str


def forget_last(
    principal: Principal, *, workflow: Workflow, person: str | None = None
) -> ForgottenMemory | None:
    """Forget the newest memory of this person that a run of this workflow wrote; return None if there is none."""
    permissions.check_run(principal, workflow)
    subject = resolve_subject(principal, person or None)
    caller = memory_app.MemoryCaller(principal, workflow.team_id, identity={"user_id": subject.id})
    for entry in memory_app.list_entries(caller, scope="user", limit=MAX_ENTRIES).entries:
        if not _is_written_by(principal, workflow, entry.source.run_id):
            continue
        change = memory_app.forget(
            caller, entry_id=entry.id, reason=f"from the chat of {workflow.name}"[:200]
        )
        if change.change_id is not None:
            return ForgottenMemory(change.change_id, _shorten(entry.value))
    return None


def undo_forget(principal: Principal, *, workflow: Workflow, change_id: str) -> int:
    """Restore the forgotten memories and return their number.

    The memory app checks the permission; its errors are raised.
    """
    permissions.check_run(principal, workflow)
    caller = memory_app.MemoryCaller(principal, workflow.team_id)
    return memory_app.undo(caller, change_id=change_id).count


def _is_written_by(principal: Principal, workflow: Workflow, run_id: str) -> bool:
    try:
        run_pk = UUID(run_id)
    except ValueError:
        return False
    runs = Run.objects.visible_to(principal)
    return runs.filter(pk=run_pk, workflow=workflow).exists()


def _shorten(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
