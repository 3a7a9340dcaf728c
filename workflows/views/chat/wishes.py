"""The actions on what a person asked to forget in the chat: choose what was meant, and undo. The response shows both anew."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app
from workflows.models import Run
from workflows.services.chat.wishes_to_forget import (
    find_wishes,
    forget_chosen,
    restore_forgotten,
)
from workflows.views.chat.addresses import ChatUrls, MemberChatUrls
from workflows.views.request_context import find_run, is_htmx, read_text


@login_required
@require_POST
def forget(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = _find_turn(request, run_id)
    return _render_wishes(request, principal, run, apply_choice(request, principal, run))


@login_required
@require_POST
def restore(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = _find_turn(request, run_id)
    return _render_wishes(request, principal, run, apply_undo(request, principal, run))


def apply_choice(request: HttpRequest, principal: Principal, run: Run) -> str:
    """Forget what the person chose, and return a problem or an empty string."""
    # The button that forgets all of them has their ids in one value.
    entry_ids = " ".join(request.POST.getlist("entry")).split()
    forget_chosen(principal, run=run, entry_ids=entry_ids)
    return ""


def apply_undo(request: HttpRequest, principal: Principal, run: Run) -> str:
    """Restore what was forgotten, and return a problem or an empty string."""
    try:
        restore_forgotten(principal, run=run, entry_id=read_text(request.POST, "entry"))
    except memory_app.AlreadyExists as fault:
        return str(fault)
    return ""


def _find_turn(request: HttpRequest, run_id: UUID) -> tuple[Principal, Run]:
    principal, run = find_run(request, run_id)
    if run.conversation is None or not run.workflow.is_chat or not memory_app.is_on():
        raise NotFound
    return principal, run


def _render_wishes(
    request: HttpRequest, principal: Principal, run: Run, problem: str
) -> HttpResponse:
    urls = MemberChatUrls(run.workflow_id)
    if not is_htmx(request):
        key = run.conversation.key if run.conversation else ""
        return redirect(f"{urls.page}?conversation={key}")
    return render_wishes(request, principal, run, urls, problem)


def render_wishes(
    request: HttpRequest, principal: Principal, run: Run, urls: ChatUrls, problem: str
) -> HttpResponse:
    """Render what stands below the answer about the wishes of a turn, as it is now."""
    wishes = find_wishes(principal, run)
    context = {"wishes": wishes, "urls": urls.get_turn(run.pk), "problem": problem}
    return render(request, "chat/_wishes.html", context)
