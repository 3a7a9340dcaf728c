"""Opening a run that was for somebody outside shows what was recalled of theirs; the trail says who opened it.

The maker of the key that named them may: the run is their programme's. It is no secret look, though.
A page says so each time it is opened; the API and the stream, which programmes ask again and again, the
first time somebody reads a run there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accounts import audit
from accounts.personas import find_key_id, find_player
from accounts.principals import Principal
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from workflows import memory_app
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import MemoryRecalled, MemoryWritten
from workflows.models import Run


# The events in which memory is shown, and under which name.
SHOWING: Mapping[str, str] = {MemoryRecalled.name: "entries", MemoryWritten.name: "entry"}
_ACTION = "memory.looked_into"


def private_space(principal: Principal, run: Run) -> str:
    """The namespace of an outside person whose run a member looks at; of any other run none."""
    if principal.kind != "user" or run.subject_user_id is not None or not memory_app.is_on():
        return ""
    if find_player(run.subject) or find_key_id(run.subject):
        return ""
    return memory_app.resolve_namespace("user", {"user_id": run.subject})


def note_look(principal: Principal, run: Run, shown: Iterable[str]) -> str:
    """``shown``: the namespaces of what the page shows. Whose private memory is among it, if anybody's."""
    space = private_space(principal, run)
    if not space or space not in set(shown):
        return ""
    _note(principal, run, space)
    return run.subject


def note_reading(principal: Principal, run: Run, shown: Iterable[str]) -> None:
    """Once for each run and reader."""
    space = private_space(principal, run)
    if space and space in set(shown):
        _note(principal, run, space, again=False)


@dataclass(slots=True)
class Watch:
    """Over a stream of a run that is an outside person's: what goes by may be their own memory."""

    principal: Principal
    run: Run
    space: str
    done: bool = False

    def is_due(self, name: str, data: Json) -> bool:
        """Whether this event is the first that shows some."""
        return not self.done and self.space in shown_in([(name, data)])

    def note(self) -> None:
        _note(self.principal, self.run, self.space, again=False)
        self.done = True


def watch_over(principal: Principal, run: Run) -> Watch | None:
    """None, for almost every stream: nothing private to an outside person can come by."""
    space = private_space(principal, run)
    return Watch(principal, run, space) if space else None


def shown_in(events: Iterable[tuple[str, Json]]) -> set[str]:
    """The namespaces of which these events, by name, show memories."""
    return {
        data.get("namespace", "") for name, data in events if data and data.get(SHOWING.get(name))
    }


@retry_on_conflict
def _note(principal: Principal, run: Run, space: str, *, again: bool = True) -> None:
    run_id, actor = str(run.pk), principal.actor
    with tenant([run.team_id]):
        if not again and audit.is_recorded_for_run(
            run.team_id, actor=actor, action=_ACTION, run=run_id
        ):
            return
        audit.record(
            team_id=run.team_id,
            actor=actor,
            actor_kind=principal.kind,
            action=_ACTION,
            subject=space,
            detail={"run": run_id},
        )
