"""Emergency access: what happened to one's own memory, asking for it, ending it."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import access
from accounts.principals import get_current_team_id, get_principal
from accounts.selectors import find_team, list_members
from memory import naming
from memory.core.errors import InvalidInput, NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import parse_namespace
from memory.models import EmergencyAccess, Entry
from memory.models.emergency_access import VERB
from memory.services.access import emergency_access as services
from memory.services.access.emergency_access import (
    LONGEST_REASON,
    MINUTES,
    EmergencyAccessPage,
    Looked,
)
from memory.services.access.private_namespaces import people_remembered
from memory.templatetags.memory_emergency_access import unseen_by
from memory.views.pagination import PAGE_SIZE, OffsetPage, offset_in
from memory.views.request_context import caller_of


NONE: Final = EmergencyAccessPage([], 0, 0)


@dataclass(frozen=True, slots=True)
class Shown:
    """``entries``: keys of what was looked at one by one, for those whose it is."""

    emergency_access: EmergencyAccess
    title: str
    looked: Looked
    is_theirs: bool
    is_mine: bool
    entries: tuple[Entry, ...]
    unseen: bool


@login_required
@require_http_methods(["GET", "POST"])
def emergency_access(request: HttpRequest) -> HttpResponse:
    """The list; a POST starts an emergency access and goes where it lets one look."""
    problem = ""
    if request.method == "POST":
        try:
            made = services.start_emergency_access(caller_of(request), **_asked(request))
        except (InvalidInput, NotFound) as fault:
            problem = str(fault)
        else:
            messages.success(request, _told_or_not(made))
            return redirect("memory:namespace", namespace_id=made.namespace_id)
    return _page(request, problem)


@login_required
@require_safe
def notices(request: HttpRequest) -> HttpResponse:
    """The notice alone, which any page fetches for its top."""
    if not unseen_by(request):
        return HttpResponse(status=204)
    return render(request, "memory/access/_emergency_access_fragment.html")


@login_required
@require_POST
def end(request: HttpRequest, access_id: UUID) -> HttpResponse:
    services.end_emergency_access(caller_of(request), access_id=access_id)
    messages.success(request, _("Emergency access ended."))
    return redirect("memory:emergency_access")


@login_required
@require_POST
def seen(request: HttpRequest, access_id: UUID) -> HttpResponse:
    services.acknowledge(caller_of(request), access_id=access_id)
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        return redirect(target)
    return redirect("memory:emergency_access")


def shown(request: HttpRequest, namespace: str | None = None) -> list[Shown]:
    """Those the reader may see, with what was read under each."""
    return _shown(
        request, services.list_emergency_accesses(caller_of(request), namespace=namespace)
    )


def _shown(request: HttpRequest, found: list[EmergencyAccess]) -> list[Shown]:
    principal = get_principal(request)
    read = services.what_was_read(found)
    titles = naming.name_namespaces([one.namespace for one in found], reader_id=principal.user_id)
    theirs = {one.pk: services.is_told(principal, one) for one in found}
    ids = [entry for one in found if theirs[one.pk] for entry in read[one.pk].entries]
    keys = services.entries_named(principal, ids)
    return [
        Shown(
            one,
            _title(named, may_know=theirs[one.pk] or one.by_id == principal.user_id),
            read[one.pk],
            theirs[one.pk],
            one.by_id == principal.user_id,
            tuple(keys[entry] for entry in read[one.pk].entries if entry in keys),
            theirs[one.pk] and principal.user_id not in one.seen_by,
        )
        for one, named in zip(found, titles, strict=True)
    ]


def _told_or_not(made: EmergencyAccess) -> str:
    if made.tells_somebody:
        return _("Access granted. The user was notified.")
    return _(
        "Access granted. The user has no account and can't be notified; the access is in the audit trail and visible to their API key."
    )


def _title(named: naming.NamedNamespace, *, may_know: bool) -> str:
    """What a conversation began with is nobody's but theirs who may look into it."""
    row = named.row
    if may_know or parse_namespace(row.text).seen_by is SeenBy.PERSON:
        return named.title
    return f"{row.get_scope_display()} {row.text.rpartition(':')[2]}"


def _page(request: HttpRequest, problem: str) -> HttpResponse:
    principal, team_id = get_principal(request), get_current_team_id(request)
    may_break = access.can(principal, VERB, team_id)
    mine = _turned(request, "mine", into_own=True)
    others = _turned(request, "offset", into_own=False) if may_break else NONE
    rows = _shown(request, [*mine.emergency_accesses, *others.emergency_accesses])
    context: dict[str, Any] = {  # Any: what a template takes
        "into_mine": rows[: len(mine.emergency_accesses)],
        "mine_page": _pager(request, mine, "mine"),
        "others": rows[len(mine.emergency_accesses) :],
        "others_page": _pager(request, others, "offset"),
        "may_break": may_break,
        "members": _others(request, team_id) if may_break else [],
        "people": _offered(request) if may_break else [],
        "minutes": MINUTES,
        "longest": LONGEST_REASON,
        "problem": problem,
        "asked": request.POST,
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(
        request, "memory/access/emergency_access.html", context, status=422 if problem else 200
    )


def _turned(request: HttpRequest, parameter: str, *, into_own: bool) -> EmergencyAccessPage:
    """Where the address has turned one of the two lists to."""
    start = offset_in(request.GET, parameter)
    return services.load_emergency_access_page(
        caller_of(request), into_own=into_own, limit=PAGE_SIZE, offset=start
    )


def _pager(request: HttpRequest, page: EmergencyAccessPage, parameter: str) -> OffsetPage:
    return OffsetPage(page.total, page.offset, request.GET, parameter=parameter)


def _others(request: HttpRequest, team_id: UUID) -> list[Any]:
    principal = get_principal(request)
    members = list_members(principal, find_team(principal, "team.view", team_id))
    return [one.user for one in members if one.user_id != principal.user_id]


def _offered(request: HttpRequest) -> list[naming.NamedNamespace]:
    """Those who are no members; by a name that is typed, where a list of members would not show them."""
    found = [row for row in people_remembered(caller_of(request)) if row.owner_user_id is None]
    return naming.name_namespaces(found, reader_id=get_principal(request).user_id)


def _asked(request: HttpRequest) -> dict[str, Any]:
    person, typed = request.POST.get("person", ""), request.POST.get("namespace", "").strip()
    if bool(person) == bool(typed):
        raise InvalidInput(_("Select a member or enter a namespace, not both."))
    minutes = request.POST.get("minutes", "")
    return {
        "namespace": typed or f"user:{person}",
        "reason": request.POST.get("reason", ""),
        "minutes": int(minutes) if minutes.isdecimal() and len(minutes) < 5 else 0,
    }
