"""Tasks: created, executed as runs, and read together with their runs.

A task without a selected workflow is executed by the team's task workflow, an ordinary workflow that is created for
the first such task. It learns from its runs, so that the next similar task has more to build on.
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
from workflows.engine.language.start_form import TEXT_FIELDS, find_start, list_fields
from workflows.errors import InvalidValue
from workflows.execution.ports.models import load_directory
from workflows.llm.config import DEFAULT
from workflows.models import ModelProvider, Run, Task, Workflow
from workflows.models.documents import from_json
from workflows.models.run import ENDED
from workflows.services import audit_lines, publishing
from workflows.services.catalog import importing
from workflows.services.runs.runs import resolve_subject, select_snapshot, start_run


SAMPLE = "task"  # marks the team's task workflow
MAX_TITLE_LENGTH = 255
NOT_FOR_KEY_OWNER = gettext_lazy(
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
    """Create a task without running it. Raises NotAllowed for a ``workflow`` that the principal may not run."""
    permissions.check_create_task(principal, team_id)
    if workflow is not None:
        permissions.check_run(principal, workflow)
        if workflow.team_id != team_id:
            raise NotFound(field="workflow")
    title = " ".join(title.split())[:MAX_TITLE_LENGTH]
    if not title:
        raise InvalidValue(_("Enter a title."), field="title")
    with tenant([team_id]):
        person = resolve_subject(principal, subject)
        task = Task.objects.create(
            team_id=team_id,
            title=title,
            description=description,
            workflow=workflow,
            subject=person.id,
            subject_user_id=person.user_id,
            started_by_id=principal.user_id,
            api_key_id=get_key_id(principal),
        )
        audit_lines.record(principal, task, "task.created")
    return task


def execute_task(principal: Principal, *, task: Task) -> Task:
    """Start a run of the task, unless its last run is still in progress. Return the task with the run."""
    with tenant([task.team_id]):
        locked = Task.objects.unscoped().select_for_update(of=("self",)).get(pk=task.pk)
        if locked.run is not None and locked.run.status not in ENDED:
            return locked
        if not can_execute(principal, locked):
            raise NotFound(NOT_FOR_KEY_OWNER, field="user")
        workflow = locked.workflow or get_or_create_team_workflow(principal, locked.team_id)
        locked.run = _start_task_run(principal, locked, workflow)
        locked.save(update_fields=["run"])
        audit_lines.record(principal, locked, "task.executed", run=str(locked.run.pk))
    return locked


def can_execute(principal: Principal, task: Task) -> bool:
    """Return whether the principal may run as the task's user, which the creator of an API key may not for its users."""
    try:
        return resolve_subject(principal, task.subject).id == task.subject
    except NotFound:
        return False


def get_or_create_team_workflow(principal: Principal, team_id: UUID) -> Workflow:
    """Return the newest of the team's task workflows; create and publish one if there is none."""
    with tenant([team_id]):
        _lock_team(team_id)
        task_workflows = Workflow.objects.unscoped().filter(
            team_id=team_id, sample=SAMPLE, archived_at=None, published_version__isnull=False
        )
        workflow = task_workflows.order_by("-created_at", "-id").first()
        if workflow is not None:
            return workflow
        permissions.check_create(principal, team_id)
        provider, model = _find_model(team_id)
        document = load_document(_build_document(provider, model)).document
        new_workflow = importing.create_from_document(
            principal,
            team_id=team_id,
            document=document,
            name=_("Tasks"),
            sample=SAMPLE,
            action="workflow.created",
        )
        publishing.publish(principal, workflow=new_workflow)
        if memory_app.is_on():
            _enable_learning(principal, new_workflow, provider, model)
    return new_workflow


def _start_task_run(principal: Principal, task: Task, workflow: Workflow) -> Run:
    task_text = "\n\n".join(filter(None, [task.title, task.description]))
    return start_run(
        principal,
        workflow=workflow,
        inputs=_build_inputs(principal, task, workflow, task_text),
        query=task_text if workflow.is_chat else None,
        subject=task.subject,
    )


def _build_inputs(
    principal: Principal, task: Task, workflow: Workflow, task_text: str
) -> Mapping[str, Json]:
    """Return the title and description as inputs; if the workflow has neither, the text for its first text field."""
    inputs: dict[str, Json] = {"title": task.title, "description": task.description}
    snapshot, _version = select_snapshot(principal, workflow, None)
    document = from_json(snapshot.document)
    start = find_start(document)
    fields = list_fields(start) if start else ()
    if any(field.name in inputs for field in fields):
        return inputs
    return next(({field.name: task_text} for field in fields if field.type in TEXT_FIELDS), {})


def _enable_learning(principal: Principal, workflow: Workflow, provider: str, model: str) -> None:
    """Turn learning on for the workflow, unless it is on for all workflows or the principal may not write memories."""
    if memory_app.get_learning_rule(workflow.team_id, "").auto_memory:
        return
    caller = memory_app.MemoryCaller(principal, workflow.team_id)
    learning = memory_app.LearningRule(auto_memory=True, provider=provider, model=model)
    try:
        memory_app.set_learning_rule(caller, app_id=str(workflow.pk), learning=learning)
    except memory_app.MemoryFault:
        return


def _lock_team(team_id: UUID) -> None:
    """Lock until the transaction ends, so that two first tasks of a team don't create two workflows."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext('workflow-for-tasks'), hashtext(%s))",
            [str(team_id)],
        )


def _find_model(team_id: UUID) -> tuple[str, str]:
    """Return the provider and the model for tasks: the team's default, or else that of its oldest provider.

    Both are empty if the team has connected no model.
    """
    if default := load_directory(team_id).default:
        return default.provider, default.model
    rows = ModelProvider.objects.unscoped().filter(team_id=team_id, enabled=True)
    provider = rows.exclude(default_model="").order_by("created_at", "id").first()
    return (provider.name, provider.default_model) if provider else ("", "")


def _build_document(provider: str, model_name: str) -> Mapping[str, Json]:
    model: dict[str, Json] = {
        "provider": provider or DEFAULT,
        "name": model_name or DEFAULT,
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
