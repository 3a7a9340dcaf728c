"""The draft's history at the bottom of the editor: its versions and edits, and restoring them."""

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import F, Func, IntegerField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.errors import DocumentInvalid
from workflows.errors import WorkflowFault
from workflows.execution.kinds import load_kinds
from workflows.models import Node, Revision, Workflow
from workflows.services import publishing
from workflows.services.editing import restore
from workflows.services.editing.changes import get_author_name
from workflows.views.editor.history.descriptions import (
    EditDescription,
    NodeLabel,
    collect_ids,
    describe_edit,
)
from workflows.views.publishing.page_updates import render_published
from workflows.views.request_context import find_workflow, is_htmx, read_text


MAX_EDITS = 40
MAX_NOTE_LENGTH = 2_000
# Edits with more bytes of operations in the database (compressed) are not described: an import can be of any size.
MAX_DESCRIBED_SIZE = 32_000


@login_required
@require_safe
def history(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the versions and the newest edits with their descriptions."""
    principal, workflow = find_workflow(request, workflow_id)
    revisions = selectors.list_revisions(principal, workflow)
    edits = list(
        revisions.defer("ops", "inverse").annotate(
            size=_measure_column("ops") + _measure_column("inverse")
        )[: MAX_EDITS + 1]
    )
    details = _describe_edits(principal, workflow, edits[:MAX_EDITS])
    context = {
        "workflow": workflow,
        "versions": list(selectors.list_versions(principal, workflow)),
        "edits": [
            {"row": row, "author": get_author_name(row), "description": details.get(row.number)}
            for row in edits[:MAX_EDITS]
        ],
        "has_more": len(edits) > MAX_EDITS,
        "can_edit": permissions.may_edit(principal, workflow),
        "can_publish": permissions.may_publish(principal, workflow),
    }
    return render(request, "editor/history/_history.html", context)


@login_required
@require_POST
def restore_revision(request: HttpRequest, workflow_id: UUID, number: int) -> HttpResponse:
    """Restore the draft as it was after an edit; everything since is undone as one edit."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    return _call_and_respond(
        request,
        workflow,
        lambda: restore.restore_revision(principal, workflow=workflow, number=number),
        _("Draft restored. Undo to revert."),
    )


@login_required
@require_POST
def add_version(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id, "publish")
    note = read_text(request.POST, "note")[:MAX_NOTE_LENGTH]
    return _call_and_respond(
        request,
        workflow,
        lambda: publishing.add_version(principal, workflow=workflow, note=note),
        _("Version saved."),
    )


@login_required
@require_POST
def restore_version(request: HttpRequest, workflow_id: UUID, number: int) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id, "edit")
    version = selectors.find_version(principal, workflow, number)
    return _call_and_respond(
        request,
        workflow,
        lambda: restore.restore_version(principal, workflow=workflow, version=version),
        _("Version restored to the draft. Undo to revert."),
    )


@login_required
@require_POST
def publish_version(request: HttpRequest, workflow_id: UUID, number: int) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id, "publish")
    version = selectors.find_version(principal, workflow, number)
    message = _("Version published.")
    response = _call_and_respond(
        request,
        workflow,
        lambda: publishing.publish_version(principal, workflow=workflow, version=version),
        message,
    )
    if is_htmx(request) and response.status_code == HTTPStatus.OK:
        return render_published(request, principal, workflow, version, message)
    return response


def _measure_column(column: str) -> Func:
    return Func(F(column), function="pg_column_size", output_field=IntegerField())


def _describe_edits(
    principal: Principal, workflow: Workflow, edits: Sequence[Revision]
) -> dict[int, EditDescription]:
    """Return the description of each edit by its number, with the current names of the nodes."""
    numbers = [row.number for row in edits if row.size <= MAX_DESCRIBED_SIZE]  # type: ignore[attr-defined]  # annotated
    revisions = Revision.objects.visible_to(principal).filter(workflow=workflow, number__in=numbers)
    trees = {
        number: (ops, inverse)
        for number, ops, inverse in revisions.values_list("number", "ops", "inverse")
    }
    all_trees = (tree for pair in trees.values() for operations in pair for tree in operations)
    labels, kinds = _load_node_labels(principal, workflow, all_trees), load_kinds()
    return {
        number: description
        for number, (ops, inverse) in trees.items()
        if (description := describe_edit(ops, inverse, labels, kinds)) is not None
    }


def _load_node_labels(
    principal: Principal, workflow: Workflow, trees: Iterable[Any]
) -> dict[str, NodeLabel]:
    nodes = Node.objects.visible_to(principal).filter(workflow=workflow, key__in=collect_ids(trees))
    rows = nodes.values_list("key", "title", "kind")
    return {key: NodeLabel(title, kind) for key, title, kind in rows}


def _call_and_respond(
    request: HttpRequest, workflow: Workflow, action: Callable[[], object], message: str
) -> HttpResponse:
    """Call the action; respond to the editor's script with a message, and to a plain form with a redirect."""
    try:
        action()
    except (WorkflowFault, DocumentInvalid) as error:
        if is_htmx(request):
            return HttpResponse(_format_error(error), status=409, content_type="text/plain")
        messages.error(request, _format_error(error))
        return redirect("workflows:detail", workflow.pk)
    if is_htmx(request):
        return HttpResponse(message, content_type="text/plain")
    messages.success(request, message)
    return redirect("workflows:detail", workflow.pk)


def _format_error(error: Exception) -> str:
    if isinstance(error, DocumentInvalid):
        return _("The draft has errors and can't be published: {problems}").format(
            problems="; ".join(problem.message for problem in error.problems[:3])
        )
    return str(error)
