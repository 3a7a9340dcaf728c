"""The settings of a workflow's public page, a part of the dialog of its published version and a page of their own."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.principals import Principal
from config.http.context import get_base_url
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import PageAccess, PublicPage, Workflow
from workflows.services.public_pages.settings import change_page, find_page, renew_link
from workflows.views.request_context import find_workflow, is_htmx, read_text


EMBED = """<script src="{base}/embed.js" data-page="{token}" defer></script>"""


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show who may open the page and which sites may embed it, and change that."""
    principal, workflow = find_workflow(request, workflow_id, "run")
    if request.method != "POST":
        return _render(request, principal, workflow)
    try:
        change_page(
            principal,
            workflow=workflow,
            access=read_text(request.POST, "access"),
            password=request.POST.get("password", "").replace("\x00", ""),
            origins=request.POST.get("origins", "").split() if "origins" in request.POST else None,
        )
    except InvalidValue as error:
        return _render(request, principal, workflow, error)
    if is_htmx(request):
        return _render(request, principal, workflow, is_saved=True)
    messages.success(request, _("Saved"))
    return redirect("workflows:public_page_settings", workflow.pk)


@login_required
@require_POST
def renew(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Give the page a new link, which ends the old one."""
    principal, workflow = find_workflow(request, workflow_id, "run")
    renew_link(principal, workflow=workflow)
    if is_htmx(request):
        return _render(request, principal, workflow, is_saved=True)
    messages.success(request, _("The page has a new link. The old one no longer works."))
    return redirect("workflows:public_page_settings", workflow.pk)


def build_page_context(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> dict[str, Any]:
    """Build the context of ``public_pages/settings/_settings.html``."""
    page = find_page(principal, workflow)
    base_url = get_base_url(request)
    return {
        "public_page": page,
        "page_choices": PageAccess.choices,
        "page_access": page.access if page else PageAccess.OFF,
        "page_url": _build_link(base_url, page) if page else "",
        "embed_snippet": EMBED.format(base=base_url, token=page.token) if page else "",
        "can_share_page": permissions.may_share(principal, workflow),
    }


def _build_link(base_url: str, page: PublicPage) -> str:
    return f"{base_url}{reverse('workflows:public_page', args=[page.token])}"


def _render(
    request: HttpRequest,
    principal: Principal,
    workflow: Workflow,
    error: InvalidValue | None = None,
    *,
    is_saved: bool = False,
) -> HttpResponse:
    context = {
        "workflow": workflow,
        **build_page_context(request, principal, workflow),
        "page_errors": {error.field: str(error)} if error else {},
        "is_page_saved": is_saved,
    }
    if error is not None:
        context |= {
            "page_access": read_text(request.POST, "access"),
            "typed_origins": request.POST.get("origins", ""),
        }
    name = "_settings.html" if is_htmx(request) else "settings.html"
    status = 422 if error is not None and not is_htmx(request) else 200
    return render(request, f"public_pages/settings/{name}", context, status=status)
