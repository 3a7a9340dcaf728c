"""The list of the draft's problems, for the panel at the bottom."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from workflows import permissions
from workflows.engine.language.problems import select_errors
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
    """Show the problems; with ``publishing``, only the errors that keep the draft from being published.

    A response header tells the editor whether the draft, which the member may edit, differs from the published version.
    """
    principal, workflow = find_workflow(request, workflow_id)
    document = get_document(principal, workflow)
    kinds, can_edit = load_kinds(), permissions.may_edit(principal, workflow)
    titles, problems = list_titles(document, kinds), list_problems(workflow, document)
    if "publishing" in request.GET:
        context = {"problems": select_errors(problems), "titles": titles, "is_publication": True}
        return render(request, "editor/publishing/_errors.html", context)
    context = {
        "problems": problems,
        "titles": titles,
        "workflow": workflow,
        "can_edit": can_edit,
    }
    response = render(request, "editor/_problems.html", context)
    has_unpublished_changes = can_edit and publishing.differs_from_published(workflow, document)
    response[DIFFERS_HEADER] = "yes" if has_unpublished_changes else "no"
    return response
