"""What the editor's page changes when a version was published: the page itself stays."""

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
from workflows import permissions
from workflows.models import Version, Workflow
from workflows.models.documents import from_json
from workflows.services import publishing
from workflows.services.editor.drafts import draft_document
from workflows.views.publishing.api_examples import base_url, snippets_of
from workflows.views.request_context import workflow_for


def is_in_place(request: HttpRequest) -> bool:
    """Whether the editor's script asks; a page without it is led back to itself."""
    return "HX-Request" in request.headers


def published_page(request: HttpRequest, workflow: Workflow, version: Version) -> dict[str, Any]:
    """For ``editor/publishing/_published_dialog.html``: how to call it."""
    document = from_json(version.snapshot.document)
    return {
        "snippets": snippets_of(request, workflow, document),
        "base_url": base_url(request),
        "embed_origins": settings.EMBED_ORIGINS,
    }


def now_public(
    request: HttpRequest, principal: Principal, workflow: Workflow, version: Version, said: str
) -> JsonResponse:
    workflow.published_version = version
    page = reverse("workflows:detail", args=[workflow.pk])
    context = {**_chip(principal, workflow), "page": page}
    if permissions.may_run(principal, workflow):
        context |= published_page(request, workflow, version)
    return JsonResponse(
        {
            "said": said,
            "chip": render_to_string("editor/publishing/_published_chip.html", context, request),
            "dialog": render_to_string("editor/publishing/_published_dialog.html", context, request)
            if "snippets" in context
            else "",
        }
    )


@login_required
@require_safe
def chip(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """What is published now, for a tab that hears that somebody published."""
    principal, workflow = workflow_for(request, workflow_id)
    return render(request, "editor/publishing/_published_chip.html", _chip(principal, workflow))


def _chip(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    return {
        "workflow": workflow,
        "can_edit": permissions.may_edit(principal, workflow),
        "differs": publishing.differs_from_published(workflow, draft_document(workflow)),
    }


def not_public(said: str, *, has_problems: bool = False) -> JsonResponse:
    return JsonResponse({"refused": said, "problems": has_problems}, status=409)
