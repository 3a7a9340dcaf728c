"""Erasing somebody: what would go, typed out before it goes, and the receipt of what went."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Role
from accounts.principals import get_current_team_id, get_principal
from memory import naming
from memory.core.errors import InvalidInput, NotFound
from memory.core.scopes import parse_namespace
from memory.services.erasure.erasable_people import erasable
from memory.services.erasure.erase import Receipt
from memory.services.erasure.erasure_jobs import (
    RUNS,
    confirmation_of,
    erasure_for,
    erasures_for,
    order_erasure,
    plan_erasure,
    subject_named,
)
from memory.views.request_context import caller_of


# Tables in people's words, in the order of a receipt.
WORDS: dict[str, str | Promise] = {
    "memory_entry": gettext_lazy("Memories"),
    "memory_revision": gettext_lazy("Revision history"),
    "memory_read": gettext_lazy("Recall log"),
    "memory_change": gettext_lazy("Bulk changes"),
    "memory_posting": gettext_lazy("Search index"),
    "memory_embedding": gettext_lazy("Embeddings"),
    "memory_group": gettext_lazy("Memory groups"),
    "memory_proposal": gettext_lazy("Open proposals"),
    "memory_curation": gettext_lazy("Learned from runs"),
    "memory_emergencyaccess": gettext_lazy("Emergency access"),
    "memory_namespace": gettext_lazy("Namespaces"),
    "sharing": gettext_lazy("Shares with members"),
    "elsewhere": gettext_lazy("Stored by other providers"),
    "workflows_conversation": gettext_lazy("Conversations"),
    "workflows_message": gettext_lazy("Messages"),
    "workflows_task": gettext_lazy("Tasks"),
    "workflows_run": gettext_lazy("Runs"),
    "workflows_step": gettext_lazy("Run steps"),
    "workflows_runevent": gettext_lazy("Run events"),
    "workflows_runpartial": gettext_lazy("Unfinished replies"),
    "workflows_stepintent": gettext_lazy("Pending side effects"),
    "workflows_wouldbe": gettext_lazy("Memory of dry runs"),
    "accounts_auditperson": gettext_lazy("Audit trail pseudonyms"),
}


class PersonForm(forms.Form):
    whose = forms.ChoiceField(
        label=gettext_lazy("Erase memory of"),
        choices=[("me", gettext_lazy("Me")), ("other", gettext_lazy("Another user"))],
        widget=forms.RadioSelect,
        initial="me",
    )
    person = forms.CharField(
        label=gettext_lazy("User ID or email"),
        max_length=80,
        required=False,
        help_text=gettext_lazy(
            "The user ID that API clients send, or a member's email. Users with memory are suggested as you type."
        ),
        widget=forms.TextInput(
            attrs={
                "list": "erase-people",
                "autocomplete": "off",
                "autocapitalize": "none",
                "spellcheck": "false",
                "hx-get": reverse_lazy("memory:erase_people"),
                "hx-trigger": "focus once, input changed delay:200ms",
                "hx-target": "#erase-people",
            }
        ),
    )
    runs = forms.BooleanField(
        label=gettext_lazy("Include conversations, tasks, and runs"), required=False, initial=True
    )
    typed = forms.CharField(max_length=320, required=False)

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("whose") == "other" and not found.get("person", "").strip():
            self.add_error("person", _("Enter a user."))
        return found


@login_required
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    form = PersonForm(request.POST or None, initial={"whose": "me", "runs": True})
    if request.method != "POST":
        return _ask(request, form)
    if not form.is_valid():
        return _ask(request, form, status=422)
    caller, subject = caller_of(request), _subject(request, form.cleaned_data)
    runs = form.cleaned_data["runs"]
    try:
        if "sure" in request.POST:
            made = order_erasure(
                caller, subject=subject, typed=form.cleaned_data["typed"], runs=runs
            )
            return redirect("memory:erasure", erasure_id=made.pk)
        planned: Receipt | None = plan_erasure(caller, subject=subject, runs=runs)
    except NotFound as fault:
        form.add_error("person" if form.cleaned_data["whose"] == "other" else None, str(fault))
        return _ask(request, form, status=404)
    except InvalidInput as fault:
        form.add_error("typed" if "sure" in request.POST else "person", str(fault))
        planned = (
            plan_erasure(caller, subject=subject, runs=runs) if "sure" in request.POST else None
        )
        return _ask(request, form, subject, planned, status=422)
    return _ask(request, form, subject, planned)


@login_required
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """Whom one could mean, while a name is typed."""
    found = erasable(caller_of(request), typed=request.GET.get("person", "")[:80])
    others = naming.name_namespaces(found.others, reader_id=get_principal(request).user_id)
    context = {
        "members": found.members,
        "others": [(parse_namespace(one.row.text).ids[0], one.title) for one in others],
    }
    return render(request, "memory/erasure/_person_options.html", context)


@login_required
@require_safe
def receipt(request: HttpRequest, erasure_id: UUID) -> HttpResponse:
    """Asks itself again until it is over."""
    row = erasure_for(caller_of(request), erasure_id)
    done = row.receipt or {}
    lines = _lines(done.get("tables", {}), done.get("left", {}))
    context = {
        "erasure": row,
        "lines": [line for line in lines if line[2] or line[3]],
        "empty": [line[0] for line in lines if not line[2] and not line[3]],
        "kept": done.get("kept", {}).get("accounts_auditentry", 0),
        "audit": done.get("audit", {}),
        "person": confirmation_of(row.subject),
        "with_runs": row.planned.get(RUNS, False),
        "swapped": bool(getattr(request, "htmx", False)),
    }
    template = (
        "memory/erasure/_status.html" if context["swapped"] else "memory/erasure/erasure.html"
    )
    return render(request, template, context)


@login_required
@require_safe
def download(request: HttpRequest, erasure_id: UUID) -> HttpResponse:
    row = erasure_for(caller_of(request), erasure_id)
    if row.receipt is None:
        raise NotFound(_("No receipt yet."))
    name = f"erasure-{row.pk}.json"
    return HttpResponse(
        json.dumps(row.receipt, ensure_ascii=False, indent=2),
        content_type="application/json; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _subject(request: HttpRequest, given: dict[str, Any]) -> str:
    if given["whose"] == "me":
        return str(get_principal(request).user_id)
    return subject_named(caller_of(request), given["person"])


def _ask(
    request: HttpRequest,
    form: PersonForm,
    subject: str = "",
    planned: Receipt | None = None,
    status: int = 200,
) -> HttpResponse:
    principal, team_id = get_principal(request), get_current_team_id(request)
    context = {
        "form": form,
        "planned": planned,
        "lines": _lines(planned.tables) if planned else [],
        "total": sum(planned.tables.values()) if planned else 0,
        "confirmation": confirmation_of(subject) if planned else "",
        "own": subject == str(principal.user_id),
        "may_others": principal.get_role(team_id) in (Role.OWNER, Role.ADMIN),
        "erasures": [
            (one, confirmation_of(one.subject)) for one in erasures_for(caller_of(request))
        ],
    }
    return render(request, "memory/erasure/erase.html", context, status=status)


def _lines(
    tables: Mapping[str, int], left: Mapping[str, int] | None = None
) -> list[tuple[str | Promise, str, int, int]]:
    """What people call it, the table's name, how many went, and how many asking anew found."""
    known = [*WORDS, *(sorted(set(tables) - set(WORDS)))]
    return [
        (WORDS.get(name, name), name, tables[name], (left or {}).get(name, 0))
        for name in known
        if name in tables
    ]
