"""A workflow's own memory and a run's notes, in runs that a worker drives."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from accounts.errors import NotFound
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory.core.errors import InvalidInput
from memory.models import Entry, Namespace
from memory.notes.metadata import RunMetadata, Todo
from memory.services.entries.run_notes import clear_run_notes, open_notebook, open_run_book
from memory.upkeep.run_notes import sweep_notes
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, Person
from workflows.errors import InvalidValue
from workflows.execution.memory_streams import name_merged_stream
from workflows.execution.ports.adapters import build_identity
from workflows.execution.worker import Worker
from workflows.memory_host import WorkflowsHost
from workflows.models import Run, Workflow
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)

Drive = Callable[..., Run]


@pytest.fixture
def drive(cast: Cast, settings: Any, valkey_url: str) -> Iterator[Drive]:
    """Starts a run and drives it to its end."""
    settings.REDIS_URL = valkey_url
    worker = Worker(capacity=1)

    def driven(workflow: Workflow, *, by: Person = cast.alice, **asked: Any) -> Run:
        run = start_run(by.principal, workflow=workflow, **asked)
        worker.execute_run(run.pk)
        with tenant([run.team_id]):
            return Run.objects.unscoped().get(pk=run.pk)

    yield driven
    worker.stop(0)


def _node(node_id: str, kind: str, /, **data: Any) -> dict[str, Any]:
    return {"id": node_id, "data": {"type": kind, "title": node_id, **data}}


def _document(*nodes: dict[str, Any]) -> dict[str, Any]:
    start = _node("start", "start", variables=[{"variable": "text", "type": "string"}])
    chain = [start, *nodes]
    return {
        "version": "0.1.0",
        "nodes": chain,
        "edges": [
            {"id": str(n), "source": a["id"], "target": b["id"]}
            for n, (a, b) in enumerate(pairwise(chain))
        ],
    }


def _talking(person: Person, name: str, scope: str = "workflow") -> Workflow:
    """Recalls everything, then remembers what it was told."""
    return make_workflow(
        person,
        name,
        _document(
            _node("recall", "memory-recall", scope=scope),
            _node("store", "memory-store", scope=scope, key="{{#start.text#}}",
                  value_selector=["start", "text"]),
            _node("again", "memory-recall", scope=scope),
            _node("end", "end", outputs=[
                {"variable": "before", "value_selector": ["recall", "results"]},
                {"variable": "after", "value_selector": ["again", "results"]},
            ]),
        ),
    )  # fmt: skip


def _told(run: Run, output: str = "before") -> list[str]:
    assert run.status == "succeeded", run.error
    return sorted(one["value"] for one in run.outputs[output])


def _say(text: str) -> dict[str, Any]:
    return {"inputs": {"text": text}}


def _spaces(team_id: Any) -> list[str]:
    with tenant([team_id]):
        rows = Namespace.objects.unscoped().exclude(scope="run_metadata")
        return sorted(rows.values_list("text", flat=True))


GROUP = MemoryStream("group_123")


def test_workflow_remembers_for_a_group_what_no_other_workflow_and_no_other_group_sees(
    cast: Cast, drive: Drive
) -> None:
    chat, desktop = _talking(cast.alice, "chat"), _talking(cast.alice, "desktop")

    drive(desktop, stream=GROUP, **_say("call me master"))

    assert _told(drive(desktop, stream=GROUP, **_say("again"))) == ["call me master"]
    assert _told(drive(chat, stream=GROUP, **_say("hello"))) == []
    assert _told(drive(desktop, stream=MemoryStream("group_456"), **_say("hi"))) == []
    assert _spaces(cast.team_a.pk) == sorted(
        [
            "ai:memory:desktop:group_123",
            "ai:memory:chat:group_123",
            "ai:memory:desktop:group_456",
        ]
    )


def test_merged_workflows_have_a_memory_that_neither_sees_alone(cast: Cast, drive: Drive) -> None:
    chat, desktop = _talking(cast.alice, "chat"), _talking(cast.alice, "desktop")
    both = MemoryStream("group_123", (desktop,))

    drive(chat, stream=both, **_say("I am your master"))

    assert _told(drive(chat, stream=both, **_say("again"))) == ["I am your master"]
    assert _told(drive(chat, stream=GROUP, **_say("alone"))) == []
    assert _told(drive(desktop, stream=GROUP, **_say("alone"))) == []
    # Whoever leads gives the stream its name, as in the other order it is another workflow.
    assert _told(drive(desktop, stream=MemoryStream("group_123", (chat,)), **_say("turned"))) == []
    assert "ai:memory:chat-desktop:group_123" in _spaces(cast.team_a.pk)
    with tenant([cast.team_a.pk]):
        streams = ["chat-desktop", "chat", "odd"]
        names = WorkflowsHost().list_names(cast.team_a.pk, "workflow", streams)
        assert names == {"chat-desktop": "chat + desktop", "chat": "chat"}


def test_renamed_workflow_keeps_its_memory_and_no_other_workflow_inherits_it(
    cast: Cast, drive: Drive
) -> None:
    chat = _talking(cast.alice, "chat")
    drive(chat, stream=GROUP, **_say("call me master"))
    with tenant([cast.team_a.pk]):
        Workflow.objects.unscoped().filter(pk=chat.pk).update(name="talk", slug="")
        chat.refresh_from_db()

    same_name = _talking(cast.alice, "chat")

    assert _told(drive(chat, stream=GROUP, **_say("again"))) == ["call me master"]
    assert _told(drive(same_name, stream=GROUP, **_say("hello"))) == []
    assert (chat.stream_name, same_name.stream_name) == ("chat", "chat-2")
    assert same_name.slug == "chat-2"


def test_merged_workflows_and_a_workflow_of_that_name_have_different_streams(
    cast: Cast, drive: Drive
) -> None:
    chat, desktop = _talking(cast.alice, "chat"), _talking(cast.alice, "desktop")
    both = MemoryStream("group_123", (desktop,))
    single = _talking(cast.alice, "chat-desktop")

    drive(chat, stream=both, **_say("of both"))
    drive(single, stream=GROUP, **_say("of one"))
    other = _talking(cast.alice, "chat-desktop-2")

    assert _told(drive(chat, stream=both, **_say("again"))) == ["of both"]
    assert _told(drive(single, stream=GROUP, **_say("again"))) == ["of one"]
    assert other.stream_name == "chat-desktop-2-2"
    spaces = _spaces(cast.team_a.pk)
    assert "ai:memory:chat-desktop:group_123" in spaces
    assert "ai:memory:chat-desktop-2:group_123" in spaces


def test_chinese_name_is_the_name_of_the_stream(cast: Cast, drive: Drive) -> None:
    chat = _talking(cast.alice, "聊天")

    assert _told(drive(chat, stream=GROUP, **_say("记住")), "after") == ["记住"]
    assert "ai:memory:聊天:group_123" in _spaces(cast.team_a.pk)


def test_migration_moves_memory_from_ids_to_names(cast: Cast, drive: Drive, owner_db: Any) -> None:
    chat, desktop = _talking(cast.alice, "chat"), _talking(cast.alice, "desktop")
    both = MemoryStream("group_123", (desktop,))
    drive(chat, stream=GROUP, **_say("alone"))
    drive(chat, stream=both, **_say("together"))
    merged = f"{chat.pk}-{desktop.pk}"
    owner_db.execute("delete from workflows_streamname")
    with tenant([cast.team_a.pk]):
        Workflow.objects.unscoped().update(slug="", stream_name="")
        for old, new in ((str(chat.pk), "chat"), (merged, "chat-desktop")):
            Namespace.objects.unscoped().filter(app_id=new).update(
                text=f"ai:memory:{old}:group_123", app_id=old
            )

    migration = import_module("workflows.migrations.0007_stream_names")
    with tenant([cast.team_a.pk]):
        migration.name_streams(apps, SimpleNamespace(connection=connection))
        chat.refresh_from_db()

    assert _spaces(cast.team_a.pk) == [
        "ai:memory:chat-desktop:group_123",
        "ai:memory:chat:group_123",
    ]
    assert (chat.slug, chat.stream_name) == ("chat", "chat")
    assert _told(drive(chat, stream=GROUP, **_say("again"))) == ["alone"]
    assert _told(drive(chat, stream=both, **_say("again"))) == ["together"]


def test_run_that_was_started_before_streams_had_names_finds_its_memory(cast: Cast) -> None:
    chat, desktop = _talking(cast.alice, "chat"), _talking(cast.alice, "desktop")
    system = {"workflow_id": str(chat.pk), "group_id": "g"}
    row: dict[str, Any] = {"system": system}

    with tenant([cast.team_a.pk]):
        name_merged_stream([chat, desktop])
    own = build_identity(chat.pk, cast.team_a.pk, row)
    row["system"] = {**system, "workflow_names": [str(chat.pk), str(desktop.pk)]}
    merged = build_identity(chat.pk, cast.team_a.pk, row)

    assert (own["stream_name"], merged["stream_name"]) == ("chat", "chat-desktop")


def test_run_without_a_group_fails_naming_it(cast: Cast, drive: Drive) -> None:
    run = drive(_talking(cast.alice, "chat"), **_say("hello"))

    assert run.status == "failed"
    assert "sys.group_id is not set" in run.error


@pytest.mark.parametrize("group", ["", " ", "a\x00", "x" * 81, ":" * 27])
def test_group_that_can_name_none_is_refused(cast: Cast, group: str) -> None:
    chat = _talking(cast.alice, "chat")

    with pytest.raises(InvalidValue) as refused:
        start_run(cast.alice.principal, workflow=chat, stream=MemoryStream(group), **_say("x"))

    assert refused.value.field == "group_id"


def test_merging_needs_the_right_to_run_each(cast: Cast) -> None:
    chat, theirs = _talking(cast.alice, "chat"), _talking(cast.carol, "theirs")

    with pytest.raises(NotFound):
        start_run(
            cast.alice.principal, workflow=chat, stream=MemoryStream("g", (theirs,)), **_say("x")
        )
    with pytest.raises(InvalidValue):
        start_run(
            cast.alice.principal, workflow=chat, stream=MemoryStream("g", (chat,)), **_say("x")
        )


def test_group_and_merge_come_over_the_api(cast: Cast, api_key: Any) -> None:
    chat, desktop = _talking(cast.alice, "chat"), _talking(cast.alice, "desktop")
    foreign = _talking(cast.carol, "theirs")
    client = api_key(cast.alice)
    body = {**_say("x"), "group_id": "group_123", "merge": [str(desktop.pk)]}

    def ask(**changed: Any) -> Any:
        return client.post(
            f"/api/v1/workflows/{chat.pk}/runs",
            data={**body, "version": "draft", **changed},
            content_type="application/json",
        )

    started = ask()
    assert started.status_code == 202, started.content
    with tenant([cast.team_a.pk]):
        system = Run.objects.unscoped().get(pk=started.json()["id"]).system
    assert system["group_id"] == "group_123"
    assert system["stream_name"] == "chat-desktop"
    assert system["workflow_names"] == [str(chat.pk), str(desktop.pk)]
    assert ask(merge=[str(foreign.pk)]).status_code == 404
    assert ask(merge=[str(uuid4())]).status_code == 404
    assert ask(group_id=":" * 27).status_code == 422


# -- notes ------------------------------------------------------------------------------------------


def _noted(run: Run) -> list[str]:
    with tenant([run.team_id]):
        rows = Entry.objects.unscoped().filter(
            namespace__text=f"ai:notes:{run.pk}", deleted_at=None
        )
        return sorted(rows.values_list("key", flat=True))


def _cleared(run: Run) -> list[dict[str, Any]]:
    with tenant([run.team_id]):
        rows = AuditEntry.objects.unscoped().filter(
            action="memory.cleared", subject=f"ai:notes:{run.pk}"
        )
        return [row.detail for row in rows]


def test_notes_are_there_for_the_run_and_cleared_when_it_ends(cast: Cast, drive: Drive) -> None:
    workflow = _talking(cast.alice, "noting", scope="run")

    first = drive(workflow, **_say("note to self"))
    second = drive(workflow, **_say("another"))

    assert _told(first, "after") == ["note to self"]
    assert _told(second, "before") == []
    assert (_noted(first), _noted(second)) == ([], [])
    assert [one["keys"] for one in _cleared(first)] == [1]
    with tenant([cast.team_a.pk]):
        kept = Entry.objects.unscoped().get(namespace__text=f"ai:notes:{first.pk}")
    assert kept.expires_at is not None
    assert (kept.expires_at - kept.created_at).total_seconds() == 1800


def test_notes_of_a_run_that_failed_are_cleared_too(cast: Cast, drive: Drive) -> None:
    document = _document(
        _node("store", "memory-store", scope="run", key="k", value_selector=["start", "text"]),
        _node("fail", "memory-recall", scope="workflow"),  # has no group
        _node("end", "end", outputs=[]),
    )

    run = drive(make_workflow(cast.alice, "failing", document), **_say("x"))

    assert run.status == "failed"
    assert _noted(run) == []


def _about(run: Run) -> RunMetadata | None:
    with open_run_book(run.team_id, run.pk, "view") as book:
        return book.get(str(run.pk))


def test_run_that_remembers_writes_down_what_it_is_about(cast: Cast, drive: Drive) -> None:
    desktop = _talking(cast.alice, "desktop")

    run = drive(_talking(cast.alice, "chat"), stream=MemoryStream("g", (desktop,)), **_say("x"))

    about = _about(run)
    assert about is not None
    assert (about.goal, about.todos, about.notes) == ("chat", (), ())
    assert about.stream_name == "chat-desktop"
    with tenant([cast.team_a.pk]):
        kept = Entry.objects.unscoped().get(namespace__text=f"ai:workflow:{run.pk}")
    assert kept.expires_at is not None
    assert (kept.expires_at - kept.created_at).days == 3


def test_run_that_remembers_nothing_writes_nothing_down(cast: Cast, drive: Drive) -> None:
    run = drive(
        make_workflow(cast.alice, "plain", _document(_node("end", "end", outputs=[]))), **_say("x")
    )

    assert run.status == "succeeded"
    assert _about(run) is None
    with tenant([cast.team_a.pk]):
        assert not Namespace.objects.unscoped().exists()


def test_run_that_noted_nothing_leaves_no_trace_of_clearing(cast: Cast, drive: Drive) -> None:
    run = drive(_talking(cast.alice, "chat"), stream=GROUP, **_say("x"))

    assert run.status == "succeeded"
    assert _cleared(run) == []
    assert clear_run_notes(run.team_id, run.pk) == 0


def _note(team_id: Any, run_id: Any) -> None:
    with open_notebook(team_id, run_id, "write") as notebook:
        notebook.store_note(str(run_id), "remember the milk", "todo_0")


def test_sweep_clears_notes_of_runs_that_ended_unheard_and_of_no_others(cast: Cast) -> None:
    workflow = _talking(cast.alice, "noting", scope="run")
    with tenant([cast.team_a.pk]):
        running = make_run(cast.alice, workflow)
        ended = make_run(cast.alice, workflow)
    for run in (running, ended):
        _note(run.team_id, run.pk)
    with tenant([cast.team_a.pk]):
        Run.objects.unscoped().filter(pk=ended.pk).update(
            status="failed", finished_at=timezone.now()
        )

    assert (sweep_notes(), sweep_notes()) == (1, 0)

    assert (len(_noted(running)), _noted(ended)) == (1, [])
    assert [one["why"] for one in _cleared(ended)] == ["the run ended"]


def test_run_reads_its_notes_and_what_it_is_about_through_the_gateway(cast: Cast) -> None:
    run, other = uuid4(), uuid4()
    team = cast.team_a.pk

    with open_run_book(team, run, "write") as book:
        book.save(RunMetadata(str(run), "make a table", (Todo("t", "ask"),), (), "chat-desktop"))
    with open_notebook(team, run, "write") as notebook:
        note = notebook.store_note(str(run), "asked", "t")

    with open_run_book(team, run, "view") as book:
        found = book.get(str(run))
    assert found is not None
    assert replace(found, expires_at=None) == RunMetadata(
        str(run), "make a table", (Todo("t", "ask"),), (note,), "chat-desktop"
    )
    with pytest.raises(InvalidInput), open_notebook(team, other, "view") as notebook:
        notebook.list_notes(str(run))
    with open_notebook(team, run, "forget") as notebook:
        assert notebook.clear_notes(str(run)) == 1
    with open_notebook(team, run, "view") as notebook:
        assert notebook.list_notes(str(run)) == []
