"""The page with the shared memories of erased persons about which somebody has to decide, and its buttons."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from memory.core.errors import AlreadyExists, InvalidInput
from memory.services.erasure.erasure_decisions import (
    Decision,
    DecisionState,
    decide,
    list_pending_decisions,
)
from memory.views.request_context import build_caller, load_titles


@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """List what is to be decided. ``erase`` in the query asks whether a memory is really to be erased."""
    states = list_pending_decisions(build_caller(request))
    context = {
        "rows": name_rows(request, states),
        "confirm_id": parse_id(request.GET.get("erase", "")),
        "kept": parse_kept(request),
    }
    return render(request, "memory/erasure/decisions.html", context)


@login_required
@require_POST
def decide_entry(request: HttpRequest, erasure_id: UUID, entry_id: UUID) -> HttpResponse:
    """Decide about a memory, and show what is left. What was kept can be reopened there."""
    caller, back = build_caller(request), reverse("memory:erasure_decisions")
    try:
        decision = Decision(request.POST.get("decision", ""))
    except ValueError:
        raise InvalidInput(_("decision: must be erase, keep or reopen.")) from None
    try:
        decide(caller, erasure_id=erasure_id, entry_id=entry_id, decision=decision)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        return redirect(back)
    if decision is Decision.KEEP:
        return redirect(f"{back}?kept={erasure_id}.{entry_id}")
    if decision is Decision.ERASE:
        messages.success(request, _("Erased permanently."))
    return redirect(back)


def name_rows(request: HttpRequest, states: list[DecisionState]) -> list[tuple[DecisionState, str]]:
    """Return each memory with the title of its namespace, which is empty for one that is gone."""
    titles = load_titles(request, [each.entry.namespace for each in states if each.entry])
    return [
        (each, titles.get(each.entry.namespace.text, "") if each.entry else "") for each in states
    ]


def parse_kept(request: HttpRequest) -> tuple[UUID, UUID] | None:
    """Return the erasure and the memory that was kept just now, so that the page can offer to reopen the decision."""
    erasure_text, _dot, entry_text = request.GET.get("kept", "").partition(".")
    erasure_id, entry_id = parse_id(erasure_text), parse_id(entry_text)
    return (erasure_id, entry_id) if erasure_id and entry_id else None


def parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
