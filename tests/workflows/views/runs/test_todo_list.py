"""The to-dos of an agent on the page of its run: state, completion, steps, retries and notes; and the run's metadata."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from memory.services.entries.run_notes import open_notebook, save_run_metadata, save_run_todos
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from tests.workflows.views.runs.test_agent_rounds import DOCUMENT, event
from workflows.models import Run, Step, StepPart


pytestmark = pytest.mark.django_db

NOTED_AT = datetime(2026, 3, 4, 9, 30, 15, tzinfo=UTC)
PARTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "plan": ("agent-model", {}, {"text": "Todos:\n1. Ask\n2. Create\n3. Check"}),
    "todo.1.1.model": ("agent-model", {}, {"text": "Completion: 0.9\nAction: [ask the person:How many rows?]\nNote: rows unknown"}),
    "todo.1.1.action.1": ("agent-question", {"question": "How many rows?"}, {"question": "How many rows?", "answer": "Three"}),
    "todo.1.1.note": ("agent-note", {}, {"content": "rows unknown", "source": "todo_0", "time": NOTED_AT.timestamp() * 1000, "temporary": True}),
    "todo.2.1.model": ("agent-model", {}, {"text": "Completion: 0.5\nAction: [create:table]"}),
    "todo.2.1.action.1": ("agent-tool", {"name": "create", "arguments": {"name": "table"}}, {"text": "The disk is full", "is_error": True}),
    "todo.2.1.failure.1": ("agent-note", {}, {"content": "Failed: create", "source": "todo_1", "time": NOTED_AT.timestamp() * 1000 + 1, "temporary": True}),
    "todo.2.2.model": ("agent-model", {}, {"text": "Completion: 60%\nNext step: create it again"}),
}  # fmt: skip


def todo(number: int, content: str, status: str, completion: float = 0.0) -> dict[str, Any]:
    return {
        "id": f"todo_{number}", "content": content, "status": status, "completion": completion, "steps": [],
    }  # fmt: skip


def add_part(run: Run, name: str, kind: str, inputs: Any, outputs: Any, at: float) -> None:
    with tenant([run.team_id]):
        StepPart.objects.create(
            team_id=run.team_id, run=run, node_key="agent", part=name, kind=kind, status="succeeded",
            inputs=inputs, outputs=outputs, started_at=at, elapsed=1.0, prompt_tokens=10,
        )  # fmt: skip
    event(run, name, "completed", kind)


def add_todos(run: Run, *statuses: str) -> None:
    for at, (name, (kind, inputs, outputs)) in enumerate(PARTS.items(), start=1):
        add_part(run, name, kind, inputs, outputs, at)
    contents = ("Ask for the rows", "Create the table", "Check it")
    for number, state in enumerate((["pending"] * 3, statuses), start=1):
        todos = [todo(place, *each) for place, each in enumerate(zip(contents, state, strict=True))]
        outputs = {"goal": "A table of my friends", "todos": todos}
        add_part(run, f"todo.{number}.begin.todos", "agent-todos", {}, outputs, 20.0 + number)


def build_run(person: Person, **fields: Any) -> Run:
    return make_run(person, make_workflow(person, source=DOCUMENT), **fields)


def list_todos(markup: str) -> list[tuple[str, str, str]]:
    """Return the state, the completion and the number of steps of each to-do."""
    todos = markup.split('<li class="todo"')[1:]
    return [
        (
            re.findall(r'data-state="(\w+)"', each)[0],
            re.findall(r"(\d+)%</span>", each)[0],
            (re.findall(r"<summary>(\d+) steps?<", each) or ["0"])[0],
        )
        for each in todos
    ]


def get_rounds(cast: Cast, run: Run) -> str:
    return markup_of(cast.alice.client.get(reverse("workflows:run_rounds", args=[run.pk])))


def test_live_run_shows_its_todos_with_their_steps_below_them(cast: Cast, alice: Person) -> None:
    run = build_run(alice, status="running")
    add_todos(run, "completed", "running", "pending")
    event(run, "todo.2.2.action.1", "running", "agent-tool", at=9.0, title="create")

    markup = get_rounds(cast, run)

    assert list_todos(markup) == [
        ("done", "90", "1"),
        ("retrying", "60", "2"),
        ("pending", "0", "0"),
    ]
    assert "1 of 3 done" in markup
    assert '<progress class="todo-meter" max="100" value="53"' in markup
    for shown in ("A table of my friends", "Ask for the rows", "How many rows?", "Three", "The disk is full",
                  "retried once", "create it again", "Running"):  # fmt: skip
        assert shown in markup
    assert "Rounds of Researcher" not in markup


def test_notes_say_who_wrote_them_when_and_that_they_are_temporary(
    cast: Cast, alice: Person
) -> None:
    run = build_run(alice, status="running")
    add_todos(run, "completed", "running", "pending")

    notes = get_rounds(cast, run).split("<h3>Notes</h3>")[1]

    contents = re.findall(r'class="todo-note">\s*<p class="break">([^<]+)<', notes)
    assert contents == ["Failed: create", "rows unknown"]
    assert notes.index("To-do 2") < notes.index("To-do 1")
    assert NOTED_AT.isoformat() in notes
    assert notes.count("Temporary") == 2


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"status": "paused", "pause": {"reason": "input"}}, "waiting"),
        ({"status": "stopped", "finished_at": timezone.now()}, "unfinished"),
    ],
)
def test_todo_of_a_run_that_does_not_go_on_is_not_shown_as_working(
    cast: Cast, alice: Person, fields: Any, state: str
) -> None:
    run = build_run(alice, **fields)
    add_todos(run, "completed", "running", "pending")

    assert [each[0] for each in list_todos(get_rounds(cast, run))] == ["done", state, "pending"]


def test_answer_at_a_limit_comes_after_the_todos(cast: Cast, alice: Person) -> None:
    run = build_run(alice, status="succeeded", finished_at=timezone.now())
    add_todos(run, "completed", "failed", "pending")
    add_part(run, "4.model", "agent-model", {}, {"text": "That is all I could do"}, 30.0)

    markup = get_rounds(cast, run)

    assert [each[0] for each in list_todos(markup)] == ["done", "failed", "pending"]
    assert "That is all I could do" in markup.split("<summary>Answer</summary>")[1]
    assert "retried" not in markup  # its one failure was its last attempt


def test_last_run_in_the_editor_shows_the_todos(cast: Cast, alice: Person) -> None:
    run = build_run(alice, status="succeeded", finished_at=timezone.now())
    add_todos(run, "completed", "completed", "completed")
    with tenant([run.team_id]):
        Step.objects.create(
            team_id=run.team_id, run=run, node_key="agent", kind="agent", status="succeeded"
        )

    page = cast.alice.client.get(reverse("workflows:last_step", args=[run.workflow_id, "agent"]))

    assert [each[0] for each in list_todos(markup_of(page))] == ["done"] * 3


# ——— metadata


@pytest.fixture
def run(alice: Person) -> Run:
    run = build_run(alice, status="running")
    save_run_metadata(run.team_id, run.pk, goal="A table", stream="chat-desktop")
    save_run_todos(
        run.team_id, run.pk, goal="A table of my friends", stream="",
        todos=[{"id": "todo_0", "content": "Ask", "status": "running"}],
    )  # fmt: skip
    with open_notebook(run.team_id, run.pk, "write") as notebook:
        notebook.store_note(str(run.pk), "rows unknown", "todo_0")
    return run


def test_metadata_has_goal_todos_notes_stream_and_its_end(cast: Cast, run: Run) -> None:
    metadata = cast.alice.client.get(f"/api/v1/runs/{run.pk}/metadata").json()

    expires_in = datetime.fromisoformat(metadata.pop("expires_at")) - timezone.now()
    [note] = metadata.pop("notes")
    assert metadata == {
        "id": str(run.pk),
        "goal": "A table of my friends",
        "todos": [{"id": "todo_0", "content": "Ask", "status": "running"}],
        "stream_name": "chat-desktop",
    }
    assert timedelta(days=2, hours=23) < expires_in <= timedelta(days=3)
    assert (note["content"], note["source"], note["temporary"]) == ("rows unknown", "todo_0", True)


def test_metadata_of_a_run_that_has_none_is_empty(cast: Cast, alice: Person) -> None:
    run = build_run(alice)

    metadata = cast.alice.client.get(f"/api/v1/runs/{run.pk}/metadata").json()

    assert (metadata["goal"], metadata["todos"], metadata["expires_at"]) == ("", [], None)
    panel = markup_of(cast.alice.client.get(reverse("workflows:run_metadata", args=[run.pk])))
    assert "no metadata of this run any more" in panel


def test_panel_of_the_page_shows_the_metadata(cast: Cast, run: Run) -> None:
    add_todos(run, "completed", "running", "pending")
    address = reverse("workflows:run_metadata", args=[run.pk])

    page, panel = (
        markup_of(cast.alice.client.get(reverse("workflows:run", args=[run.pk]))),
        markup_of(cast.alice.client.get(address)),
    )

    assert f'hx-get="{address}"' in page
    for shown in ("A table of my friends", "chat-desktop", f"ai:workflow:{run.pk}", "Expires"):
        assert shown in panel


@pytest.mark.parametrize("who", ["bob", "carol"])
def test_nobody_else_sees_the_metadata(cast: Cast, run: Run, who: str) -> None:
    client = getattr(cast, who).client

    addresses = [
        f"/api/v1/runs/{run.pk}/metadata",
        reverse("workflows:run_metadata", args=[run.pk]),
    ]

    assert [client.get(address).status_code for address in addresses] == [404, 404]


def test_todos_that_a_limit_left_undone_are_shown_as_skipped_and_a_failed_one_has_no_bar(
    cast: Cast, alice: Person
) -> None:
    run = build_run(alice, status="succeeded", finished_at=timezone.now())
    add_todos(run, "completed", "failed", "skipped")

    markup = get_rounds(cast, run)

    assert [each[0] for each in list_todos(markup)] == ["done", "failed", "skipped"]
    assert "Skipped: limit reached" in markup
    done, failed, skipped = markup.split('<li class="todo"')[1:]
    assert ["<progress" in each for each in (done, failed, skipped)] == [True, False, True]
