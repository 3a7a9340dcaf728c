"""The audit trail: narrowed, verified, its head signed, and all of it as a file."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
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
from accounts.principals import current_team_id, principal_of
from accounts.services import trail as services
from accounts.services.downloads import FileAnswer
from accounts.services.heads import signed_head
from accounts.services.trail import Asked, Format
from accounts.views.audit_words import shown
from accounts.views.ignored import left_out
from config.moments import kept, midnight


@login_required
@require_safe
def trail(request: HttpRequest) -> HttpResponse:
    return _page(request, _team(request))


@login_required
@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Takes as long as the trail is; so it is asked for, and not done on every look."""
    team = _team(request)
    return _page(request, team, report=chain.verify(team.pk))


@login_required
@require_safe
def head(request: HttpRequest) -> HttpResponse:
    """The signed head as a file, to be kept elsewhere."""
    found = signed_head(_team(request).pk)
    return HttpResponse(
        json.dumps(found.tree(), indent=2) + "\n",
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="audit-head-{found.seq}.json"',
            "Cache-Control": "no-store",
        },
    )


@login_required
@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    kind = request.POST.get("format", "")
    if kind not in ("jsonl", "csv"):
        raise InvalidChoice
    team = _team(request)
    pieces = services.export(
        principal_of(request), team=team, asked=asked_by(request.POST), kind=cast(Format, kind)
    )
    return FileAnswer(pieces, name=f"audit-{team.slug}", kind=kind)


def asked_by(given: Any) -> Asked:  # Any: a QueryDict, of a form or an address
    """Nonsense narrows nothing."""
    done = {"1": True, "0": False}.get(given.get("success", ""))
    return Asked(
        actor=_text(given, "actor", 120),
        action=_text(given, "action", 60),
        subject=_text(given, "subject", 300),
        run=_text(given, "run", 80).removeprefix("run:"),
        node=_text(given, "node", 200),
        since=_moment(given.get("since", ""), whole_day=False),
        until=_moment(given.get("until", ""), whole_day=True),
        success=done,
    )


def _unread(given: Any, asked: Asked) -> list[tuple[str, str | Promise, str]]:  # Any: a QueryDict
    """The filters that narrow nothing since they can't be understood: name, label, why."""
    read = {
        "since": (_("From"), asked.since, _("Enter a valid date.")),
        "until": (_("To"), asked.until, _("Enter a valid date.")),
        "success": (_("Outcome"), asked.success, _("It is 1 or 0.")),
    }
    return [
        (name, label, str(why))
        for name, (label, found, why) in read.items()
        if given.get(name, "").strip() and found is None
    ]


def _team(request: HttpRequest) -> Team:
    return selectors.team_for(principal_of(request), "audit.view", current_team_id(request))


def _page(
    request: HttpRequest, team: Team, *, report: chain.ChainReport | None = None
) -> HttpResponse:
    principal, asked = principal_of(request), asked_by(request.GET)
    before = request.GET.get("before", "")
    page = services.read(
        principal,
        team=team,
        asked=asked,
        before=int(before) if before.isdecimal() and len(before) < 19 else None,
    )
    query = request.GET.copy()
    query.pop("before", None)
    newest = query.urlencode()
    query["before"] = str(page.older or "")
    context = {
        "team": team,
        "page": page,
        "lines": [shown(line) for line in page.lines],
        "asked": asked,
        "ignored": left_out(
            request.GET, _unread(request.GET, asked), address=reverse("accounts:audit")
        ),
        "given": request.GET,
        "actors": [
            (f"user:{one.user_id}", one.user) for one in selectors.members_of(principal, team)
        ]
        + [(f"key:{one.pk}", one.name) for one in selectors.keys_of(principal, team)],
        "actions": _actions(),
        "older": query.urlencode() if page.older else "",
        "newest": newest,
        "is_first": not before,
        "report": report,
        "reason": REASONS.get(report.broken.reason, "") if report and report.broken else "",
        "head": chain.head(team.pk),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "accounts/audit.html", context)


REASONS = {
    "changed": _("this entry was changed"),
    "missing": _("this entry is missing"),
    "inserted": _("this entry was put in between"),
    "head": _("the trail ends elsewhere than was last written down"),
}

# Families of actions, as the list offers them; an app that isn't installed has none.
FAMILIES = {
    "memory": _("Memory"),
    "workflow": _("Workflows"),
    "run": _("Runs"),
    "task": _("Tasks"),
    "case": _("Test cases"),
    "comment": _("Comments"),
    "folder": _("Folders"),
    "credential": _("Credentials"),
    "member": _("Members"),
    "group": pgettext_lazy("of people", "Groups"),
    "invitation": _("Invitations"),
    "key": _("API keys"),
    "access": _("Sharing"),
    "team": _("Team"),
    "audit": _("Audit trail"),
    "signin": _("Signing in"),
}


def _actions() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Family, its name, its actions."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, wording in chain.AUDIT_ACTIONS.items():
        found.setdefault(name.partition(".")[0], []).append((name, str(wording)))
    places = [*FAMILIES, *sorted(set(found) - set(FAMILIES))]
    return [(one, str(FAMILIES.get(one, one)), found[one]) for one in places if one in found]


def _text(given: Any, name: str, most: int) -> str:
    found: str = given.get(name, "")
    return found.strip().replace("\x00", "")[:most]


def _moment(text: str, *, whole_day: bool) -> datetime | None:
    """A day or an instant, in the reader's time; ``whole_day``: up to the end of that day."""
    try:
        if day := parse_date(text):
            return midnight(day, later=int(whole_day))
        moment = parse_datetime(text)
        return kept(moment) if moment else None
    except ValueError:
        return None
