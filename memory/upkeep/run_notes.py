"""Clears the notes of runs that ended; what a run noted is of use to that run alone.

Who drives runs says so when one ends. What nobody said (the worker died, a run was cancelled while
nobody held it) a sweep finds; without either, notes go after thirty minutes.
"""

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from accounts import audit
from accounts.models import Team
from accounts.tenancy import tenant
from memory.core.scopes import Scope, notes_namespace, parse_namespace
from memory.host import get_host
from memory.models import Namespace
from memory.models.entries import Operation
from memory.providers.postgres import rows


WHY = "the run ended"


def clear_run_notes(team_id: UUID, run_id: UUID | str, *, now: datetime | None = None) -> int:
    """How many there were. Where a run noted nothing, nothing is written."""
    text = notes_namespace(str(run_id))
    with tenant([team_id]):
        namespace = rows.lock_namespace(team_id, text)
        noted = list(rows.living(namespace).order_by("id")) if namespace else []
        if not namespace or not noted:
            return 0
        actor = f"run:{run_id}"
        act = rows.Act(Operation.FORGET, now or timezone.now(), actor, WHY, run_id=str(run_id))
        rows.forget(namespace, noted, act)
        audit.record(
            team_id=team_id,
            actor=actor,
            actor_kind="run",
            action="memory.cleared",
            subject=text,
            detail={"keys": len(noted), "why": WHY},
        )
    return len(noted)


def sweep_notes() -> int:
    """Every team's; safe to run twice, or at the same time."""
    cleared = 0
    for team_id in Team.objects.values_list("id", flat=True):
        noted = _noted(team_id)
        with tenant([team_id]):
            ended = get_host().list_ended_runs(team_id, noted) if noted else []
        cleared += sum(clear_run_notes(team_id, run_id) for run_id in ended)
    return cleared


def _noted(team_id: UUID) -> list[str]:
    """Runs of this installation that have notes. What a guest keeps here is the guest's to clear."""
    with tenant([team_id]):
        texts = Namespace.objects.unscoped().filter(
            team_id=team_id, scope=Scope.RUN, entry_count__gt=0, participants=[]
        )
        return [
            parse_namespace(text).ids[0]
            for text in texts.order_by("id").values_list("text", flat=True)
        ]
