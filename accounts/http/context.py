"""What every page shows of the person: their teams, and the one they are working in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.models import Team
from accounts.principals import current_team_id, principal_of
from accounts.selectors import teams_of


def team(request: HttpRequest) -> dict[str, Any]:
    """Lazy, so that fragments don't pay for what they don't show."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"my_teams": [], "current_team": None}
    return {
        "my_teams": SimpleLazyObject(lambda: list(teams_of(principal_of(request)))),
        "current_team": SimpleLazyObject(lambda: _current(request)),
    }


def _current(request: HttpRequest) -> Team | None:
    principal = principal_of(request)
    if not principal.team_ids:
        return None
    return teams_of(principal).filter(pk=current_team_id(request)).first()
