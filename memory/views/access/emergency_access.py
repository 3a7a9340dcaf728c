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
from accounts.principals import current_team_id, principal_of
from accounts.selectors import members_of, team_for
from memory import naming
from memory.core.errors import InvalidInput, NotFound
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import parse_namespace
from memory.models import Entry, Glass
from memory.models.glass import VERB
from memory.services import glass as services
from memory.services.glass import LONGEST_REASON, MINUTES, GlassPage, Looked
from memory.services.private import people_remembered
from memory.templatetags.memory_glass import unseen_by
from memory.views.asking import caller_of
from memory.views.paging import PAGE_SIZE, OffsetPage, offset_in


NONE: Final = GlassPage([], 0, 0)


@dataclass(frozen=True, slots=True)
class Shown:
    """``entries``: keys of what was looked at one by one, for those whose it is."""

    glass: Glass
    title: str
    looked: Looked
    is_theirs: bool
    is_mine: bool
    entries: tuple[Entry, ...]
    unseen: bool


@login_required
@require_http_methods(["GET", "POST"])
def glass(request: HttpRequest) -> HttpResponse:
    """The list; a POST breaks the glass and goes where it lets one look."""
    problem = ""
    if request.method == "POST":
        try:
            made = services.break_glass(caller_of(request), **_asked(request))
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
    return render(request, "memory/_glass_fetched.html")


@login_required
@require_POST
def end(request: HttpRequest, glass_id: UUID) -> HttpResponse:
    services.end_glass(caller_of(request), glass_id=glass_id)
    messages.success(request, _("The emergency access has ended."))
    return redirect("memory:glass")


@login_required
@require_POST
def seen(request: HttpRequest, glass_id: UUID) -> HttpResponse:
    services.acknowledge(caller_of(request), glass_id=glass_id)
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        return redirect(target)
    return redirect("memory:glass")


def shown(request: HttpRequest, namespace: str | None = None) -> list[Shown]:
    """Those the reader may see, with what was read under each."""
    return _shown(request, services.glasses(caller_of(request), namespace=namespace))


def _shown(request: HttpRequest, found: list[Glass]) -> list[Shown]:
    principal = principal_of(request)
    read = services.what_was_read(found)
    titles = naming.named([one.namespace for one in found], reader_id=principal.user_id)
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


def _told_or_not(made: Glass) -> str:
    if made.tells_somebody:
        return _("You may look now; they have been told.")
    return _(
        "You may look now. They have no account here to be told by; the audit trail keeps it, and the key"
        " that names them is shown it."
    )


def _title(named: naming.Named, *, may_know: bool) -> str:
    """What a conversation began with is nobody's but theirs who may look into it."""
    row = named.row
    if may_know or parse_namespace(row.text).seen_by is SeenBy.PERSON:
        return named.title
    return f"{row.get_scope_display()} {row.text.rpartition(':')[2]}"


def _page(request: HttpRequest, problem: str) -> HttpResponse:
    principal, team_id = principal_of(request), current_team_id(request)
    may_break = access.can(principal, VERB, team_id)
    mine = _turned(request, "mine", into_own=True)
    others = _turned(request, "offset", into_own=False) if may_break else NONE
    rows = _shown(request, [*mine.glasses, *others.glasses])
    context: dict[str, Any] = {  # Any: what a template takes
        "into_mine": rows[: len(mine.glasses)],
        "mine_page": _pager(request, mine, "mine"),
        "others": rows[len(mine.glasses) :],
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
    return render(request, "memory/access_glass.html", context, status=422 if problem else 200)


def _turned(request: HttpRequest, parameter: str, *, into_own: bool) -> GlassPage:
    """Where the address has turned one of the two lists to."""
    start = offset_in(request.GET, parameter)
    return services.glass_page(caller_of(request), into_own=into_own, limit=PAGE_SIZE, offset=start)


def _pager(request: HttpRequest, page: GlassPage, parameter: str) -> OffsetPage:
    return OffsetPage(page.total, page.offset, request.GET, parameter=parameter)


def _others(request: HttpRequest, team_id: UUID) -> list[Any]:
    principal = principal_of(request)
    members = members_of(principal, team_for(principal, "team.view", team_id))
    return [one.user for one in members if one.user_id != principal.user_id]


def _offered(request: HttpRequest) -> list[naming.Named]:
    """Those who are no members; by a name that is typed, where a list of members would not show them."""
    found = [row for row in people_remembered(caller_of(request)) if row.owner_user_id is None]
    return naming.named(found, reader_id=principal_of(request).user_id)


def _asked(request: HttpRequest) -> dict[str, Any]:
    person, typed = request.POST.get("person", ""), request.POST.get("namespace", "").strip()
    if bool(person) == bool(typed):
        raise InvalidInput(_("Choose a member, or write a namespace; one of the two."))
    minutes = request.POST.get("minutes", "")
    return {
        "namespace": typed or f"user:{person}",
        "reason": request.POST.get("reason", ""),
        "minutes": int(minutes) if minutes.isdecimal() and len(minutes) < 5 else 0,
    }
