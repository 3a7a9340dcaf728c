"""The draft's history at the bottom of the editor: versions and edits, and the ways back to them."""

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
from workflows.errors import WorkflowsFault
from workflows.models import Node, Revision, Workflow
from workflows.services import publishing
from workflows.services.editing import restore
from workflows.services.editing.changes import get_author_name
from workflows.services.kinds import installed_kinds
from workflows.views.editor.history.descriptions import Named, Told, mentioned, told
from workflows.views.publishing.page_updates import is_in_place, now_public
from workflows.views.request_context import typed, workflow_for


SHOWN = 40
LONGEST_NOTE = 2_000
# Bytes of an edit's operations in the database (compressed) up to which it is told what they changed:
# an import holds a document of any size.
TOLD_SIZE = 32_000


@login_required
@require_safe
def history(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    found = selectors.revisions_of(principal, workflow)
    edits = list(
        found.defer("ops", "inverse").annotate(size=_bytes("ops") + _bytes("inverse"))[: SHOWN + 1]
    )
    changes = _told(principal, workflow, edits[:SHOWN])
    context = {
        "workflow": workflow,
        "versions": list(selectors.versions_of(principal, workflow)),
        "edits": [
            {"row": row, "author": get_author_name(row), "told": changes.get(row.number)}
            for row in edits[:SHOWN]
        ],
        "has_more": len(edits) > SHOWN,
        "can_edit": permissions.may_edit(principal, workflow),
        "can_publish": permissions.may_publish(principal, workflow),
    }
    return render(request, "editor/history/_history.html", context)


def _bytes(column: str) -> Func:
    return Func(F(column), function="pg_column_size", output_field=IntegerField())


def _told(principal: Principal, workflow: Workflow, rows: Sequence[Revision]) -> dict[int, Told]:
    """By number, what each edit changed, under the names the nodes have now."""
    small = [row.number for row in rows if row.size <= TOLD_SIZE]  # type: ignore[attr-defined]  # annotated
    found = Revision.objects.visible_to(principal).filter(workflow=workflow, number__in=small)
    trees = {
        number: (ops, back) for number, ops, back in found.values_list("number", "ops", "inverse")
    }
    nodes = _named(
        principal, workflow, (tree for both in trees.values() for half in both for tree in half)
    )
    kinds = installed_kinds()
    made = {number: told(*both, nodes, kinds) for number, both in trees.items()}
    return {number: each for number, each in made.items() if each is not None}


def _named(principal: Principal, workflow: Workflow, trees: Iterable[Any]) -> dict[str, Named]:
    rows = Node.objects.visible_to(principal).filter(workflow=workflow, key__in=mentioned(trees))
    return {
        key: Named(title, kind) for key, title, kind in rows.values_list("key", "title", "kind")
    }


@login_required
@require_POST
def go_back(request: HttpRequest, workflow_id: UUID, number: int) -> HttpResponse:
    """To how the draft was after an edit; everything since is taken back, as one edit."""
    principal, workflow = workflow_for(request, workflow_id, "edit")
    return _done(
        request,
        workflow,
        lambda: restore.restore_revision(principal, workflow=workflow, number=number),
        _("Draft restored. Undo to revert."),
    )


@login_required
@require_POST
def add_version(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id, "publish")
    note = typed(request.POST, "note")[:LONGEST_NOTE]
    return _done(
        request,
        workflow,
        lambda: publishing.add_version(principal, workflow=workflow, note=note),
        _("Version saved."),
    )


@login_required
@require_POST
def restore_version(request: HttpRequest, workflow_id: UUID, number: int) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id, "edit")
    version = selectors.version_for(principal, workflow, number)
    return _done(
        request,
        workflow,
        lambda: restore.restore_version(principal, workflow=workflow, version=version),
        _("Version restored to the draft. Undo to revert."),
    )


@login_required
@require_POST
def publish_version(request: HttpRequest, workflow_id: UUID, number: int) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id, "publish")
    version = selectors.version_for(principal, workflow, number)
    said = _("Version published.")
    done = _done(
        request,
        workflow,
        lambda: publishing.publish_version(principal, workflow=workflow, version=version),
        said,
    )
    if is_in_place(request) and done.status_code == HTTPStatus.OK:
        return now_public(request, principal, workflow, version, said)
    return done


def _done(
    request: HttpRequest, workflow: Workflow, act: Callable[[], object], said: str
) -> HttpResponse:
    """For the editor's script a sentence; for a page without it, the way back to the page."""
    try:
        act()
    except (WorkflowsFault, DocumentInvalid) as refused:
        if is_in_place(request):
            return HttpResponse(_sentence(refused), status=409, content_type="text/plain")
        messages.error(request, _sentence(refused))
        return redirect("workflows:detail", workflow.pk)
    if is_in_place(request):
        return HttpResponse(said, content_type="text/plain")
    messages.success(request, said)
    return redirect("workflows:detail", workflow.pk)


def _sentence(refused: Exception) -> str:
    if isinstance(refused, DocumentInvalid):
        return _("The draft has errors and can't be published: {problems}").format(
            problems="; ".join(problem.message for problem in refused.problems[:3])
        )
    return str(refused)
