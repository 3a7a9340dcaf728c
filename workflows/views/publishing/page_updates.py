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

from accounts.principals import Principal
from config.http.context import get_base_url
from workflows import permissions
from workflows.models import Version, Workflow
from workflows.models.documents import from_json
from workflows.services import publishing
from workflows.services.editor.drafts import load_draft
from workflows.views.publishing.api_examples import build_snippets
from workflows.views.request_context import find_workflow


def build_published_context(
    request: HttpRequest, workflow: Workflow, version: Version
) -> dict[str, Any]:
    """Build the context of ``editor/publishing/_published_dialog.html``, which shows API calls."""
    document = from_json(version.snapshot.document)
    return {
        "snippets": build_snippets(request, workflow, document),
        "base_url": get_base_url(request),
        "embed_origins": settings.EMBED_ORIGINS,
    }


def render_published(
    request: HttpRequest, principal: Principal, workflow: Workflow, version: Version, message: str
) -> JsonResponse:
    """Return the message, and the HTML of the editor page's parts that a publication changes."""
    workflow.published_version = version
    page_url = reverse("workflows:detail", args=[workflow.pk])
    context = {**_build_chip_context(principal, workflow), "page": page_url}
    if permissions.may_run(principal, workflow):
        context |= build_published_context(request, workflow, version)
    return JsonResponse(
        {
            "said": message,
            "chip": render_to_string("editor/publishing/_published_chip.html", context, request),
            "dialog": render_to_string("editor/publishing/_published_dialog.html", context, request)
            if "snippets" in context
            else "",
        }
    )


def render_not_published(message: str, *, has_problems: bool = False) -> JsonResponse:
    return JsonResponse({"refused": message, "problems": has_problems}, status=409)


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
