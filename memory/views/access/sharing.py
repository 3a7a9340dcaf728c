"""The page that shows who can see a namespace and why, with the forms to share it and to revoke access."""

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
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts.models import Role, TeamGroup, User
from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.selectors import find_group, find_team, list_group_choices
from accounts.views.pagination import OffsetPage, read_offset
from memory import selectors, services
from memory.core.errors import NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import parse_namespace
from memory.models import Namespace
from memory.permissions import AccessReason, Verb
from memory.provenance import load_provenance
from memory.services.access.explanation import (
    VERBS,
    AccessExplanation,
    GrantDetails,
    PrincipalAccess,
    Reason,
    explain_access,
    format_recipient,
)
from memory.views.access.emergency_access import list_access_rows
from memory.views.request_context import build_caller, find_namespace, get_title, is_allowed


VERB_LABELS: Mapping[str, Promise] = {
    "view": pgettext_lazy("permission", "View"),
    "write": pgettext_lazy("permission", "Write"),
    "forget": pgettext_lazy("permission", "Forget"),
    "share": pgettext_lazy("permission", "Share"),
}

RUN_LABELS: Mapping[str, Promise] = {
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

_REASON_LABELS: Mapping[AccessReason, Promise] = {
    AccessReason.OWN: gettext_lazy("Owner of this memory"),
    AccessReason.PLAYS: gettext_lazy("Their test user"),
    AccessReason.TAKES_PART: gettext_lazy("Participant in the conversation"),
    AccessReason.NAMES: gettext_lazy("API client of this user"),
    AccessReason.MANAGES: gettext_lazy("Manages the keys of this program"),
    AccessReason.GUEST: gettext_lazy("Another installation that stores its memory here"),
}


PAGE_SIZE = 50
MAX_NON_VIEWERS = 200  # listed by name
GRANTS_PARAMETER = "grants"  # the list of grants has a separate pager


@dataclass(frozen=True, slots=True)
class ViewerRow:
    """A member or key of the list."""

    name: str
    is_key: bool
    is_you: bool
    role: str
    verbs: tuple[str, ...]
    reasons: tuple[str, ...]
    is_emergency_access: bool


@dataclass(frozen=True, slots=True)
class GrantRow:
    """A grant of the list; ``recipient`` is the value by which the form revokes it."""

    name: str
    is_group: bool
    verb: Verb
    verb_label: str
    description: str
    recipient: str


@login_required
@require_safe
def show_access(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row, principal = find_namespace(request, namespace_id), get_principal(request)
    explanation = explain_access(build_caller(request), namespace=row.text)
    names = _load_actor_names(principal, explanation)
    viewers_page = _build_pager(request, len(explanation.viewers))
    grants_page = _build_pager(request, len(explanation.grants), GRANTS_PARAMETER)
    context = {
        "namespace": row,
        "title": get_title(request, row),
        "lines": [
            _build_viewer_row(item, names, principal.user_id)
            for item in viewers_page.select_rows(explanation.viewers)
        ],
        "page": viewers_page,
        "others": [item.name for item in explanation.non_viewers[:MAX_NON_VIEWERS]],
        "others_count": len(explanation.non_viewers),
        "runs": RUN_LABELS[explanation.runs],
        "outside_read_only": explanation.runs == "application"
        and not explanation.external_runs_write,
        "grants": [
            _build_grant_row(item, names) for item in grants_page.select_rows(explanation.grants)
        ],
        "grants_page": grants_page,
        "may_share": is_allowed(request, "share", row),
        "verbs": [(verb, VERB_LABELS[verb]) for verb in VERBS],
        "emergency_accesses": list_access_rows(request, row.text)
        if explanation.runs in ("person", "conversation")
        else None,
        "members": _list_members(explanation, principal.user_id),
        "groups": _list_groups(request, row),
    }
    return render(request, "memory/access/sharing.html", context)


@login_required
@require_POST
def share(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = find_namespace(request, namespace_id)
    member, verbs = _find_member(request), _read_verbs(request)
    for verb in verbs:
        services.share(build_caller(request), namespace=row.text, verb=verb, recipient=member)
    if verbs:
        messages.success(request, _("Shared with %(name)s.") % {"name": member})
    else:
        messages.info(request, _("Nothing selected."))
    return redirect("memory:access", namespace_id=row.pk)


@login_required
@require_POST
def unshare(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = find_namespace(request, namespace_id)
    member = _find_member(request)
    for verb in _read_verbs(request):
        services.unshare(build_caller(request), namespace=row.text, verb=verb, recipient=member)
    messages.success(request, _("Revoked access of %(name)s.") % {"name": member})
    return redirect("memory:access", namespace_id=row.pk)


def _read_verbs(request: HttpRequest) -> list[Verb]:
    return [verb for verb in VERBS if verb in request.POST.getlist("verb")]


def _find_member(request: HttpRequest) -> User | TeamGroup:
    """Return the member or group in the parameter ``with``: a user's id, or ``group:`` and a group's id."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    kind, colon, text = request.POST.get("with", "").rpartition(":")
    try:
        member_id = UUID(text)
    except ValueError:
        raise NotFound(_("Member not found.")) from None
    if colon and kind == "group":
        return find_group(principal, team_id, member_id)
    return selectors.find_member(principal, team_id, member_id)


def _build_pager(request: HttpRequest, total: int, parameter: str = "offset") -> OffsetPage:
    offset = read_offset(request.GET, parameter)
    return OffsetPage(total, offset, request.GET, PAGE_SIZE, parameter=parameter)


def _list_members(explanation: AccessExplanation, reader_id: UUID | None) -> list[tuple[UUID, str]]:
    """Return the ids and names of the other members, to whom the reader can grant access."""
    return [
        (member.id, member.name)
        for member in explanation.principals
        if member.kind == "user" and member.id != reader_id
    ]


def _list_groups(request: HttpRequest, row: Namespace) -> list[tuple[UUID, str]]:
    if parse_namespace(row.text).seen_by is not SeenBy.TEAM:
        return []
    principal = get_principal(request)
    team = find_team(principal, "team.view", get_current_team_id(request))
    return list_group_choices(principal, team)


def _load_actor_names(principal: Principal, explanation: AccessExplanation) -> Mapping[str, str]:
    """Return the names of those who granted access, by actor; the reader is “you”."""
    origins = load_provenance(principal, [grant.granted_by for grant in explanation.grants], ())
    return {**origins.actors, principal.actor: _("you")}


def _build_viewer_row(
    viewer: PrincipalAccess, names: Mapping[str, str], reader_id: UUID | None
) -> ViewerRow:
    return ViewerRow(
        viewer.name,
        viewer.kind == "key",
        viewer.id == reader_id,
        str(Role(viewer.role).label) if viewer.role else "",
        tuple(str(VERB_LABELS[verb]) for verb in VERBS if verb in viewer.reasons),
        tuple(dict.fromkeys(_describe_reason(row, viewer, names) for row in viewer.all_reasons)),
        any(reason.kind is AccessReason.EMERGENCY_ACCESS for reason in viewer.all_reasons),
    )


def _describe_reason(reason: Reason, viewer: PrincipalAccess, names: Mapping[str, str]) -> str:
    if reason.kind is AccessReason.ROLE:
        return _describe_role(viewer)
    if reason.grant is not None:
        return _describe_grant(reason.grant, names)
    if (row := reason.emergency_access) is not None:
        parts = {"until": _format_time(row.expires_at), "reason": row.reason}
        return _("Emergency access until %(until)s: %(reason)s") % parts
    return str(_REASON_LABELS[reason.kind])


def _describe_role(viewer: PrincipalAccess) -> str:
    if viewer.kind == "key":
        return _("API key with %(scopes)s") % {"scopes": ", ".join(viewer.scopes)}
    return _("Role: %(role)s") % {"role": Role(viewer.role).label}


def _describe_grant(grant: GrantDetails, names: Mapping[str, str]) -> str:
    parts = {
        "by": names.get(grant.granted_by, _("former member")),
        "when": _format_time(grant.granted_at) if grant.granted_at else "",
        "group": grant.group,
    }
    if grant.group is not None:
        return _("Shared with the group %(group)s by %(by)s on %(when)s") % parts
    return _("Shared by %(by)s on %(when)s") % parts if grant.granted_by else _("Shared with them")


def _build_grant_row(grant: GrantDetails, names: Mapping[str, str]) -> GrantRow:
    return GrantRow(
        str(grant.user or grant.group),
        grant.group is not None,
        grant.verb,
        str(VERB_LABELS[grant.verb]),
        _describe_effect(grant, names),
        format_recipient(grant.user, grant.group),
    )


def _describe_effect(grant: GrantDetails, names: Mapping[str, str]) -> str:
    if not grant.has_effect:
        return _("No effect: private memory can be shared only with single members.")
    return _describe_grant(grant, names) if grant.granted_by else ""


def _format_time(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")
