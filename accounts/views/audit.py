"""Pages of the audit trail: filtered, verified, its head signed, and exported as a file."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts import audit as chain
from accounts import selectors
from accounts.errors import InvalidChoice
from accounts.models import Team
from accounts.principals import get_current_team_id, get_principal
from accounts.services import trail as services
from accounts.services.checkpoints import sign_head
from accounts.services.downloads import FileDownload
from accounts.services.trail import AuditFilter, Format
from accounts.views.audit_labels import present_line
from accounts.views.ignored_filters import list_ignored_filters
from config.timestamps import find_midnight, to_utc


REASONS = {
    "changed": _("this entry was modified"),
    "missing": _("this entry is missing"),
    "inserted": _("this entry was inserted"),
    "head": _("the end of the trail differs from the last recorded head"),
}

# The families of actions in the filter; apps that aren't installed have none.
FAMILIES = {
    "memory": _("Memory"),
    "workflow": _("Workflows"),
    "run": _("Runs"),
    "task": _("Tasks"),
    "conversation": _("Conversations"),
    "usage": _("Usage"),
    "file": _("Files"),
    "trigger": _("Triggers"),
    "data_set": _("Datasets"),
    "case": _("Test cases"),
    "comment": _("Comments"),
    "folder": _("Folders"),
    "credential": _("Credentials"),
    "tool": _("Tools"),
    "member": _("Members"),
    "group": pgettext_lazy("of people", "Groups"),
    "invitation": _("Invitations"),
    "key": _("API keys"),
    "access": _("Sharing"),
    "team": _("Team"),
    "audit": _("Audit trail"),
    "signin": _("Sign-ins"),
}


@login_required
@require_safe
def trail(request: HttpRequest) -> HttpResponse:
    return _render_page(request, _find_team(request))


@login_required
@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Verify the chain. The time grows with the length of the trail, so this runs on request and not on every view."""
    team = _find_team(request)
    return _render_page(request, team, report=chain.verify(team.pk))


@login_required
@require_safe
def head(request: HttpRequest) -> HttpResponse:
    """Download the signed head, to be stored elsewhere."""
    signed_head = sign_head(_find_team(request).pk)
    return HttpResponse(
        json.dumps(signed_head.to_json(), indent=2) + "\n",
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="audit-head-{signed_head.seq}.json"',
            "Cache-Control": "no-store",
        },
    )


@login_required
@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    kind = request.POST.get("format", "")
    if kind not in ("jsonl", "csv"):
        raise InvalidChoice
    team = _find_team(request)
    filters, file_format = parse_filters(request.POST), cast(Format, kind)
    pieces = services.export(get_principal(request), team=team, filters=filters, kind=file_format)
    return FileDownload(pieces, name=f"audit-{team.slug}", kind=kind)


def parse_filters(data: QueryDict) -> AuditFilter:
    """Parse the filters in the data of a form or a URL. An invalid value counts as no filter."""
    return AuditFilter(
        actor=_read_text(data, "actor", 120),
        action=_read_text(data, "action", 60),
        subject=_read_text(data, "subject", 300),
        run=_read_text(data, "run", 80).removeprefix("run:"),
        node=_read_text(data, "node", 200),
        since=_parse_time(data.get("since", ""), whole_day=False),
        until=_parse_time(data.get("until", ""), whole_day=True),
        success={"1": True, "0": False}.get(data.get("success", "")),
    )


def _list_filter_errors(
    data: QueryDict, filters: AuditFilter
) -> list[tuple[str, str | Promise, str]]:
    """Return name, label and error message of each filter that ``parse_filters`` ignored because it is invalid."""
    checks = (
        ("since", _("From"), filters.since, _("Enter a valid date.")),
        ("until", _("To"), filters.until, _("Enter a valid date.")),
        ("success", _("Outcome"), filters.success, _("Enter 1 or 0.")),
    )
    return [
        (name, label, str(reason))
        for name, label, value, reason in checks
        if data.get(name, "").strip() and value is None
    ]


def _find_team(request: HttpRequest) -> Team:
    return selectors.find_team(get_principal(request), "audit.view", get_current_team_id(request))


def _render_page(
    request: HttpRequest, team: Team, *, report: chain.ChainReport | None = None
) -> HttpResponse:
    principal, filters = get_principal(request), parse_filters(request.GET)
    shows_reads = "reads" in request.GET or _asks_for_reads(filters)
    if not shows_reads:
        filters = replace(filters, hidden_reader=principal.actor)
    before = request.GET.get("before", "")
    before_seq = int(before) if before.isdecimal() and len(before) < 19 else None
    page = services.read_page(principal, team=team, filters=filters, before=before_seq)
    query = request.GET.copy()
    query.pop("before", None)
    newest_query = query.urlencode()
    query["before"] = str(page.older or "")
    errors = _list_filter_errors(request.GET, filters)
    members = selectors.list_members(principal, team)
    keys = selectors.list_keys(principal, team, with_pages=True)
    actors = [(f"user:{row.user_id}", str(row.user)) for row in members]
    actors += [(f"key:{row.pk}", row.name) for row in keys]
    broken_link = report.broken_link if report else None
    context = {
        "team": team,
        "page": page,
        "lines": [present_line(line) for line in page.lines],
        "filters": filters,
        "ignored": list_ignored_filters(request.GET, errors, address=reverse("accounts:audit")),
        "query_data": request.GET,
        "actors": actors,
        "actions": _list_actions(),
        "older": query.urlencode() if page.older else "",
        "newest": newest_query,
        "is_first": not before,
        "shows_reads": shows_reads,
        "report": report,
        "reason": REASONS[broken_link.reason] if broken_link else "",
        "head": chain.read_head(team.pk),
    }
    return render(request, "accounts/audit.html", context)


def _asks_for_reads(filters: AuditFilter) -> bool:
    """Return whether the filters name something whose reads matter: an action, an actor, a target or a run."""
    return bool(filters.action or filters.actor or filters.subject or filters.run or filters.node)


def _list_actions() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the key and the label of each family, with the names and the wording of its actions."""
    families: dict[str, list[tuple[str, str]]] = {}
    for name, wording in chain.AUDIT_ACTIONS.items():
        families.setdefault(name.partition(".")[0], []).append((name, str(wording)))
    order = [name for name in FAMILIES if name in families] + sorted(set(families) - set(FAMILIES))
    return [(family, str(FAMILIES.get(family, family)), families[family]) for family in order]


def _read_text(data: QueryDict, name: str, max_length: int) -> str:
    return data.get(name, "").strip().replace("\x00", "")[:max_length]


def _parse_time(text: str, *, whole_day: bool) -> datetime | None:
    """Parse a day or an instant in the current time zone. With ``whole_day``, a day means its end, not its start."""
    try:
        if day := parse_date(text):
            return find_midnight(day, days_later=int(whole_day))
        moment = parse_datetime(text)
        return to_utc(moment) if moment else None
    except ValueError:
        return None
