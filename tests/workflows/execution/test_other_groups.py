"""Memory retrieval from another group: a person's own runs and entries open it, a stranger's never."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied
from memory.services import MemoryCaller
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person, make_key
from workflows.execution.worker import Worker
from workflows.models import Run, Workflow
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)

Drive = Callable[..., Run]


@pytest.fixture
def drive(cast: Cast, settings: Any, valkey_url: str) -> Iterator[Drive]:
    """Starts a run in a group and drives it to its end."""
    settings.REDIS_URL = valkey_url
    worker = Worker(capacity=1)

    def driven(
        workflow: Workflow, text: str, *, group: str, asks: str = "", by: Any = None,
        user: str | None = None, merged: tuple[Workflow, ...] = (),
    ) -> Run:  # fmt: skip
        run = start_run(
            by or cast.alice.principal,
            workflow=workflow,
            subject=user,
            inputs={"text": text, "group": asks or group},
            stream=MemoryStream(group, merged),
        )
        worker.execute_run(run.pk)
        with tenant([run.team_id]):
            return Run.objects.unscoped().get(pk=run.pk)

    yield driven
    worker.stop(0)


def retrieving(person: Person, name: str = "retrieving") -> Workflow:
    """Retrieves what the named group knows, then keeps what it was told in the run's own group."""
    nodes = [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": [
            {"variable": "text", "type": "string"}, {"variable": "group", "type": "string"}]}},
        {"id": "history", "data": {"type": "memory-retrieval", "title": "History",
            "topic_selector": ["start", "text"], "group_id_selector": ["start", "group"]}},
        {"id": "store", "data": {"type": "memory-store", "title": "Keep", "scope": "workflow",
            "key": "said", "value_selector": ["start", "text"]}},
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
            {"variable": "history", "value_selector": ["history", "history_context"]}]}},
    ]  # fmt: skip
    edges = [
        {"id": str(n), "source": a["id"], "target": b["id"]}
        for n, (a, b) in enumerate(pairwise(nodes))
    ]
    return make_workflow(person, name, {"version": "0.1.0", "nodes": nodes, "edges": edges})


def history(run: Run) -> str:
    assert run.status == "succeeded", run.error
    return str(run.outputs["history"])


def refusals(run: Run) -> list[str]:
    with tenant([run.team_id]):
        rows = AuditEntry.objects.unscoped().filter(
            action="memory.refused", actor=f"run:{run.pk}", success=False
        )
        return [f"{row.detail['error']} {row.subject}" for row in rows]


def test_person_retrieves_from_another_group_of_theirs(cast: Cast, drive: Drive) -> None:
    """seed 2: ``group_id`` names the space."""
    workflow = retrieving(cast.alice)
    drive(workflow, "The tea is green", group="project-1")

    asked = drive(workflow, "Which tea?", group="project-2", asks="project-1")

    assert "The tea is green" in history(asked)
    assert refusals(asked) == []


def test_team_mate_without_a_run_in_the_group_gets_nothing_and_it_is_audited(
    cast: Cast, drive: Drive
) -> None:
    workflow = retrieving(cast.alice)
    drive(workflow, "The tea is green", group="project-1")

    asked = drive(
        workflow, "Which tea?", group="project-2", asks="project-1", by=cast.bob.principal
    )

    assert history(asked) == ""
    assert refusals(asked) == [f"AccessDenied ai:memory:{workflow.stream_name}:project-1"]


def test_each_person_of_a_key_is_another_caller(cast: Cast, drive: Drive) -> None:
    workflow = retrieving(cast.alice)
    key, _secret = make_key(cast, cast.alice)
    principal = KeyPrincipal(key)
    drive(workflow, "The tea is green", group="g-zoe", by=principal, user="zoe")

    own = drive(workflow, "Which tea?", group="g-2", asks="g-zoe", by=principal, user="zoe")
    other = drive(workflow, "Which tea?", group="g-3", asks="g-zoe", by=principal, user="tom")
    itself = drive(workflow, "Which tea?", group="g-4", asks="g-zoe", by=principal)

    assert "The tea is green" in history(own)
    assert [history(other), history(itself)] == ["", ""]
    assert len(refusals(other) + refusals(itself)) == 2


def test_group_of_another_workflow_or_of_merged_ones_is_another_memory(
    cast: Cast, drive: Drive
) -> None:
    chat, desktop = retrieving(cast.alice, "chat"), retrieving(cast.alice, "desktop")
    drive(chat, "The tea is green", group="project-1", merged=(desktop,))
    drive(desktop, "The tea is black", group="project-1")

    alone = drive(chat, "Which tea?", group="project-2", asks="project-1")
    both = drive(chat, "Which tea?", group="project-2", asks="project-1", merged=(desktop,))

    assert (history(alone), len(refusals(alone))) == ("", 1)
    assert "green" in history(both)
    assert "black" not in history(both)


def test_entry_that_the_person_wrote_themselves_opens_a_group(cast: Cast, drive: Drive) -> None:
    workflow = retrieving(cast.alice)
    namespace = f"ai:memory:{workflow.stream_name}:written"
    for person in (cast.alice, cast.bob):
        door = MemoryCaller(person.principal, cast.team_a.pk)
        services.remember(door, namespace=namespace, key=person.user.name, value="Tea is green")

    mine = drive(workflow, "Which tea?", group="g", asks="written")
    theirs = drive(workflow, "Which tea?", group="g", asks="written", by=cast.ada.principal)

    assert "Tea is green" in history(mine)
    assert history(theirs) == ""


def test_own_group_is_read_and_never_written_nor_forgotten_from_another(
    cast: Cast, drive: Drive
) -> None:
    workflow = retrieving(cast.alice)
    run = drive(workflow, "The tea is green", group="project-1")
    identity = {
        "user_id": str(cast.alice.user.pk),
        "workflow_id": str(workflow.pk),
        "stream_name": workflow.stream_name,
    }
    caller = MemoryCaller(
        cast.alice.principal, cast.team_a.pk, {**identity, "group_id": "project-1"},
        reach=frozenset(),
    )  # fmt: skip

    assert services.recall(caller, scope="workflow", key="said")
    for act in (
        lambda: services.remember(caller, scope="workflow", key="said", value="another"),
        lambda: services.forget(caller, scope="workflow", key="said"),
    ):
        with pytest.raises(AccessDenied):
            act()
    assert run.status == "succeeded"
