"""The team page with members, roles and invitations, and the page of an invitation link."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts import selectors, services
from accounts.access import can
from accounts.errors import InvalidChoice
from accounts.forms import InvitationForm, RoleForm, SignUpForm, TeamForm
from accounts.http.adapter import INVITATION_IN_SESSION
from accounts.models import Role, Team, User
from accounts.principals import TEAM_IN_SESSION, Principal, get_current_team_id, get_principal


MEMBERS_PER_PAGE = 50
MAX_SEARCH_LENGTH = 200
MAX_QUERY_LENGTH = 2_000  # characters of the query string that a form sends back

# A description of each role; ``accounts.roles`` decides what it may do.
ROLE_DESCRIPTIONS: Mapping[Role, Promise] = {
    Role.OWNER: gettext_lazy("Full access, including renaming the team and appointing owners."),
    Role.ADMIN: gettext_lazy(
        "Everything editors can do, plus members, API keys, model credentials, memory sharing, quotas, and the audit trail."
    ),
    Role.EDITOR: gettext_lazy(
        "Creates, publishes, and runs workflows; stores and forgets shared memories."
    ),
    Role.VIEWER: gettext_lazy("Runs workflows and sees what the team shares."),
}


@require_GET
def team(request: HttpRequest) -> HttpResponse:
    principal = get_principal(request)
    current_team = selectors.find_team(principal, "team.view", get_current_team_id(request))
    return _render_page(request, principal, current_team)


@require_POST
def rename(request: HttpRequest) -> HttpResponse:
    principal = get_principal(request)
    team = selectors.find_team(principal, "team.manage", get_current_team_id(request))
    form = TeamForm(request.POST)
    if not form.is_valid():
        raise InvalidChoice
    services.rename_team(principal, team=team, name=form.cleaned_data["name"])
    return redirect("accounts:team")


@require_POST
def change_role(request: HttpRequest, membership_id: UUID) -> HttpResponse:
    form = RoleForm(request.POST)
    if not form.is_valid():
        raise InvalidChoice
    principal, role = get_principal(request), form.cleaned_data["role"]
    services.change_role(principal, membership_id=membership_id, role=role)
    messages.success(request, _("Role changed."))
    return _redirect_back(request)


@require_POST
def remove(request: HttpRequest, membership_id: UUID) -> HttpResponse:
    services.remove_member(get_principal(request), membership_id=membership_id)
    messages.success(request, _("Member removed."))
    return _redirect_back(request)


@never_cache
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    """Create an invitation and show its link, once."""
    principal = get_principal(request)
    team = selectors.find_team(principal, "member.manage", get_current_team_id(request))
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _render_page(request, principal, team, invitation_form=form, status=422)
    _row, token = services.create_invitation(principal, team=team, **form.cleaned_data)
    link = request.build_absolute_uri(reverse("accounts:invitation", args=[token]))
    return _render_page(request, principal, team, link=link)


@require_POST
def revoke_invitation(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    services.revoke_invitation(get_principal(request), invitation_id=invitation_id)
    messages.success(request, _("Invitation revoked."))
    return redirect("accounts:team")


@never_cache
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation; a POST by a signed-in user accepts it."""
    invitation_row = services.find_invitation(token)
    if request.method == "POST":
        get_principal(request)
        assert isinstance(request.user, User)  # noqa: S101  # get_principal raises for anonymous users
        services.accept_invitation(user=request.user, token=token)
        request.session[TEAM_IN_SESSION] = str(invitation_row.team_id)
        request.session.pop(INVITATION_IN_SESSION, None)
        return redirect("/")
    request.session[INVITATION_IN_SESSION] = token
    context: dict[str, object] = {
        "invitation": invitation_row,
        "role": Role(invitation_row.role).label,
    }
    if not request.user.is_authenticated:
        context["form"] = SignUpForm(initial={"email": invitation_row.email})
    return render(request, "accounts/invitation.html", context)


def _build_members_context(
    request: HttpRequest, principal: Principal, team: Team
) -> dict[str, object]:
    """Return the template context of the requested page of members, which the parameter ``q`` may filter."""
    search = request.GET.get("q", "").strip()[:MAX_SEARCH_LENGTH]
    members = selectors.list_members(principal, team, search=search)
    page = Paginator(members, MEMBERS_PER_PAGE).get_page(request.GET.get("page"))
    query = f"{urlencode({'q': search})}&" if search else ""
    return {
        "page": page,
        "search": search,
        "list_query": query,
        "at": f"{query}page={page.number}" if query or page.number > 1 else "",
    }


def _redirect_back(request: HttpRequest) -> HttpResponse:
    """Redirect to the search and the page of the list of members from which the form was sent."""
    params = QueryDict(request.POST.get("at", "")[:MAX_QUERY_LENGTH])
    query = {name: params[name] for name in ("q", "page") if params.get(name)}
    return redirect(f"{reverse('accounts:team')}?{urlencode(query)}" if query else "accounts:team")


def _render_page(
    request: HttpRequest,
    principal: Principal,
    team: Team,
    *,
    invitation_form: InvitationForm | None = None,
    link: str = "",
    status: int = 200,
) -> HttpResponse:
    manages = can(principal, "member.manage", team)
    owns = can(principal, "member.manage_owners", team)
    roles = [choice for choice in Role.choices if owns or choice[0] != Role.OWNER]
    form = invitation_form or InvitationForm(initial={"role": Role.EDITOR})
    form.fields["role"].choices = roles  # type: ignore[attr-defined]
    context = {
        "team": team,
        **_build_members_context(request, principal, team),
        "invitations": selectors.list_invitations(principal, team) if manages else [],
        "manages": manages,
        "owns": owns,
        "roles": roles,
        "invitation_form": form,
        "link": link,
        "role_descriptions": [
            (label, ROLE_DESCRIPTIONS[Role(value)]) for value, label in Role.choices
        ],
    }
    return render(request, "accounts/team.html", context, status=status)
