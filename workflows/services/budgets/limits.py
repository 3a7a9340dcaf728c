"""The limits that hold: those of the installation, which an owner can lower for the team, and those of each API key."""

from dataclasses import dataclass, fields
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from accounts import audit
from accounts.access import Principal, check
from accounts.models import Team
from accounts.models.limits import LIMITS, Limited
from accounts.tenancy import tenant
from workflows.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of one team or key. None is no limit."""

    runs_per_day: int | None = None
    concurrent_runs: int | None = None
    tokens_per_day: int | None = None
    code_seconds_per_day: int | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(self))


def get_installation_limits() -> RunLimits:
    return RunLimits(**settings.TEAM_LIMITS)


def find_team_limits(team: Limited) -> RunLimits:
    """Return the lower one of the installation's and the team's own limits."""
    installation, team_limits = get_installation_limits(), find_own_limits(team)
    return RunLimits(**{name: _choose_lower(name, installation, team_limits) for name in LIMITS})


def find_own_limits(holder: Limited) -> RunLimits:
    return RunLimits(**{name: getattr(holder, name) for name in LIMITS})


def set_team_limits(principal: Principal, team_id: UUID, limits: RunLimits) -> Team:
    """Set the limits of the team. Raise InvalidValue for one above that of the installation."""
    check(principal, "team.limit", team_id)
    installation = get_installation_limits()
    for name in LIMITS:
        value, highest = getattr(limits, name), getattr(installation, name)
        if value is not None and value < 1:
            raise InvalidValue(_("Enter 1 or more, or leave it empty for no limit."), field=name)
        if value is not None and highest is not None and value > highest:
            message = _("This installation allows %(limit)s at most.")
            raise InvalidValue(message % {"limit": highest}, field=name)
    with tenant([team_id]):
        team = Team.objects.select_for_update(no_key=True).get(pk=team_id)
        changes = {name: getattr(limits, name) for name in LIMITS}
        changed = {name: value for name, value in changes.items() if getattr(team, name) != value}
        for name, value in changed.items():
            setattr(team, name, value)
        if changed:
            team.save(update_fields=[*changed])
            audit.record_action(
                principal, team_id, "team.limits_changed", f"team:{team_id}", **changed
            )
    return team


def _choose_lower(name: str, installation: RunLimits, team_limits: RunLimits) -> int | None:
    values = [getattr(installation, name), getattr(team_limits, name)]
    return min((value for value in values if value is not None), default=None)
