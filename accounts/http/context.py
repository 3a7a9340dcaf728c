"""Template context of every page: the user's teams and the current team."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.http.adapter import find_pending_invitation
from accounts.models import Team
from accounts.principals import get_current_team_id, get_principal
from accounts.selectors import list_teams


_TEAMS: Final = "_teams"  # the attribute of a request


def team(request: HttpRequest) -> dict[str, Any]:
    """Return the teams, or a visitor's invitation, as lazy values: fragments that don't use them need no query."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        invitation = SimpleLazyObject(lambda: find_pending_invitation(request))
        return {"my_teams": [], "current_team": None, "pending_invitation": invitation}
    return {
        "my_teams": SimpleLazyObject(lambda: _load_teams(request)),
        "current_team": SimpleLazyObject(lambda: _find_current_team(request)),
    }


def _load_teams(request: HttpRequest) -> Sequence[Team]:
    """Return the user's teams, which are read once per request: a page may render several templates."""
    teams: Sequence[Team] | None = getattr(request, _TEAMS, None)
    if teams is None:
        teams = list(list_teams(get_principal(request)))
        setattr(request, _TEAMS, teams)
    return teams


def _find_current_team(request: HttpRequest) -> Team | None:
    if not get_principal(request).team_ids:
        return None
    team_id = get_current_team_id(request)
    return next((team for team in _load_teams(request) if team.pk == team_id), None)
