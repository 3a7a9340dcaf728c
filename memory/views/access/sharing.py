"""Who can see a namespace, and why; sharing it, and taking that back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts.models import Role, TeamGroup, User
from accounts.principals import get_current_team_id, get_principal
from accounts.selectors import find_group, find_team, list_group_choices
from memory import provenance, selectors, services
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import parse_namespace
from memory.models import Namespace
from memory.permissions import AccessReason, Verb
from memory.services.access.explanation import (
    VERBS,
    Explained,
    Given,
    Reason,
    Seer,
    explain,
    recipient,
)
from memory.views.access.emergency_access import shown
from memory.views.pagination import OffsetPage, offset_in
from memory.views.request_context import caller_of, may, title_of


VERB_WORDS: Mapping[str, Promise] = {
    "view": gettext_lazy("view"),
    "write": gettext_lazy("write"),
    "forget": gettext_lazy("forget"),
    "share": gettext_lazy("share"),
}

RUNS: Mapping[str, Promise] = {
    "person": gettext_lazy("Runs for this user read and write here. Runs for other users can't."),
    "conversation": gettext_lazy(
        "Runs of this conversation read and write here. Other runs can't."
    ),
    "application": gettext_lazy("Runs of this application read and write here."),
    "workflow": gettext_lazy(
        "Runs of this workflow read and write here, separately for each group."
    ),
    "run": gettext_lazy("Only the run itself has access."),
}

_PLAIN: Mapping[AccessReason, Promise] = {
    AccessReason.OWN: gettext_lazy("It's their memory"),
    AccessReason.PLAYS: gettext_lazy("Their test user"),
    AccessReason.TAKES_PART: gettext_lazy("Participant in the conversation"),
    AccessReason.NAMES: gettext_lazy("API client of this user"),
    AccessReason.GUEST: gettext_lazy("Another installation that stores its memory here"),
}


PEOPLE = 50  # a page
MOST_NAMED = 200  # of those who can't see it
GRANTS = "grants"  # where the page of what is shared begins, apart from that of the people


@dataclass(frozen=True, slots=True)
class Line:
    """One member or key, in words."""

    name: str
    is_key: bool
    is_you: bool
    role: str
    verbs: tuple[str, ...]
    why: tuple[str, ...]
    is_emergency_access: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """``recipient`` is what the form that takes it back sends."""

    name: str
    is_group: bool
    verb: Verb
    word: str
    told: str
    recipient: str


@login_required
@require_safe
def access(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = _row(request, namespace_id)
    found = explain(caller_of(request), namespace=row.text)
    names = _names(request, found)
    principal = get_principal(request)
    seers = OffsetPage(len(found.who_see), offset_in(request.GET), request.GET, PEOPLE)
    given = OffsetPage(
        len(found.grants), offset_in(request.GET, GRANTS), request.GET, PEOPLE, parameter=GRANTS
    )
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "lines": [_line(one, names, principal.user_id) for one in seers.of(found.who_see)],
        "page": seers,
        "others": [one.name for one in found.who_dont[:MOST_NAMED]],
        "others_count": len(found.who_dont),
        "runs": RUNS[found.runs],
        "outside_read_only": found.runs == "application" and not found.outside_runs_write,
        "grants": [_grant(one, names) for one in given.of(found.grants)],
        "grants_page": given,
        "may_share": may(request, "share", row),
        "verbs": [(verb, VERB_WORDS[verb]) for verb in VERBS],
        "emergency_accesses": shown(request, row.text)
        if found.runs in ("person", "conversation")
        else None,
        "base_url": request.build_absolute_uri("/").rstrip("/"),
        "members": _members(found, principal.user_id),
        "groups": _groups(request, row),
    }
    return render(request, "memory/access/sharing.html", context)


@login_required
@require_POST
def share(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = _row(request, namespace_id)
    member = _member(request)
    chosen = [verb for verb in VERBS if verb in request.POST.getlist("verb")]
    for verb in chosen:
        services.share(caller_of(request), namespace=row.text, verb=verb, member=member)
    if chosen:
        messages.success(request, _("Shared with %(name)s.") % {"name": member})
    else:
        messages.info(request, _("Nothing selected."))
    return redirect("memory:access", namespace_id=row.pk)


@login_required
@require_POST
def unshare(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = _row(request, namespace_id)
    member = _member(request)
    for verb in VERBS:
        if verb in request.POST.getlist("verb"):
            services.unshare(caller_of(request), namespace=row.text, verb=verb, member=member)
    messages.success(request, _("Revoked access of %(name)s.") % {"name": member})
    return redirect("memory:access", namespace_id=row.pk)


def _row(request: HttpRequest, namespace_id: UUID) -> Namespace:
    return selectors.namespace_for(
        get_principal(request), get_current_team_id(request), namespace_id
    )


def _member(request: HttpRequest) -> User | TeamGroup:
    """``with`` is an account's id, or ``group:`` and a group's."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    kind, colon, text = request.POST.get("with", "").rpartition(":")
    try:
        wanted = UUID(text)
    except ValueError:
        raise NotFound(_("Member not found.")) from None
    if colon and kind == "group":
        return find_group(principal, team_id, wanted)
    return selectors.member_for(principal, team_id, wanted)


def _members(found: Explained, reader_id: UUID | None) -> list[tuple[UUID, str]]:
    """With whom it can be shared: all of the team are explained already."""
    people = [one for one in found.seers if one.kind == "user" and one.id != reader_id]
    return [(one.id, one.name) for one in people]


def _groups(request: HttpRequest, row: Namespace) -> list[tuple[UUID, str]]:
    if parse_namespace(row.text).seen_by is not SeenBy.TEAM:
        return []
    principal = get_principal(request)
    team = find_team(principal, "team.view", get_current_team_id(request))
    return list_group_choices(principal, team)


def _names(request: HttpRequest, found: Explained) -> Mapping[str, str]:
    """Of those who shared, as people call them in the middle of a sentence."""
    principal = get_principal(request)
    known = provenance.load_provenance(principal, [one.by for one in found.grants], ()).actors
    return {**known, principal.actor: _("you")}


def _line(one: Seer, names: Mapping[str, str], reader_id: UUID | None) -> Line:
    return Line(
        one.name,
        one.kind == "key",
        one.id == reader_id,
        str(Role(one.role).label) if one.role else "",
        tuple(str(VERB_WORDS[verb]) for verb in VERBS if verb in one.may),
        tuple(dict.fromkeys(_said(reason, one, names) for reason in one.why)),
        any(reason.why is AccessReason.EMERGENCY_ACCESS for reason in one.why),
    )


def _said(reason: Reason, one: Seer, names: Mapping[str, str]) -> str:
    if reason.why is AccessReason.ROLE:
        return _of_role(one)
    if reason.given is not None:
        return _of_grant(reason.given, names)
    if reason.emergency_access is not None:
        until = _moment(reason.emergency_access.expires_at)
        return _("Emergency access until %(until)s: %(reason)s") % {
            "until": until,
            "reason": reason.emergency_access.reason,
        }
    return str(_PLAIN[reason.why])


def _of_role(one: Seer) -> str:
    if one.kind == "key":
        return _("API key with %(scopes)s") % {"scopes": ", ".join(one.scopes)}
    return _("Role: %(role)s") % {"role": Role(one.role).label}


def _of_grant(given: Given, names: Mapping[str, str]) -> str:
    told = {
        "by": names.get(given.by, _("former member")),
        "when": _moment(given.at) if given.at else "",
    }
    if given.group is not None:
        return _("Shared with the group %(group)s by %(by)s on %(when)s") % {
            "group": given.group,
            **told,
        }
    return _("Shared by %(by)s on %(when)s") % told if given.by else _("Shared with them")


def _grant(given: Given, names: Mapping[str, str]) -> Grant:
    word = str(VERB_WORDS[given.verb])
    return Grant(
        str(given.user or given.group),
        given.group is not None,
        given.verb,
        word,
        _told_of(given, names),
        recipient(given.user, given.group),
    )


def _told_of(given: Given, names: Mapping[str, str]) -> str:
    if not given.holds:
        return _("No effect: private memory can be shared only with single members.")
    return _of_grant(given, names) if given.by else ""


def _moment(at: datetime) -> str:
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")
