"""Template context of every page: the user's teams and the current team."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.http.adapter import find_pending_invitation
from accounts.models import Team
from accounts.principals import get_current_team_id, get_principal
from accounts.selectors import list_teams


def team(request: HttpRequest) -> dict[str, Any]:
    """Return the teams, or a visitor's invitation, as lazy values: fragments that don't use them need no query."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        invitation = SimpleLazyObject(lambda: find_pending_invitation(request))
        return {"my_teams": [], "current_team": None, "pending_invitation": invitation}
    return {
        "my_teams": SimpleLazyObject(lambda: list(list_teams(get_principal(request)))),
        "current_team": SimpleLazyObject(lambda: _find_current_team(request)),
    }


def _find_current_team(request: HttpRequest) -> Team | None:
    principal = get_principal(request)
    if not principal.team_ids:
        return None
    return list_teams(principal).filter(pk=get_current_team_id(request)).first()
