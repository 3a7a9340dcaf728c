"""Refuses a run whose team or API key has used up a limit. A run that has begun is never ended by a limit.

The numbers are in PostgreSQL, in the transaction of the start. So a limit holds while the broker is away, unlike the
limit of requests: a request too many costs little, but a budget is money.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from accounts.access import Principal
from accounts.models import ApiKey, Team
from accounts.principals import get_key_id
from workflows.errors import BudgetExceeded
from workflows.execution.usage.counting import count_new
from workflows.services.budgets import use
from workflows.services.budgets.limits import RunLimits, find_own_limits, find_team_limits
from workflows.services.budgets.wording import describe_refusal


SECONDS_UNTIL_RUNS_END: Final = 5  # when to try again if too many runs are active

# From usage, which counts runs after their end. The order is that of the messages.
SUMS: Final[dict[str, Callable[[UUID, UUID | None], int]]] = {
    "tokens_per_day": use.sum_tokens,
    "code_seconds_per_day": use.sum_code_seconds,
}


@dataclass(frozen=True, slots=True)
class _Budget:
    team_id: UUID
    key_id: UUID | None  # None: of the team
    limits: RunLimits


def reserve_start(principal: Principal, team_id: UUID) -> None:
    """Count a start for the team and the key, where they have limits. Raise ``BudgetExceeded`` if one is reached.

    Call it in the transaction that creates the run, before the run: a refusal takes the count back.
    """
    budgets = _find_budgets(team_id, get_key_id(principal))
    if any(getattr(budget.limits, name) is not None for budget in budgets for name in SUMS):
        count_new(team_id)
    for budget in budgets:
        _check_budget(budget)


def has_tokens_left(principal: Principal, team_id: UUID) -> bool:
    """Return whether the team and the key may use more tokens today, for a call of a model that belongs to no run."""
    budgets = _find_budgets(team_id, get_key_id(principal))
    limited = [budget for budget in budgets if budget.limits.tokens_per_day is not None]
    if limited:
        count_new(team_id)
    return all(
        use.sum_tokens(team_id, budget.key_id) < (budget.limits.tokens_per_day or 0)
        for budget in limited
    )


def _find_budgets(team_id: UUID, key_id: UUID | None) -> list[_Budget]:
    """Return the budgets with any limit, the team's first, so that all starts lock in one order."""
    if key_id is None:
        budgets = [_Budget(team_id, None, find_team_limits(Team.objects.get(pk=team_id)))]
    else:
        key = ApiKey.objects.unscoped().select_related("team").get(pk=key_id)
        budgets = [
            _Budget(team_id, None, find_team_limits(key.team)),
            _Budget(team_id, key_id, find_own_limits(key)),
        ]
    return [budget for budget in budgets if budget.limits]


def _check_budget(budget: _Budget) -> None:
    team_id, key_id, limits = budget.team_id, budget.key_id, budget.limits
    starts = use.count_start(team_id, key_id)  # locks the budget
    if limits.runs_per_day is not None and starts > limits.runs_per_day:
        _refuse(budget, "runs_per_day", _get_seconds_until_midnight())
    active = limits.concurrent_runs
    if active is not None and use.count_active_runs(team_id, key_id) >= active:
        _refuse(budget, "concurrent_runs", SECONDS_UNTIL_RUNS_END)
    for name, add_up in SUMS.items():
        limit = getattr(limits, name)
        if limit is not None and add_up(team_id, key_id) >= limit:
            _refuse(budget, name, _get_seconds_until_midnight())


def _refuse(budget: _Budget, name: str, seconds: int) -> None:
    limit = getattr(budget.limits, name)
    sentence = describe_refusal(name, limit, is_key=budget.key_id is not None)
    raise BudgetExceeded(sentence, retry_after=seconds)


def _get_seconds_until_midnight() -> int:
    now = timezone.now().astimezone(UTC)
    midnight = datetime.combine(now.date() + timedelta(days=1), time.min, UTC)
    return int((midnight - now).total_seconds()) + 1
