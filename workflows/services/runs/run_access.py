"""Record in the audit log that a member opened a run of an external user, which shows that user's memories.

The owner of the API key that started the run may do so, but not secretly. A page records each opening; the API and
the stream, which programs request repeatedly, record the first one for each run and reader.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accounts import audit
from accounts.personas import find_player, find_service_account_id
from accounts.principals import Principal
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from workflows import memory_app
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import MemoryRecalled, MemoryWritten
from workflows.models import Run


# event → the field of its data that contains memories
MEMORY_EVENTS: Mapping[str, str] = {MemoryRecalled.name: "entries", MemoryWritten.name: "entry"}
_ACTION = "memory.looked_into"


def find_private_namespace(principal: Principal, run: Run) -> str:
    """Return the namespace of the external user whose run a member opens, or "" for any other run."""
    if principal.kind != "user" or run.subject_user_id is not None or not memory_app.is_on():
        return ""
    if find_player(run.subject) or find_service_account_id(run.subject):
        return ""
    return memory_app.resolve_namespace("user", {"user_id": run.subject})


def record_page_access(principal: Principal, run: Run, namespaces: Iterable[str]) -> str:
    """Record that a page shows the private memories of the run's external user. Return that user, or "" if it doesn't."""
    private_namespace = find_private_namespace(principal, run)
    if not private_namespace or private_namespace not in set(namespaces):
        return ""
    _record(principal, run, private_namespace)
    return run.subject


def record_api_access(principal: Principal, run: Run, namespaces: Iterable[str]) -> None:
    """Record that a response shows the private memories of the run's external user, once for each run and reader."""
    private_namespace = find_private_namespace(principal, run)
    if private_namespace and private_namespace in set(namespaces):
        _record(principal, run, private_namespace, repeat=False)


@dataclass(slots=True)
class StreamAccess:
    """Access to the event stream of an external user's run, which may show their memories."""

    principal: Principal
    run: Run
    namespace: str
    is_recorded: bool = False

    def is_due(self, name: str, data: Json) -> bool:
        """Return whether this event is the first that shows the user's memories."""
        return not self.is_recorded and self.namespace in list_shown_namespaces([(name, data)])

    def record(self) -> None:
        _record(self.principal, self.run, self.namespace, repeat=False)
        self.is_recorded = True


def watch_stream(principal: Principal, run: Run) -> StreamAccess | None:
    """Return the access to record for a stream, or None if the stream cannot show an external user's memories."""
    private_namespace = find_private_namespace(principal, run)
    return StreamAccess(principal, run, private_namespace) if private_namespace else None


def list_shown_namespaces(events: Iterable[tuple[str, Json]]) -> set[str]:
    """Return the namespaces whose memories these events show. Each event is a pair of its name and its data."""
    return {
        data.get("namespace", "")
        for name, data in events
        if data and data.get(MEMORY_EVENTS.get(name))
    }


@retry_on_conflict
def _record(principal: Principal, run: Run, private_namespace: str, *, repeat: bool = True) -> None:
    """Record the access; without ``repeat`` only the first one of this reader to this run."""
    run_id, actor = str(run.pk), principal.actor
    with tenant([run.team_id]):
        if not repeat and audit.is_recorded_for_run(
            run.team_id, actor=actor, action=_ACTION, run=run_id
        ):
            return
        audit.record(
            team_id=run.team_id,
            actor=actor,
            actor_kind=principal.kind,
            action=_ACTION,
            subject=private_namespace,
            detail={"run": run_id},
        )
