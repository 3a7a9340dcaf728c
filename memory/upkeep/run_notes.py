"""Clears the notes of ended runs, since only the run itself needs them.

The worker clears them when a run ends. A sweep clears them if the worker died, or if the run was cancelled while no
worker had it.
"""

from uuid import UUID

from django.utils import timezone

from accounts import audit
from accounts.models import Team
from accounts.tenancy import tenant
from memory.core.scopes import Scope, build_notes_namespace, parse_namespace
from memory.host import get_host
from memory.models import Namespace
from memory.models.entries import Operation
from memory.providers.postgres import rows


REASON = "the run ended"


def clear_run_notes(team_id: UUID, run_id: UUID | str) -> int:
    """Clear the run's notes and return their number. A run without notes leaves no audit entry."""
    text = build_notes_namespace(str(run_id))
    with tenant([team_id]):
        namespace = rows.lock_namespace(team_id, text)
        notes = list(rows.find_living(namespace).order_by("id")) if namespace else []
        if not namespace or not notes:
            return 0
        actor, moment = f"run:{run_id}", timezone.now()
        context = rows.WriteContext(Operation.FORGET, moment, actor, REASON, run_id=str(run_id))
        rows.forget(namespace, notes, context)
        audit.record(
            team_id=team_id,
            actor=actor,
            actor_kind="run",
            action="memory.cleared",
            subject=text,
            detail={"keys": len(notes), "why": REASON},
        )
    return len(notes)


def sweep_notes() -> int:
    """Clear the notes of ended runs of every team and return their number. Safe to run twice, or at the same time."""
    cleared = 0
    for team_id in Team.objects.values_list("id", flat=True):
        run_ids = _list_runs_with_notes(team_id)
        with tenant([team_id]):
            ended_ids = get_host().list_ended_runs(team_id, run_ids) if run_ids else []
        cleared += sum(clear_run_notes(team_id, run_id) for run_id in ended_ids)
    return cleared


def _list_runs_with_notes(team_id: UUID) -> list[str]:
    """Return the runs with notes, except those of other installations, which are participants and clear their notes."""
    with tenant([team_id]):
        namespaces = Namespace.objects.unscoped().filter(
            team_id=team_id, scope=Scope.RUN, entry_count__gt=0, participants=[]
        )
        texts = namespaces.order_by("id").values_list("text", flat=True)
        return [parse_namespace(text).ids[0] for text in texts]
