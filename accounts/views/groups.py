"""Groups of the team's members, to share something with all of them at once."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts import selectors, services
from accounts.access import can
from accounts.errors import InvalidChoice, NameTaken, NotFound
from accounts.models import Membership
from accounts.principals import Principal, current_team_id, principal_of


GROUPS = 20  # a page
MOST_TO_CHOOSE = 100  # members in a list of choices; of more one types the address
LONGEST_ADDRESS = 254  # that is said back


@require_http_methods(["GET", "POST"])
def groups(request: HttpRequest) -> HttpResponse:
    """The list; a POST makes one."""
    principal = principal_of(request)
    verb = "member.manage" if request.method == "POST" else "team.view"
    team = selectors.team_for(principal, verb, current_team_id(request))
    typed, problem = request.POST.get("name", ""), ""
    if request.method == "POST":
        try:
            services.create_group(principal, team=team, name=typed)
        except (InvalidChoice, NameTaken) as fault:
            problem = str(fault)
        else:
            messages.success(request, _("The group was made."))
            return redirect("accounts:groups")
    members = list(selectors.members_of(principal, team))
    named = Paginator(selectors.groups_named(principal, team), GROUPS)
    page = named.get_page(request.GET.get("page"))
    found = selectors.people_in(principal, list(page))
    is_large = len(members) > MOST_TO_CHOOSE
    context = {
        "team": team,
        "page": page,
        "groups": [(one, () if is_large else _outside(members, one)) for one in found],
        "members": [one.user for one in members] if is_large else (),
        "manages": can(principal, "member.manage", team),
        "typed": typed,
        "problem": problem,
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "accounts/groups.html", context, status=422 if problem else 200)


@require_POST
def add(request: HttpRequest, group_id: UUID) -> HttpResponse:
    principal, wanted = principal_of(request), request.POST.get("member", "")
    team_id = current_team_id(request)
    if "@" not in wanted:
        user_id = _uuid(wanted)
    elif (typed := _typed(principal, team_id, group_id, wanted)) is not None:
        user_id = typed
    else:
        said = _("Nobody in the team has this address: %(email)s")
        messages.error(request, said % {"email": wanted[:LONGEST_ADDRESS]})
        return redirect("accounts:groups")
    services.put_in(principal, group_id=group_id, user_id=user_id)
    return redirect("accounts:groups")


@require_POST
def remove(request: HttpRequest, group_id: UUID) -> HttpResponse:
    user_id = _uuid(request.POST.get("member", ""))
    services.take_out(principal_of(request), group_id=group_id, user_id=user_id)
    return redirect("accounts:groups")


@require_POST
def delete(request: HttpRequest, group_id: UUID) -> HttpResponse:
    services.delete_group(principal_of(request), group_id=group_id)
    messages.success(request, _("The group was deleted, and what was shared with it ended."))
    return redirect("accounts:groups")


def _outside(members: list[Membership], one: selectors.GroupOfPeople) -> list[object]:
    inside = {person.pk for person in one.people}
    return [member.user for member in members if member.user_id not in inside]


def _typed(principal: Principal, team_id: UUID, group_id: UUID, email: str) -> UUID | None:
    """Where there are too many to choose from. Who may fill the group learns of a slip; anybody else, what they
    learn of any other address."""
    try:
        return selectors.member_at(principal, team_id, email)
    except NotFound:
        selectors.group_for(principal, team_id, group_id)
        selectors.team_for(principal, "member.manage", team_id)
        return None


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None
