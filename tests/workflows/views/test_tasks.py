"""Pages of tasks: written down, executed, read with what came of them, what they were told and what they taught."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from accounts.tenancy import tenant
from memory.public import FinishedWork
from tests.factories.workflows import make_workflow
from tests.memory.services.curating import answer, curated, learns, scripted
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Run, RunEvent, Task, Workflow
from workflows.services.tasks import create_task, execute_task


pytestmark = pytest.mark.django_db

TASKS = reverse("workflows:tasks")
LEARNT = "Quick sort needs a random pivot"


def written(person: Person, title: str = "Quick sort", **more: Any) -> Task:
    return create_task(person.principal, team_id=person.team.pk, title=title, **more)


def url_of(task: Task) -> str:
    return reverse("workflows:task", args=[task.pk])


def page_of(person: Person, task: Task, **options: Any) -> str:
    return text_of(person.client.get(url_of(task), **options))


def only_task(person: Person) -> Task:
    with tenant([person.team.pk]):
        return Task.objects.unscoped().select_related("run").get()


def ended(person: Person, task: Task, **fields: Any) -> Run:
    """Its run as it was once a worker had done it."""
    done = execute_task(person.principal, task=task)
    assert done.run is not None
    ends = {"status": "succeeded", "finished_at": timezone.now(), **fields}
    with tenant([person.team.pk]):
        Run.objects.unscoped().filter(pk=done.run.pk).update(**ends)
    return done.run


def test_task_is_written_down_alone_and_its_page_says_what_to_do(alice: Person) -> None:
    sent = alice.client.post(TASKS, {"title": "Quick sort", "description": "In Rust"})

    task = only_task(alice)
    assert (sent.status_code, sent["Location"]) == (302, url_of(task))
    assert (task.title, task.description, task.run) == ("Quick sort", "In Rust", None)
    html = page_of(alice, task)
    assert "Not run yet" in html
    assert "In Rust" in html
    assert reverse("workflows:execute_task", args=[task.pk]) in html
    assert "load delay" not in html


def test_task_is_executed_where_it_is_written_down_and_its_page_waits_for_it(alice: Person) -> None:
    alice.client.post(TASKS, {"title": "Quick sort", "then": "execute"})

    task = only_task(alice)
    assert task.run is not None
    html = page_of(alice, task)
    assert "Running…" in html
    assert f'hx-get="{url_of(task)}" hx-trigger="load delay:1500ms"' in html
    assert reverse("workflows:execute_task", args=[task.pk]) not in html


def test_task_of_a_chosen_workflow_is_done_by_that_one(cast: Cast) -> None:
    alice, theirs = cast.alice, make_workflow(cast.carol)
    workflow = make_workflow(alice)

    alice.client.post(TASKS, {"title": "x", "workflow": str(workflow.pk), "then": "execute"})
    refused = alice.client.post(TASKS, {"title": "y", "workflow": str(theirs.pk)})

    task = only_task(alice)
    assert task.run is not None
    assert task.run.workflow_id == workflow.pk
    assert refused.status_code == 422
    assert str(theirs.pk) not in text_of(refused).split("<select")[1]


@pytest.mark.parametrize("title", ["", "   ", "x" * 300])
def test_form_that_does_not_fit_is_shown_again_with_what_was_typed(
    alice: Person, title: str
) -> None:
    sent = alice.client.post(TASKS, {"title": title, "description": "In Rust"})

    assert sent.status_code == 422
    assert "In Rust" in text_of(sent)
    with tenant([alice.team.pk]):
        assert not Task.objects.unscoped().exists()


def test_done_task_shows_its_result_what_it_was_told_and_what_it_taught(alice: Person) -> None:
    learns(alice)
    task = written(alice)
    run = ended(alice, task, outputs={"result": "Sorted in Rust"})
    told = {"id": "", "key": "learning:1", "value": "Use a stable sort", "score": 0.8}
    event = {"node": "llm", "scope": "user", "namespace": "user:a", "query": "sort",
             "entries": [told], "injected": True}  # fmt: skip
    with tenant([alice.team.pk]):
        RunEvent.objects.unscoped().create(
            team_id=alice.team.pk, run=run, seq=900, name="memory_recalled", data=event
        )
    ask, _ = scripted(answer(summary="Sorted", key_learnings=[LEARNT]))
    curated(alice, FinishedWork("Quick sort"), run_id=str(run.pk), ask=ask)

    html = page_of(alice, task)

    assert "Sorted in Rust" in html
    assert "Lessons from earlier tasks" in html
    assert html.index("Lessons from earlier tasks") < html.index("Use a stable sort")
    assert LEARNT in html
    assert "Run again" in html
    assert reverse("workflows:run", args=[run.pk]) in html
    fragment = page_of(alice, task, headers=HTMX)
    assert "<html" not in fragment
    assert 'hx-swap-oob="true"' in fragment


def test_failed_task_says_why(alice: Person) -> None:
    task = written(alice)
    ended(alice, task, status="failed", error="The model is away")

    assert "The model is away" in page_of(alice, task)


def test_who_may_make_no_workflow_is_told_what_a_first_task_needs(cast: Cast) -> None:
    vic = cast.vic
    sent = vic.client.post(TASKS, {"title": "Quick sort", "then": "execute"})

    assert sent.status_code == 403
    assert "This task can&#x27;t run yet." in text_of(sent).replace("’", "&#x27;").replace(
        "'", "&#x27;"
    )
    assert only_task(vic).run is None


def test_archived_workflow_does_no_task_and_the_page_says_so(alice: Person) -> None:
    workflow = make_workflow(alice)
    task = written(alice, workflow=workflow)
    with tenant([alice.team.pk]):
        Workflow.objects.unscoped().filter(pk=workflow.pk).update(archived_at=timezone.now())

    sent = alice.client.post(reverse("workflows:execute_task", args=[task.pk]))

    assert sent.status_code == 422
    assert "This workflow is archived." in text_of(sent)


def test_task_is_seen_and_executed_by_whose_it_is_alone(cast: Cast) -> None:
    task = written(cast.alice)

    for other in (cast.people["bob"], cast.carol):
        assert other.client.get(url_of(task)).status_code == 404
        execute = reverse("workflows:execute_task", args=[task.pk])
        assert other.client.post(execute).status_code == 404
        assert "Quick sort" not in text_of(other.client.get(TASKS))


@pytest.mark.parametrize("named", ["customer-1", None])
def test_task_that_a_key_wrote_for_somebody_else_has_no_button_and_says_why(
    cast: Cast, api_key: Any, named: str | None
) -> None:
    alice, key = cast.alice, api_key(cast.alice)
    key.post("/api/v1/tasks", {"title": "Call", "user": named}, content_type="application/json")
    task = only_task(alice)
    execute = reverse("workflows:execute_task", args=[task.pk])
    button = f'action="{execute}"'

    html = page_of(alice, task)
    pressed = alice.client.post(execute)

    assert (button in html, "Only an API key can run it." in html) == (False, True)
    assert (pressed.status_code, button in text_of(pressed)) == (403, False)
    assert "Only an API key can run it." in text_of(pressed)
    assert only_task(alice).run is None


def test_list_asks_the_database_as_often_for_three_as_for_one(
    alice: Person, django_assert_num_queries: Any
) -> None:
    ended(alice, written(alice))
    with CaptureQueriesContext(connection) as asked:
        alice.client.get(TASKS)
    ended(alice, written(alice))
    written(alice, "Third")

    with django_assert_num_queries(len(asked)):
        html = text_of(alice.client.get(TASKS))

    assert html.index("Third") < html.index("Quick sort")


def test_tasks_are_found_from_every_page(alice: Person) -> None:
    assert f'href="{TASKS}"' in text_of(alice.client.get(reverse("workflows:runs")))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_pages_are_whole_in_both_languages(alice: Person, language: str) -> None:
    task = written(alice)
    ended(alice, task, outputs={"result": "done"})
    alice.user.locale = language
    alice.user.save()

    with translation.override(language):
        for url in (TASKS, url_of(task)):
            assert alice.client.get(url).status_code == 200
