"""Tasks over HTTP: written down, executed, read, and whose they are."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.tenancy import tenant
from memory.public import get_learning_rule
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast, Person
from workflows.models import Run, Task, Workflow


pytestmark = pytest.mark.django_db

TASKS = "/api/v1/tasks"
CHAT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Chat", "mode": "advanced-chat"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "variables": []}},
                {"id": "say", "data": {"type": "answer", "answer": "{{#sys.query#}}"}},
            ],
            "edges": [{"id": "a", "source": "start", "target": "say"}],
        }
    },
}


def post(person: Person, path: str, body: Any = None) -> Any:
    return person.client.post(path, body or {}, content_type="application/json")


def test_task_is_created_read_and_executed_by_the_teams_own_workflow(cast: Cast) -> None:
    """seed 1: create {title, description}, execute, read."""
    bob = cast.people["bob"]
    made = post(bob, TASKS, {"title": "Quick sort", "description": "In Rust"})
    assert (made.status_code, made.json()["status"]) == (201, "created")
    one = f"{TASKS}/{made.json()['id']}"

    done = post(bob, f"{one}/execute")
    read = bob.client.get(one).json()

    assert (done.status_code, read["status"], read["run"]) == (202, "queued", done.json()["run"])
    with tenant([bob.team.pk]):
        run = Run.objects.unscoped().get(pk=read["run"])
        workflow = Workflow.objects.unscoped().get(pk=read["workflow"])
    assert run.inputs == {"title": "Quick sort", "description": "In Rust"}
    assert workflow.published_version_id is not None
    assert get_learning_rule(bob.team.pk, str(workflow.pk)).auto_memory is True


def test_second_task_uses_the_same_workflow_and_a_running_one_is_not_doubled(cast: Cast) -> None:
    bob, vic = cast.people["bob"], cast.vic
    first = post(bob, f"{TASKS}/{post(bob, TASKS, {'title': 'a'}).json()['id']}/execute").json()
    path = f"{TASKS}/{post(vic, TASKS, {'title': 'b'}).json()['id']}/execute"

    second = post(vic, path).json()
    again = post(vic, path).json()

    assert second["workflow"] == first["workflow"]
    assert again["run"] == second["run"]


def test_viewer_whose_team_has_no_workflow_for_tasks_is_told(cast: Cast) -> None:
    vic = cast.vic
    path = f"{TASKS}/{post(vic, TASKS, {'title': 'b'}).json()['id']}/execute"

    assert post(vic, path).status_code == 403
    with tenant([vic.team.pk]):
        assert Task.objects.unscoped().get().run is None


def test_task_of_its_own_workflow_is_done_by_that(cast: Cast) -> None:
    bob = cast.people["bob"]
    workflow = make_workflow(bob)
    theirs = make_workflow(cast.carol)
    body = {"title": "x", "workflow": str(workflow.pk)}

    assert post(bob, TASKS, body).json()["workflow"] == str(workflow.pk)
    assert post(bob, TASKS, {"title": "x", "workflow": str(theirs.pk)}).status_code == 404
    assert post(bob, TASKS, {"title": ""}).status_code == 422


def test_task_is_seen_by_whose_it_is_alone(cast: Cast) -> None:
    bob, ada = cast.people["bob"], cast.ada
    made = post(bob, TASKS, {"title": "Mine"}).json()

    assert bob.client.get(TASKS).json()["count"] == 1
    assert ada.client.get(TASKS).json()["count"] == 0
    assert ada.client.get(f"{TASKS}/{made['id']}").status_code == 404


def test_task_of_a_workflow_that_was_never_published_does_not_run_its_draft(cast: Cast) -> None:
    bob = cast.people["bob"]
    body = {"title": "Sort", "workflow": str(make_workflow(bob).pk)}
    task = post(bob, TASKS, body).json()

    answer = post(bob, f"{TASKS}/{task['id']}/execute")

    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "NotPublished")


def test_chat_is_told_the_task_and_other_workflows_what_they_ask_for(cast: Cast) -> None:
    bob = cast.people["bob"]
    chat, form = make_workflow(bob, source=CHAT), make_workflow(bob)
    runs = []
    for workflow in (chat, form):
        make_version(bob, workflow)
        body = {"title": "Sort", "description": "In Rust", "workflow": str(workflow.pk)}
        made = post(bob, TASKS, body).json()
        runs.append(post(bob, f"{TASKS}/{made['id']}/execute").json()["run"])

    with tenant([bob.team.pk]):
        told, filled = (Run.objects.unscoped().get(pk=run) for run in runs)
    assert told.system["query"] == "Sort\n\nIn Rust"
    assert "query" not in filled.system
    assert filled.inputs == {"text": "Sort\n\nIn Rust"}


def test_archived_workflow_does_no_task_and_nothing_is_left(cast: Cast) -> None:
    bob = cast.people["bob"]
    workflow = make_workflow(bob)
    made = post(bob, TASKS, {"title": "x", "workflow": str(workflow.pk)}).json()
    with tenant([bob.team.pk]):
        Workflow.objects.unscoped().filter(pk=workflow.pk).update(archived_at=timezone.now())

    assert post(bob, f"{TASKS}/{made['id']}/execute").status_code == 409
    assert bob.client.get(f"{TASKS}/{made['id']}").json()["status"] == "created"


def test_key_does_its_own_tasks_for_the_person_it_names(cast: Cast, api_key: Any) -> None:
    alice = cast.alice
    key = api_key(alice)
    made = key.post(TASKS, {"title": "Call Ana", "user": "ana"}, content_type="application/json")
    one = f"{TASKS}/{made.json()['id']}"

    # Whose key it is may look, but is nobody who names Ana for it.
    assert alice.client.get(one).json()["user"] == "ana"
    assert post(alice, f"{one}/execute").status_code == 404
    done = key.post(f"{one}/execute", {}, content_type="application/json")

    assert done.status_code == 202
    with tenant([alice.team.pk]):
        assert Run.objects.unscoped().get(pk=done.json()["run"]).subject == "ana"


def test_list_asks_the_database_as_often_for_three_as_for_one(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    bob = cast.people["bob"]

    def execute() -> None:
        made = post(bob, TASKS, {"title": "a"}).json()
        post(bob, f"{TASKS}/{made['id']}/execute")

    execute()
    with CaptureQueriesContext(connection) as asked:
        bob.client.get(TASKS)
    for_one = len(asked)
    execute()
    execute()

    with django_assert_num_queries(for_one):
        found = bob.client.get(TASKS).json()

    assert [one["status"] for one in found["items"]] == ["queued"] * 3
