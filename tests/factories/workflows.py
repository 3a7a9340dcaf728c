"""Workflows and what hangs on them, in their plainest form."""

from typing import Any

from accounts.tenancy import tenant
from workflows.models import (
    Message,
    Run,
    RunCommit,
    RunPartial,
    RunWait,
    Step,
    StepPart,
    Version,
    Workflow,
)
from workflows.services import credentials, publishing
from workflows.services.catalog import importing
from workflows.services.chat import conversations
from workflows.services.editor.snapshots import take_snapshot


def within(person: Any) -> Any:
    """The wall as a request of this person opens it."""
    return tenant(person.principal.team_ids)


def document(name: str = "Echo", **start: Any) -> dict[str, Any]:
    """start → end, handing the input through; in xworkflow's flat form."""
    return {
        "version": "0.1.0",
        "nodes": [
            {
                "id": "start",
                "data": {
                    "type": "start",
                    "title": name,
                    "variables": [{"variable": "text", "type": "string", **start}],
                },
            },
            {
                "id": "end",
                "data": {
                    "type": "end",
                    "outputs": [{"variable": "text", "value_selector": ["start", "text"]}],
                },
            },
        ],
        "edges": [{"id": "e1", "source": "start", "target": "end"}],
    }


def make_workflow(person: Any, name: str = "Echo", source: Any = None) -> Workflow:
    return importing.import_document(
        person.principal, team_id=person.team.pk, source=source or document(name), name=name
    ).workflow


def make_version(person: Any, workflow: Workflow, note: str = "") -> Version:
    return publishing.publish(person.principal, workflow=workflow, note=note)


def make_run(person: Any, workflow: Workflow, **fields: Any) -> Run:
    """Queued, and nobody will drive it: no worker is told."""
    given = {"subject": str(person.user.pk), "started_by": person.user, "actor": "test", **fields}
    with tenant([workflow.team_id]):
        return Run.objects.create(
            team_id=workflow.team_id,
            workflow=workflow,
            snapshot=take_snapshot(workflow),
            **given,
        )


def make_journal(run: Run, text: str = "hello") -> None:
    """One row of each table that belongs to a run."""
    own = {"team_id": run.team_id, "run": run}
    with tenant([run.team_id]):
        Step.objects.create(
            **own, node_key="end", kind="end", status="succeeded", outputs={"text": text}
        )
        StepPart.objects.create(**own, node_key="agent", part="1.model", kind="agent-model")
        RunWait.objects.create(**own, node_key="ask", form={"content": "?"})
        intent = {"node_key": "end", "rounds": [], "idempotency_key": "k", "is_repeated": False}
        RunCommit.objects.create(
            **own,
            number=1,
            attempt=1,
            last_seq=1,
            events=[["run_started", {"text": text}]],
            intents=[intent],
        )
        Run.objects.unscoped().filter(pk=run.pk).update(last_seq=1)
        RunPartial.objects.create(**own, segments=[["end", None, 0, 0, 0, text]])


def make_conversation(person: Any, workflow: Workflow, **given: Any) -> Any:
    return conversations.open_conversation(
        person.principal,
        workflow=workflow,
        subject=given.pop("subject", str(person.user.pk)),
        **given,
    )


def make_message(person: Any, workflow: Workflow, query: str = "Hello?") -> Message:
    talk = make_conversation(person, workflow)
    run = make_run(person, workflow, conversation=talk)
    conversations.add_message(talk, run=run, query=query, answer=query)
    with tenant([workflow.team_id]):
        return Message.objects.unscoped().select_related("conversation").get(run=run)


def make_provider(person: Any, name: str = "openai", secret: str = "sk-0123456789abcdef") -> Any:
    return credentials.create_provider(
        person.principal,
        team_id=person.team.pk,
        name=name,
        base_url="https://models.example.org/v1",
        secret=secret,
    )
