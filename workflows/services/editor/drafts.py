"""Read, replace, check, export, rename and archive drafts."""

import json
from collections.abc import Iterable
from typing import Literal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import reading, tenant
from workflows import permissions
from workflows.engine.editing.ops import Header, Replace
from workflows.engine.language import dsl
from workflows.engine.language.document import Dialect, Document
from workflows.engine.language.problems import Problem, mark_unfinished_as_errors
from workflows.engine.language.validation import validate
from workflows.errors import InvalidValue, WorkflowArchived
from workflows.execution.kinds import load_kinds
from workflows.llm.directory import ModelDirectory
from workflows.models import Workflow
from workflows.services import audit_lines
from workflows.services.editing import log
from workflows.services.editing.deleted_nodes import name_deleted_nodes
from workflows.services.editor import draft_rows
from workflows.services.editor.code_problems import find_code_problems
from workflows.services.editor.knowledge_problems import find_knowledge_problems
from workflows.services.editor.mail_problems import find_mail_problems
from workflows.services.editor.people_problems import find_people_problems
from workflows.services.editor.snapshots import store_snapshot, take_snapshot
from workflows.services.model_prices import find_price_problems
from workflows.services.models.mappings import find_model_problems, load_directory_for
from workflows.services.questions.closing import close_questions
from workflows.services.tools.callable_workflows import find_call_problems, refresh_outputs
from workflows.services.tools.recalling_workflows import find_recalling_problems
from workflows.services.tools.tool_problems import find_tool_problems
from workflows.services.triggers.activation import restart_schedules


def load_draft(workflow: Workflow, *, include_secrets: bool = False) -> Document:
    """Return the draft as the engine's document. The caller has found the workflow and may therefore see it."""
    with reading([workflow.team_id]):
        return draft_rows.read_rows(
            workflow, draft_rows.read_secrets(workflow) if include_secrets else None
        )


def replace_draft(principal: Principal, *, workflow: Workflow, document: Document) -> Workflow:
    """Replace the draft with a document in one revision; undoing it restores the previous draft."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = lock(workflow)
        previous = take_snapshot(locked)
        draft_rows.write_rows(locked, document)
        draft_rows.copy_header(locked, document)
        log.record(
            principal,
            locked,
            ops=(Replace(store_snapshot(locked, document).hash),),
            inverse=(Replace(previous.hash),),
            label=_("Imported a document"),
            changed=draft_rows.HEADER,
        )
        audit_lines.record(principal, locked, "workflow.changed", revision=locked.revision)
    return locked


def lock(workflow: Workflow) -> Workflow:
    """Return the workflow's row, locked until the transaction ends to serialize edits. Raises WorkflowArchived."""
    locked = (
        Workflow.objects.unscoped().select_for_update(of=("self",), no_key=True).get(pk=workflow.pk)
    )
    if locked.is_archived:
        raise WorkflowArchived
    return locked


def validate_draft(workflow: Workflow) -> list[Problem]:
    """Return every problem of the draft, errors and warnings, as programs see them."""
    return _sort(_find_problems(workflow, load_draft(workflow)))


def list_problems(
    workflow: Workflow, document: Document, models: ModelDirectory | None = None
) -> list[Problem]:
    """Return every problem of the workflow's document as the editor shows them, with half-made nodes as errors.

    ``models`` are the team's, if the caller has loaded them.
    """
    problems = mark_unfinished_as_errors(_find_problems(workflow, document, models))
    return _sort(name_deleted_nodes(workflow, problems))


def _find_problems(
    workflow: Workflow, document: Document, models: ModelDirectory | None = None
) -> list[Problem]:
    """Return every problem, also those that other workflows, models and tools of the team cause."""
    models = models or load_directory_for(workflow.team_id, document.nodes)
    return [
        *validate(refresh_outputs(workflow.team_id, document), load_kinds()),
        *find_call_problems(workflow.team_id, document, workflow.pk),
        *find_tool_problems(workflow.team_id, document),
        *find_recalling_problems(workflow.team_id, document),
        *find_model_problems(models, document),
        *find_price_problems(models, document),
        *find_mail_problems(document),
        *find_people_problems(workflow.team_id, document),
        *find_code_problems(document),
        *find_knowledge_problems(workflow.team_id, models, document),
    ]


def _sort(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: not problem.is_error)


def export(
    principal: Principal,
    *,
    workflow: Workflow,
    dialect: Dialect | None = None,
    format: Literal["yaml", "json"] = "yaml",  # noqa: A002 - as in the address
    include_secrets: bool = False,
) -> str:
    """Return the draft as text in a dialect, by default the draft's dialect."""
    if include_secrets:
        permissions.check_view_secrets(principal, workflow)
    else:
        permissions.check_view(principal, workflow)
    with tenant([workflow.team_id]):
        document = load_draft(workflow, include_secrets=include_secrets)
        if include_secrets:
            audit_lines.record(principal, workflow, "workflow.exported", secrets=True)
    if format == "yaml":
        return dsl.dump_document(document, dialect, include_secrets=include_secrets)
    tree = dsl.build_tree(document, dialect, include_secrets=include_secrets)
    return json.dumps(tree, ensure_ascii=False, indent=2)


def rename(
    principal: Principal, *, workflow: Workflow, name: str, description: str | None = None
) -> Workflow:
    """Change the name, and the description unless it is None, in one revision. Equal values create no revision."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = lock(workflow)
        values = {"name": clean_name(name), "description": description}
        previous = {field: getattr(locked, field) for field in values}
        ops = [
            Header(field, value)
            for field, value in values.items()
            if value not in (None, previous[field])
        ]
        for op in ops:
            setattr(locked, op.field, op.value)
        if ops:
            log.record(
                principal,
                locked,
                ops=ops,
                inverse=[Header(op.field, previous[op.field]) for op in reversed(ops)],
                label=_("Renamed the workflow"),
                changed=[op.field for op in ops],
            )
        audit_lines.record(principal, locked, "workflow.changed", renamed=True)
    return locked


def archive(principal: Principal, *, workflow: Workflow) -> Workflow:
    """Hide the workflow from the lists and prevent its runs. Nothing is deleted, and ``unarchive`` restores it.

    Its runs that wait for a person are stopped, because nobody is asked any more.
    """
    permissions.check_delete(principal, workflow)
    with tenant([workflow.team_id]):
        locked = lock(workflow)
        locked.archived_at = timezone.now()
        locked.save(update_fields=["archived_at", "updated_at"])
        restart_schedules(locked)
        close_questions(principal, locked)
        audit_lines.record(principal, locked, "workflow.deleted")
    return locked


def unarchive(principal: Principal, *, workflow: Workflow) -> Workflow:
    """Restore the workflow into its folder. Restoring it twice succeeds and is logged once."""
    permissions.check_delete(principal, workflow)
    with tenant([workflow.team_id]):
        archived = Workflow.objects.unscoped().filter(pk=workflow.pk, archived_at__isnull=False)
        if archived.update(archived_at=None):
            workflow.archived_at = None
            restart_schedules(workflow)
            audit_lines.record(principal, workflow, "workflow.restored")
        workflow.archived_at = None
    return workflow


def archive_all(principal: Principal, *, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Archive all of these workflows, or none."""
    with transaction.atomic():
        return [archive(principal, workflow=workflow) for workflow in workflows]


def unarchive_all(principal: Principal, *, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Restore all of these workflows, or none; a workflow that is not archived stays unchanged."""
    with transaction.atomic():
        return [unarchive(principal, workflow=workflow) for workflow in workflows]


def clean_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise InvalidValue(_("The name can't be empty."))
    if len(name) > draft_rows.MAX_NAME_LENGTH:
        raise InvalidValue(_("The name can have at most 255 characters."))
    return name
