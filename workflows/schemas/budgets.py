"""Request and response schemas of limits."""

from typing import Annotated, Any
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example
from workflows.services.budgets.limits import RunLimits
from workflows.services.budgets.report import Budget


LimitValue = Annotated[int, Field(ge=1, le=10**15)]


class BudgetLimitsIn(Body):
    model_config = with_example(runs_per_day=1_000, tokens_per_day=2_000_000)

    runs_per_day: LimitValue | None = None
    concurrent_runs: LimitValue | None = None
    tokens_per_day: LimitValue | None = None
    code_seconds_per_day: LimitValue | None = None

    def to_limits(self) -> RunLimits:
        return RunLimits(**self.dict())


class LimitsOut(Schema):
    runs_per_day: int | None
    concurrent_runs: int | None
    tokens_per_day: int | None
    code_seconds_per_day: int | None


class BudgetUseOut(Schema):
    runs_per_day: int
    concurrent_runs: int
    tokens_per_day: int
    code_seconds_per_day: int


class BudgetOut(Schema):
    limits: LimitsOut = Field(description="that hold; null is no limit")
    use: BudgetUseOut = Field(description="today, in UTC; of concurrent_runs now")


class KeyBudgetOut(BudgetOut):
    key: UUID
    name: str
    requests_per_minute: int | None


class BudgetsOut(Schema):
    team: BudgetOut | None = Field(description="for those who may view the usage of all members")
    keys: list[KeyBudgetOut] = Field(description="keys with limits of their own; a key gets itself")


def serialize_budget(budget: Budget) -> dict[str, Any]:
    values: dict[str, Any] = {"limits": budget.limits, "use": budget.use}
    if budget.key is not None:
        key = budget.key
        values |= {
            "key": key.pk,
            "name": key.name,
            "requests_per_minute": key.requests_per_minute,
        }
    return values
