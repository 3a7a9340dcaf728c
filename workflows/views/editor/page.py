"""The editor page: the canvas with the panels around it."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.services import publishing
from workflows.services.editing import catch_up
from workflows.templatetags.problems import list_titles
from workflows.views.canvas.drawing import draw
from workflows.views.catalog.archive import render_archived_page
from workflows.views.catalog.workflow_page import build_workflow_context
from workflows.views.editor import outline, palette
from workflows.views.editor.debugging.run_actions import build_run_links
from workflows.views.publishing.page_updates import build_published_context
from workflows.views.request_context import find_workflow
from workflows.views.samples.tour import get_tour
from workflows.views.script_texts import translate_texts


# The routes of the editor; the scripts read the URLs from the page and never build a URL themselves.
ROUTES = (
    *("draft", "undo", "redo", "changes", "live", "presence", "comments", "outline", "problems"),
    *("find", "copy", "note", "replace", "export", "picture", "history", "published_chip"),
    *("try", "run_list", "tests", "known_memory"),
)


@login_required
@require_safe
def show_editor(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the editor, or the page of an archived workflow."""
    principal, workflow = find_workflow(request, workflow_id, archived=True)
    if workflow.is_archived:
        return render_archived_page(request, principal, workflow)
    response = render(request, "editor/page.html", build_page_context(request, principal, workflow))
    return _allow_framing(response) if "embed" in request.GET else response


def _allow_framing(response: HttpResponse) -> HttpResponse:
    """Allow the sites in EMBED_ORIGINS to show the page in a frame; if the setting is empty, it stays forbidden."""
    if settings.EMBED_ORIGINS:
        # The middlewares of both headers read these; a browser that knows frame-ancestors ignores X-Frame-Options.
        response._csp_replace = {"frame-ancestors": list(settings.EMBED_ORIGINS)}  # type: ignore[attr-defined]
        response.xframe_options_exempt = True
    return response


def build_page_context(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> dict[str, Any]:
    """Return the template context of the page; it is read-only if the request embeds the page in a frame."""
    context = build_workflow_context(request, principal, workflow)
    pins = [pin.node_key for pin in selectors.list_pins(principal, workflow)]
    return context | {
        "drawing": draw(
            context["document"], context["problems"], pinned=pins, models=context["models"]
        ),
        "titles": list_titles(context["document"], load_kinds()),
        "palette": palette.list_palette_groups(workflow.mode),
        "outline": outline.build_inline_rows(context["document"], context["problems"]),
        "outline_base": reverse("workflows:outline", args=[workflow.pk]),
        "differs": context["can_edit"]
        and publishing.differs_from_published(workflow, context["document"]),
        "can_publish": permissions.may_publish(principal, workflow),
        "tour": get_tour(workflow),
        "words": translate_texts(),
        "stacks": catch_up.get_undo_stacks(principal, workflow=workflow),
        "urls": _build_urls(workflow),
        "page": reverse("workflows:detail", args=[workflow.pk]),
        # Whether there is only a start node, so that the canvas explains the first step.
        "is_bare": context["can_edit"]
        and len(context["document"].nodes) + len(context["document"].notes) <= 1,
        "last_run_links": _build_last_run_links(request, context),
        **_build_embedding_flags(request),
        "me": str(principal.user_id or ""),
        "pins": pins,
        **_build_published_context(request, principal, workflow, context),
    }


def _build_last_run_links(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any] | None:
    """Return the run whose states and log the page shows again; none in a frame, and none beside a new conversation."""
    run = context.get("last_run")
    is_blank = "embed" in request.GET or "new" in request.GET
    return None if run is None or is_blank else build_run_links(run)


def _build_embedding_flags(request: HttpRequest) -> dict[str, Any]:
    """Disable all actions in a frame, where a click may be accidental or the result of clickjacking."""
    if "embed" not in request.GET:
        return {"is_embedded": False}
    return {"is_embedded": True, "can_edit": False, "can_publish": False, "is_bare": False}


def _build_published_context(
    request: HttpRequest, principal: Principal, workflow: Workflow, context: dict[str, Any]
) -> dict[str, Any]:
    """Return the context with examples of API calls, if the request asks for the published version."""
    version = workflow.published_version
    if "published" not in request.GET or version is None or not context["can_run"]:
        return {}
    return build_published_context(request, principal, workflow, version)


def _build_urls(workflow: Workflow) -> dict[str, str]:
    urls = {name: reverse(f"workflows:{name}", args=[workflow.pk]) for name in ROUTES}
    # The scripts put the id of a new run into this URL template.
    return urls | {
        "run_place": reverse("workflows:run", args=[UUID(int=0)]),
        "search": reverse("workflows:search"),
    }
