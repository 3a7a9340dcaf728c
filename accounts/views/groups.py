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
from accounts.principals import Principal, get_current_team_id, get_principal


GROUPS_PER_PAGE = 20
MAX_CHOICES = 100  # members in a select box; with more members the address is typed
MAX_EMAIL_LENGTH = 254  # characters of a typed address that an error message repeats


@require_http_methods(["GET", "POST"])
def groups(request: HttpRequest) -> HttpResponse:
    """List the groups; a POST creates one."""
    principal = get_principal(request)
    verb = "member.manage" if request.method == "POST" else "team.view"
    team = selectors.find_team(principal, verb, get_current_team_id(request))
    name, problem = request.POST.get("name", ""), ""
    if request.method == "POST":
        try:
            services.create_group(principal, team=team, name=name)
        except (InvalidChoice, NameTaken) as fault:
            problem = str(fault)
        else:
            messages.success(request, _("Group created."))
            return redirect("accounts:groups")
    members = list(selectors.list_members(principal, team))
    paginator = Paginator(selectors.list_group_rows(principal, team), GROUPS_PER_PAGE)
    page = paginator.get_page(request.GET.get("page"))
    is_large = len(members) > MAX_CHOICES
    context = {
        "team": team,
        "page": page,
        "groups": [
            (row, () if is_large else _list_candidates(members, row))
            for row in selectors.load_group_members(principal, list(page))
        ],
        "members": [row.user for row in members] if is_large else (),
        "manages": can(principal, "member.manage", team),
        "typed": name,
        "problem": problem,
    }
    return render(request, "accounts/groups.html", context, status=422 if problem else 200)


@require_POST
def add(request: HttpRequest, group_id: UUID) -> HttpResponse:
    """Add the member whose id was selected or whose email address was typed."""
    principal, id_or_email = get_principal(request), request.POST.get("member", "")
    team_id = get_current_team_id(request)
    if "@" not in id_or_email:
        user_id = _parse_uuid(id_or_email)
    elif (found_id := _find_typed_member(principal, team_id, group_id, id_or_email)) is not None:
        user_id = found_id
    else:
        message = _("No team member has this email address: %(email)s")
        messages.error(request, message % {"email": id_or_email[:MAX_EMAIL_LENGTH]})
        return redirect("accounts:groups")
    services.add_to_group(principal, group_id=group_id, user_id=user_id)
    return redirect("accounts:groups")


@require_POST
def remove(request: HttpRequest, group_id: UUID) -> HttpResponse:
    user_id = _parse_uuid(request.POST.get("member", ""))
    services.remove_from_group(get_principal(request), group_id=group_id, user_id=user_id)
    return redirect("accounts:groups")


@require_POST
def delete(request: HttpRequest, group_id: UUID) -> HttpResponse:
    services.delete_group(get_principal(request), group_id=group_id)
    messages.success(request, _("Group deleted. Access through this group has ended."))
    return redirect("accounts:groups")


def _list_candidates(members: list[Membership], group: selectors.GroupOfPeople) -> list[object]:
    ids = {person.pk for person in group.people}
    return [member.user for member in members if member.user_id not in ids]


def _find_typed_member(
    principal: Principal, team_id: UUID, group_id: UUID, email: str
) -> UUID | None:
    """Return the account id of the member with the typed address, or None if no member has it.

    For users who may not add members to the group, raise ``NotFound`` or ``NotAllowed`` instead of returning None, as
    adding a member does, so that they don't learn which addresses exist.
    """
    try:
        return selectors.find_member_by_email(principal, team_id, email)
    except NotFound:
        selectors.find_group(principal, team_id, group_id)
        selectors.find_team(principal, "member.manage", team_id)
        return None


def _parse_uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None
