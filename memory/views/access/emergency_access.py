"""Pages of emergency access: notices about one's own memory, starting and ending an access."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import access
from accounts.principals import get_current_team_id, get_principal
from accounts.selectors import find_team, list_members
from accounts.views.pagination import PAGE_SIZE, OffsetPage, read_offset
from memory.core.errors import InvalidInput, NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import normalize_namespace, parse_namespace
from memory.models import EmergencyAccess, Entry
from memory.models.emergency_access import EMERGENCY_VERB
from memory.naming import NamedNamespace
from memory.services.access import emergency_access as services
from memory.services.access.emergency_access import EmergencyAccessPage, ReadSummary
from memory.services.access.private_namespaces import list_hidden_people
from memory.templatetags.memory_emergency_access import list_unseen_accesses
from memory.views.request_context import build_caller, name_namespaces


PEOPLE: Final = "people"  # the parameter of their list's page
EMPTY_PAGE: Final = EmergencyAccessPage([], 0, 0)


@dataclass(frozen=True, slots=True)
class AccessRow:
    """A row of the list; ``entries`` are those that were opened one by one and that the reader may see."""

    emergency_access: EmergencyAccess
    title: str
    reads: ReadSummary
    is_notified: bool
    is_mine: bool
    entries: tuple[Entry, ...]
    is_unseen: bool


@login_required
@require_http_methods(["GET", "POST"])
def show_emergency_access(request: HttpRequest) -> HttpResponse:
    """Show the list. A POST starts an emergency access and redirects to the namespace it opens."""
    problem = ""
    if request.method == "POST":
        try:
            started = services.start_emergency_access(build_caller(request), **_read_form(request))
        except (InvalidInput, NotFound) as fault:
            problem = str(fault)
        else:
            messages.success(request, _describe_notification(started))
            return redirect("memory:namespace", namespace_id=started.namespace_id)
    return _render_page(request, problem)


@login_required
@require_safe
def show_notices(request: HttpRequest) -> HttpResponse:
    """Render only the notice, which every page loads at its top."""
    if not list_unseen_accesses(request):
        return HttpResponse(status=204)
    return render(request, "memory/access/_emergency_access_fragment.html")


@login_required
@require_POST
def end_access(request: HttpRequest, access_id: UUID) -> HttpResponse:
    services.end_emergency_access(build_caller(request), access_id=access_id)
    messages.success(request, _("Emergency access ended."))
    return redirect("memory:emergency_access")


@login_required
@require_POST
def acknowledge(request: HttpRequest, access_id: UUID) -> HttpResponse:
    services.acknowledge(build_caller(request), access_id=access_id)
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        return HttpResponseRedirect(target)
    return redirect("memory:emergency_access")


def list_access_rows(request: HttpRequest, namespace: str) -> list[AccessRow]:
    """Return the accesses to a namespace that the reader may see, with what was read under each."""
    rows = services.list_emergency_accesses(build_caller(request), namespace=namespace)
    return _build_rows(request, rows)


def _build_rows(request: HttpRequest, rows: list[EmergencyAccess]) -> list[AccessRow]:
    principal, reads = get_principal(request), services.summarize_reads(rows)
    notified_ids = {row.pk for row in rows if services.is_notified(principal, row)}
    entry_ids = [entry for row in rows if row.pk in notified_ids for entry in reads[row.pk].entries]
    entries = services.load_visible_entries(principal, entry_ids)
    names = name_namespaces(request, [row.namespace for row in rows])
    result = []
    for row, name in zip(rows, names, strict=True):
        is_notified, is_mine = row.pk in notified_ids, row.by_id == principal.user_id
        result.append(
            AccessRow(
                row,
                _format_title(name, may_know=is_notified or is_mine),
                reads[row.pk],
                is_notified,
                is_mine,
                tuple(entries[pk] for pk in reads[row.pk].entries if pk in entries),
                is_unseen=is_notified and principal.user_id not in row.seen_by,
            )
        )
    return result


def _describe_notification(emergency_access: EmergencyAccess) -> str:
    if emergency_access.notifies_owner:
        return _("Access granted. The user was notified.")
    return _(
        "Access granted. The user has no account and can't be notified; the access is in the audit trail and visible to their API key."
    )


def _format_title(namespace: NamedNamespace, *, may_know: bool) -> str:
    """Return the title of the namespace. A conversation is named by its first words only if the reader may know them."""
    row = namespace.row
    if may_know or parse_namespace(row.text).seen_by is SeenBy.PERSON:
        return namespace.title
    return f"{row.get_scope_display()} {row.text.rpartition(':')[2]}"


def _render_page(request: HttpRequest, problem: str) -> HttpResponse:
    principal, team_id = get_principal(request), get_current_team_id(request)
    can_start = access.can(principal, EMERGENCY_VERB, team_id)
    own_page = _load_page(request, "mine", own_memory=True)
    other_page = _load_page(request, "offset", own_memory=False) if can_start else EMPTY_PAGE
    rows = _build_rows(request, [*own_page.emergency_accesses, *other_page.emergency_accesses])
    own_count = len(own_page.emergency_accesses)
    people = _list_external_people(request) if can_start else []
    people_page = OffsetPage(
        len(people), read_offset(request.GET, PEOPLE), request.GET, parameter=PEOPLE
    )
    context: dict[str, Any] = {  # Any: what a template takes
        "own_accesses": rows[:own_count],
        "own_page": _build_pager(request, own_page, "mine"),
        "others": rows[own_count:],
        "others_page": _build_pager(request, other_page, "offset"),
        "can_start": can_start,
        "members": _list_other_members(request, team_id) if can_start else [],
        "people": people,
        "listed_people": people_page.select_rows(people),
        "people_page": people_page,
        "minutes": services.MINUTES,
        "max_reason_length": services.MAX_REASON_LENGTH,
        "problem": problem,
        "form": request.POST or request.GET,
    }
    status = 422 if problem else 200
    return render(request, "memory/access/emergency_access.html", context, status=status)


def _load_page(request: HttpRequest, parameter: str, *, own_memory: bool) -> EmergencyAccessPage:
    """Load the page of one of the two lists that the query parameter selects."""
    return services.load_emergency_access_page(
        build_caller(request),
        own_memory=own_memory,
        limit=PAGE_SIZE,
        offset=read_offset(request.GET, parameter),
    )


def _build_pager(request: HttpRequest, page: EmergencyAccessPage, parameter: str) -> OffsetPage:
    return OffsetPage(page.total, page.offset, request.GET, parameter=parameter)


def _list_other_members(request: HttpRequest, team_id: UUID) -> list[Any]:
    principal = get_principal(request)
    members = list_members(principal, find_team(principal, "team.view", team_id))
    return [member.user for member in members if member.user_id != principal.user_id]


def _list_external_people(request: HttpRequest) -> list[NamedNamespace]:
    """Return the external and test users with memory, because the list of members lacks them."""
    people = [row for row in list_hidden_people(build_caller(request)) if row.owner_user_id is None]
    return name_namespaces(request, people)


def _read_form(request: HttpRequest) -> dict[str, Any]:
    """Return the arguments of the service; raise InvalidInput unless either a member or a namespace is given."""
    person, namespace = request.POST.get("person", ""), request.POST.get("namespace", "").strip()
    if bool(person) == bool(namespace):
        raise InvalidInput(_("Select a member or enter a namespace, not both."))
    minutes = request.POST.get("minutes", "")
    return {
        "namespace": normalize_namespace(namespace or f"user:{person}"),
        "reason": request.POST.get("reason", ""),
        "minutes": int(minutes) if minutes.isdecimal() and len(minutes) < 5 else 0,
    }
