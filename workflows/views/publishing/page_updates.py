"""The updates of the editor page after a version was published; the page itself stays open."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import Principal, can
from config.http.context import get_base_url
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Document
from workflows.engine.language.plan import list_node_titles
from workflows.engine.language.validation.recalled_prompts import find_recalled_prompt_problems
from workflows.errors import CasesNotPassed, PublishingUnconfirmed
from workflows.execution.kinds import load_kinds
from workflows.models import Version, Workflow
from workflows.models.documents import from_json
from workflows.services import publishing
from workflows.services.editor.drafts import load_draft
from workflows.templatetags.problems import list_titles
from workflows.views.public_pages.settings import build_page_context
from workflows.views.publishing.api_examples import build_snippets, list_addresses
from workflows.views.request_context import find_workflow
from workflows.views.runs.refusals import render_refusal_list
from workflows.views.triggers.cards import build_published_triggers


def build_published_context(
    request: HttpRequest, principal: Principal, workflow: Workflow, version: Version
) -> dict[str, Any]:
    """Build the context of ``editor/publishing/_published_dialog.html``, which shows API calls."""
    document = from_json(version.snapshot.document)
    return {
        "snippets": build_snippets(request, workflow, document),
        "addresses": list_addresses(request, workflow),
        "base_url": get_base_url(request),
        "embed_origins": settings.EMBED_ORIGINS,
        "recalled_in_system": _list_nodes_with_recalled_prompts(document),
        "failing": publishing.find_failing_nodes(workflow, document),
        "writers_for_keys": publishing.list_writers_for_keys(principal, workflow, document),
        "titles": list_titles(document, load_kinds()),
        **build_published_triggers(request, principal, workflow),
        "can_issue_key": can(principal, "key.manage", workflow.team_id),
        **build_page_context(request, principal, workflow),
    }


def _list_nodes_with_recalled_prompts(document: Document) -> list[str]:
    """Return the titles of the nodes whose system message has memories in it."""
    kinds = load_kinds()
    titles = list_node_titles(document, kinds)
    problems = find_recalled_prompt_problems(document, kinds)
    return list(dict.fromkeys(titles[problem.node] for problem in problems if problem.node))


def render_published(
    request: HttpRequest, principal: Principal, workflow: Workflow, version: Version, message: str
) -> JsonResponse:
    """Return the message, and the HTML of the editor page's parts that a publication changes."""
    workflow.published_version = version
    page_url = reverse("workflows:detail", args=[workflow.pk])
    context = {**_build_chip_context(principal, workflow), "page": page_url}
    if permissions.may_run(principal, workflow):
        context |= build_published_context(request, principal, workflow, version)
    return JsonResponse(
        {
            "said": message,
            "chip": render_to_string("editor/publishing/_published_chip.html", context, request),
            "dialog": render_to_string("editor/publishing/_published_dialog.html", context, request)
            if "snippets" in context
            else "",
        }
    )


def render_not_published(
    request: HttpRequest, workflow: Workflow, message: str, error: Exception
) -> JsonResponse:
    """Return the message, and HTML: of the list of problems, or of the question whether to publish nevertheless."""
    html = ""
    if isinstance(error, DocumentInvalid):
        html = render_refusal_list(request, error, is_publication=True)
    elif isinstance(error, PublishingUnconfirmed):
        context = {"failing": error.problems, "titles": error.titles}
        html = render_to_string("editor/publishing/_failing_nodes.html", context, request)
        return JsonResponse({"refused": message, "problems": False, "html": html})  # a question
    elif isinstance(error, CasesNotPassed):
        html = _render_cases(request, workflow, error)
        return JsonResponse({"refused": message, "problems": False, "html": html}, status=409)
    return JsonResponse({"refused": message, "problems": bool(html), "html": html}, status=409)


def _render_cases(request: HttpRequest, workflow: Workflow, error: CasesNotPassed) -> str:
    """Return HTML of the cases that must pass first, with the way to them."""
    data_set = workflow.must_pass
    context = {
        "error": error,
        "workflow_id": workflow.pk,
        "data_set_id": data_set.pk if data_set else None,
        "is_own": data_set is None or data_set.workflow_id is not None,
    }
    return render_to_string("editor/publishing/_cases_not_passed.html", context, request)


@login_required
@require_safe
def published_chip(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the published version, for a tab that learns that another member published."""
    principal, workflow = find_workflow(request, workflow_id)
    return render(
        request, "editor/publishing/_published_chip.html", _build_chip_context(principal, workflow)
    )


def _build_chip_context(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    return {
        "workflow": workflow,
        "can_edit": permissions.may_edit(principal, workflow),
        "differs": publishing.differs_from_published(workflow, load_draft(workflow)),
    }
