"""The list of the draft's problems, for the panel at the bottom."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from workflows import permissions
from workflows.execution.kinds import load_kinds
from workflows.services import publishing
from workflows.services.editor.drafts import list_problems
from workflows.templatetags.problems import list_titles
from workflows.views.catalog.workflow_page import get_document
from workflows.views.request_context import find_workflow


DIFFERS_HEADER = "X-Draft-Differs"  # whether the draft differs from the published version


@login_required
@require_safe
def problems(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the problems.

    A response header tells the editor whether the draft, which the member may edit, differs from the published version.
    """
    principal, workflow = find_workflow(request, workflow_id)
    document = get_document(principal, workflow)
    kinds, can_edit = load_kinds(), permissions.may_edit(principal, workflow)
    context = {
        "problems": list_problems(workflow, document),
        "titles": list_titles(document, kinds),
        "workflow": workflow,
        "can_edit": can_edit,
    }
    response = render(request, "editor/_problems.html", context)
    has_unpublished_changes = can_edit and publishing.differs_from_published(workflow, document)
    response[DIFFERS_HEADER] = "yes" if has_unpublished_changes else "no"
    return response
