"""Tasks: written down, executed as runs, read with what came of them.

A task without a workflow of its own is done by the team's workflow for tasks, an ordinary one that is
made when the first is executed; it learns from its runs, so that the next similar task knows more.
"""

from collections.abc import Mapping
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.principals import get_key_id
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.language.document import Json
from workflows.engine.language.dsl import load_document
from workflows.engine.language.start_form import TEXT_FIELDS, fields_of
from workflows.errors import InvalidValue
from workflows.models import ModelProvider, Run, Task, Workflow
from workflows.models.documents import from_json
from workflows.models.run import ENDED
from workflows.services import audit_lines, publishing
from workflows.services.catalog import importing
from workflows.services.runs.runs import pinned_snapshot, start_run, subject_of


SAMPLE = "task"  # how the team's workflow for tasks is known again
LONGEST_TITLE = 255
NOT_YOURS = gettext_lazy(
    "This task was created through the API for another user. Only an API key can run it."
)


def create_task(
    principal: Principal,
    *,
    team_id: UUID,
    title: str,
    description: str = "",
    workflow: Workflow | None = None,
    subject: str | None = None,
) -> Task:
    permissions.check_task(principal, team_id)
    if workflow is not None:
        permissions.check_run(principal, workflow)
        if workflow.team_id != team_id:
            raise NotFound(field="workflow")
    named = " ".join(title.split())[:LONGEST_TITLE]
    if not named:
        raise InvalidValue(_("Enter a title."), field="title")
    with tenant([team_id]):
        person = subject_of(principal, subject)
        task = Task.objects.create(
            team_id=team_id,
            title=named,
            description=description,
            workflow=workflow,
            subject=person.id,
            subject_user_id=person.user_id,
            started_by_id=principal.user_id,
            api_key_id=get_key_id(principal),
        )
        audit_lines.note(principal, task, "task.created")
    return task


def execute_task(principal: Principal, *, task: Task) -> Task:
    """Starts a run of it. While one is under way there is no second: its own is the answer."""
    with tenant([task.team_id]):
        locked = Task.objects.unscoped().select_for_update(of=("self",)).get(pk=task.pk)
        if locked.run is not None and locked.run.status not in ENDED:
            return locked
        if not stands_for(principal, locked):
            raise NotFound(NOT_YOURS, field="user")
        workflow = locked.workflow or team_workflow(principal, locked.team_id)
        locked.run = _started(principal, locked, workflow)
        locked.save(update_fields=["run"])
        audit_lines.note(principal, locked, "task.executed", run=str(locked.run.pk))
    return locked


def stands_for(principal: Principal, task: Task) -> bool:
    """Whether it can be executed for whom it is: who made a key sees its tasks, and names nobody for it."""
    try:
        return subject_of(principal, task.subject).id == task.subject
    except NotFound:
        return False


def team_workflow(principal: Principal, team_id: UUID) -> Workflow:
    """The newest of the team's workflows for tasks; made, and published, where there is none."""
    with tenant([team_id]):
        _one_at_a_time(team_id)
        there = Workflow.objects.unscoped().filter(
            team_id=team_id, sample=SAMPLE, archived_at=None, published_version__isnull=False
        )
        found = there.order_by("-created_at", "-id").first()
        if found is not None:
            return found
        permissions.check_create(principal, team_id)
        provider = _provider(team_id)
        document = load_document(_document(provider)).document
        made = importing.create(
            principal,
            team_id=team_id,
            document=document,
            name=_("Tasks"),
            sample=SAMPLE,
            action="workflow.created",
        )
        publishing.publish(principal, workflow=made)
        if memory_app.is_on():
            _let_it_learn(principal, made, provider)
    return made


def _started(principal: Principal, task: Task, workflow: Workflow) -> Run:
    said = "\n\n".join(filter(None, [task.title, task.description]))
    return start_run(
        principal,
        workflow=workflow,
        inputs=_inputs(principal, task, workflow, said),
        query=said if workflow.is_chat else None,
        subject=task.subject,
    )


def _inputs(principal: Principal, task: Task, workflow: Workflow, said: str) -> Mapping[str, Json]:
    """Title and description by their names; one that asks for neither is told both in its first text."""
    told: dict[str, Json] = {"title": task.title, "description": task.description}
    snapshot, _version = pinned_snapshot(principal, workflow, None)
    document = from_json(snapshot.document)
    start = next((node for node in document.nodes if node.kind == "start"), None)
    asked = fields_of(start) if start else ()
    if any(field.name in told for field in asked):
        return told
    return next(({field.name: said} for field in asked if field.type in TEXT_FIELDS), {})


def _let_it_learn(principal: Principal, workflow: Workflow, provider: ModelProvider | None) -> None:
    """As the team's applications do, if they do. A key that may not write memories makes a workflow
    that doesn't learn, which an editor can change."""
    if memory_app.learning_of(workflow.team_id, "").auto_memory:
        return
    caller = memory_app.MemoryCaller(principal, workflow.team_id)
    learning = memory_app.Learning(
        auto_memory=True,
        provider=provider.name if provider else "",
        model=provider.default_model if provider else "",
    )
    try:
        memory_app.set_rule(caller, app_id=str(workflow.pk), learning=learning)
    except memory_app.MemoryFault:
        return


def _one_at_a_time(team_id: UUID) -> None:
    """Two first tasks make one workflow."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext('workflow-for-tasks'), hashtext(%s))",
            [str(team_id)],
        )


def _provider(team_id: UUID) -> ModelProvider | None:
    """The team's first connected one that says which model; without one the offline model answers."""
    rows = ModelProvider.objects.unscoped().filter(team_id=team_id, enabled=True)
    return rows.exclude(default_model="").order_by("created_at", "id").first()


def _document(provider: ModelProvider | None) -> Mapping[str, Json]:
    model: dict[str, Json] = {
        "provider": provider.name if provider else "offline",
        "name": provider.default_model if provider else "offline",
        "mode": "chat",
        "completion_params": {},
    }
    return {
        "version": "0.1.0",
        "nodes": [
            {
                "id": "start",
                "data": {
                    "type": "start",
                    "title": _("Task"),
                    "variables": [
                        {"variable": "title", "type": "string", "required": True},
                        {"variable": "description", "type": "string", "required": False},
                    ],
                },
            },
            {
                "id": "llm",
                "data": {
                    "type": "llm",
                    "title": _("Run task"),
                    "model": model,
                    "prompt_template": [
                        {
                            "role": "system",
                            "text": "You complete the task that you are given and explain how.",
                        },
                        {"role": "user", "text": "{{#start.title#}}\n\n{{#start.description#}}"},
                    ],
                },
            },
            {
                "id": "end",
                "data": {
                    "type": "end",
                    "title": _("Result"),
                    "outputs": [{"variable": "result", "value_selector": ["llm", "text"]}],
                },
            },
        ],
        "edges": [
            {"id": "e1", "source": "start", "target": "llm"},
            {"id": "e2", "source": "llm", "target": "end"},
        ],
    }
