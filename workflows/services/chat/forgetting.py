"""Forgetting, from the chat, what a workflow learnt last about somebody; and taking that back."""

import json
from dataclasses import dataclass
from uuid import UUID

from accounts.access import Principal
from workflows import memory_app, permissions
from workflows.models import Run, Workflow
from workflows.services.runs.runs import subject_of


LOOKED_AT = 50  # newest memories of the person


@dataclass(frozen=True, slots=True)
class Forgotten:
    """``change_id`` is what undo takes."""

    change_id: UUID
    text: str


def forget_last(
    principal: Principal, *, workflow: Workflow, person: str | None = None
) -> Forgotten | None:
    """The newest memory of this person that runs of this workflow wrote; None when there is none."""
    permissions.check_run(principal, workflow)
    subject = subject_of(principal, person or None)
    caller = memory_app.MemoryCaller(principal, workflow.team_id, identity={"user_id": subject.id})
    for entry in memory_app.entries(caller, scope="user", limit=LOOKED_AT).entries:
        if not _is_learnt_here(principal, workflow, entry.source.run_id):
            continue
        done = memory_app.forget(
            caller, entry_id=entry.id, reason=f"from the chat of {workflow.name}"[:200]
        )
        if done.change_id is not None:
            return Forgotten(done.change_id, _short(entry.value))
    return None


def remember_again(principal: Principal, *, workflow: Workflow, change_id: str) -> int:
    """How many came back. Memory's door decides whether one may; raises its errors."""
    permissions.check_run(principal, workflow)
    caller = memory_app.MemoryCaller(principal, workflow.team_id)
    return memory_app.undo(caller, change_id=change_id).count


def _is_learnt_here(principal: Principal, workflow: Workflow, run_id: str) -> bool:
    try:
        wanted = UUID(run_id)
    except ValueError:
        return False
    runs = Run.objects.visible_to(principal)
    return runs.filter(pk=wanted, workflow=workflow).exists()


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
