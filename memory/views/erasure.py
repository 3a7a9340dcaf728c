"""The pages of an erasure: the form, the preview to confirm, and the receipt."""

import json
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Role
from accounts.principals import get_current_team_id, get_principal
from memory.core.errors import InvalidInput, NotFound
from memory.core.scopes import parse_namespace
from memory.services.erasure.erasable_people import list_erasable_people
from memory.services.erasure.erase import Receipt
from memory.services.erasure.erasure_decisions import list_decisions, list_pending_decisions
from memory.services.erasure.erasure_jobs import (
    RUNS_KEY,
    find_subject,
    get_confirmation_text,
    get_erasure,
    list_erasures,
    order_erasure,
    plan_erasure,
)
from memory.views.erasure_decisions import name_rows
from memory.views.erasure_lines import list_kept, list_tables, summarize
from memory.views.request_context import build_caller, name_namespaces, render_page_or_fragment


class PersonForm(forms.Form):
    """The form that selects whose memory is erased; ``typed`` is the text that confirms it."""

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
        fields = super().clean() or self.cleaned_data
        if fields.get("whose") == "other" and not fields.get("person", "").strip():
            self.add_error("person", _("Enter a user."))
        return fields


@login_required
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Show the form, then a preview of the erasure, and order the erasure once it is confirmed."""
    form = PersonForm(request.POST or None, initial={"whose": "me", "runs": True})
    if request.method != "POST":
        return _show_form(request, form)
    if not form.is_valid():
        return _show_form(request, form, status=422)
    caller, subject = build_caller(request), _find_subject(request, form.cleaned_data)
    fields, is_confirmed = form.cleaned_data, "sure" in request.POST
    runs, confirmation, planned = fields["runs"], fields["typed"], None
    try:
        if is_confirmed:
            erasure = order_erasure(caller, subject=subject, confirmation=confirmation, runs=runs)
            return redirect("memory:erasure", erasure_id=erasure.pk)
        planned = plan_erasure(caller, subject=subject, runs=runs)
    except NotFound as fault:
        form.add_error("person" if fields["whose"] == "other" else None, str(fault))
        return _show_form(request, form, status=404)
    except InvalidInput as fault:
        form.add_error("typed" if is_confirmed else "person", str(fault))
        if is_confirmed:
            planned = plan_erasure(caller, subject=subject, runs=runs)
        return _show_form(request, form, subject, planned, status=422)
    return _show_form(request, form, subject, planned)


@login_required
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """Suggest people while a name is typed."""
    text = request.GET.get("person", "")[:80]
    suggestions = list_erasable_people(build_caller(request), text=text)
    names = name_namespaces(request, suggestions.namespaces)
    context = {
        "members": suggestions.members,
        "external_users": [(parse_namespace(name.row.text).ids[0], name.title) for name in names],
    }
    return render(request, "memory/erasure/_person_options.html", context)


@login_required
@require_safe
def receipt(request: HttpRequest, erasure_id: UUID) -> HttpResponse:
    """Show the receipt; until there is one, the page polls for it."""
    caller = build_caller(request)
    row = get_erasure(caller, erasure_id)
    stored_receipt = row.receipt or {}
    tables, remaining = stored_receipt.get("tables", {}), stored_receipt.get("left", {})
    lines = list_tables(tables, remaining)
    decide_count = len(stored_receipt.get("to_decide", ()))
    context = {
        "erasure": row,
        "summary": summarize(tables, remaining, stored_receipt.get("memories", {})),
        "lines": [line for line in lines if line.erased_count or line.remaining_count],
        "empty": [line.label for line in lines if not (line.erased_count or line.remaining_count)],
        "audit_count": stored_receipt.get("kept", {}).get("accounts_auditentry", 0),
        "kept_of_others": list_kept(stored_receipt.get("kept", {})),
        "audit": stored_receipt.get("audit", {}),
        "to_decide": name_rows(request, list_decisions(caller, row)),
        "decide_count": decide_count,
        "open_count": decide_count - len(row.decisions or {}),
        "person": get_confirmation_text(row.subject),
        "with_runs": row.planned.get(RUNS_KEY, False),
        "is_fragment": bool(getattr(request, "htmx", False)),
    }
    page, fragment = "memory/erasure/erasure.html", "memory/erasure/_status.html"
    return render_page_or_fragment(request, page, fragment, context)


@login_required
@require_safe
def download(request: HttpRequest, erasure_id: UUID) -> HttpResponse:
    row = get_erasure(build_caller(request), erasure_id)
    if row.receipt is None:
        raise NotFound(_("No receipt yet."))
    return HttpResponse(
        json.dumps(row.receipt, ensure_ascii=False, indent=2),
        content_type="application/json; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="erasure-{row.pk}.json"'},
    )


def _find_subject(request: HttpRequest, fields: dict[str, Any]) -> str:
    if fields["whose"] == "me":
        return str(get_principal(request).user_id)
    return find_subject(build_caller(request), fields["person"])


def _show_form(
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
        "summary": summarize(planned.tables, {}, asdict(planned.memories)) if planned else [],
        "lines": [line for line in list_tables(planned.tables, {}) if line.erased_count]
        if planned
        else [],
        "total": sum(planned.tables.values()) if planned else 0,
        "confirmation": get_confirmation_text(subject) if planned else "",
        "is_self": subject == str(principal.user_id),
        "can_erase_others": principal.get_role(team_id) in (Role.OWNER, Role.ADMIN),
        "pending_count": len(list_pending_decisions(build_caller(request))),
        "erasures": [
            (erasure, get_confirmation_text(erasure.subject))
            for erasure in list_erasures(build_caller(request))
        ],
    }
    return render(request, "memory/erasure/erase.html", context, status=status)
