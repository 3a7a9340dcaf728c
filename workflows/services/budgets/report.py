"""Shows what a team and its API keys have used today beside their limits."""

from dataclasses import dataclass
from uuid import UUID

from accounts.access import Principal, can, check
from accounts.models import ApiKey, Team
from accounts.models.limits import LIMITS
from accounts.principals import get_key_id
from accounts.tenancy import reading
from workflows.execution.usage.counting import count_new
from workflows.services.budgets.limits import RunLimits, find_own_limits, find_team_limits
from workflows.services.budgets.use import Use, load_use


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a team or a key, and its use today. ``own_limits`` are those that can be edited."""

    limits: RunLimits
    use: Use
    own_limits: RunLimits
    key: ApiKey | None = None

    def is_reached(self, name: str) -> bool:
        limit: int | None = getattr(self.limits, name)
        return limit is not None and getattr(self.use, name) >= limit


def load_team_budget(principal: Principal, team_id: UUID) -> Budget:
    """Return the budget of the whole team, for those who see its usage."""
    check(principal, "usage.view", team_id)
    count_new(team_id)
    with reading([team_id]):
        team = Team.objects.get(pk=team_id)
        return Budget(find_team_limits(team), load_use(team_id), find_own_limits(team))


def list_key_budgets(principal: Principal, team_id: UUID) -> list[Budget]:
    """Return the budgets of the keys that have limits: all to those who see the team's usage, to a key its own."""
    check(principal, "run.view", team_id)
    sees_all = can(principal, "usage.view", team_id)
    key_id = get_key_id(principal)
    count_new(team_id)
    with reading([team_id]):
        keys = ApiKey.objects.visible_to(principal).filter(team_id=team_id, revoked_at=None)
        keys = (
            keys.order_by("name", "id")
            if sees_all
            else keys.filter(pk__in=[key_id] if key_id else [])
        )
        return [_load_key_budget(key) for key in keys if _has_limits(key)]


def _load_key_budget(key: ApiKey) -> Budget:
    limits = find_own_limits(key)
    return Budget(limits, load_use(key.team_id, key.pk), limits, key)


def _has_limits(key: ApiKey) -> bool:
    names = (*LIMITS, "requests_per_minute")
    return any(getattr(key, name) is not None for name in names)
