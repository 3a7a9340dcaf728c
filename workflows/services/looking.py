"""Opening a run that was for somebody outside shows what was recalled of theirs; the trail says who opened it.

The maker of the key that named them may: the run is their programme's. It is no secret look, though.
"""

from collections.abc import Iterable

from accounts import audit
from accounts.personas import key_of, played_by
from accounts.principals import Principal
from accounts.tenancy import tenant
from config.again import tried_again
from workflows import memory_app
from workflows.models import Run


def private_space(principal: Principal, run: Run) -> str:
    """The namespace of an outside person whose run a member looks at; of any other run none."""
    if principal.kind != "user" or run.subject_user_id is not None:
        return ""
    if played_by(run.subject) or key_of(run.subject):
        return ""
    return memory_app.resolve_namespace("user", {"user_id": run.subject})


@tried_again
def note_look(principal: Principal, run: Run, shown: Iterable[str]) -> str:
    """``shown``: the namespaces of what the page shows. Whose private memory is among it, if anybody's."""
    space = private_space(principal, run)
    if not space or space not in set(shown):
        return ""
    with tenant([run.team_id]):
        audit.record(
            team_id=run.team_id,
            actor=principal.actor,
            actor_kind=principal.kind,
            action="memory.looked_into",
            subject=space,
            detail={"run": str(run.pk)},
        )
    return run.subject
