"""For whom a call of a model is counted that belongs to no step: the run that somebody started, or else who asked."""

from uuid import UUID

from accounts.access import Principal
from accounts.personas import make_service_subject
from accounts.principals import get_key_id, get_service_account_id, get_visitor
from accounts.tenancy import reading
from workflows.execution.ports.runs_below import find_start
from workflows.execution.usage.single_calls import CallOwner
from workflows.models import Run
from workflows.models.run import Channel


def find_owner(
    team_id: UUID, principal: Principal, *, run_id: str, subject: str, channel: str = ""
) -> CallOwner:
    """Return for whom the call counts. Calls in a sub-workflow count for the run that somebody started, as its steps do."""
    if run_id and (owner := _find_owner_of_run(team_id, run_id)) is not None:
        return owner
    by_key = principal.kind == "key"
    return CallOwner(
        channel or (Channel.API if by_key else Channel.PAGE),
        principal.workflow_id,
        get_key_id(principal),
        subject or _get_own_subject(principal),
    )


def _find_owner_of_run(team_id: UUID, run_id: str) -> CallOwner | None:
    """Return the owner of the calls of a run, or None if it was deleted meanwhile."""
    with reading([team_id]):
        if (start := find_start(run_id)) is None:
            return None
        runs = Run.objects.unscoped().filter(pk=start)
        values = runs.values_list("channel", "workflow_id", "api_key_id", "subject").first()
    return CallOwner(*values) if values else None


def _get_own_subject(principal: Principal) -> str:
    """Return the subject of what the principal starts for nobody else."""
    if principal.user_id is not None:
        return str(principal.user_id)
    account_id = get_service_account_id(principal)
    return get_visitor(principal) or (make_service_subject(account_id) if account_id else "")
