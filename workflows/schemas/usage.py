"""Request and response schemas of usage."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from workflows.execution.usage.numbers import Numbers
from workflows.services.usage.labels import find_subject
from workflows.services.usage.report import (
    DEFAULT_DAYS,
    MAX_DAYS,
    NO_CHANNEL,
    NO_KEY,
    Dimension,
    Selection,
    get_today,
)


_FIELDS = (
    *("count", "failed", "stopped", "error_rate", "average_latency", "median_latency"),
    *("p95_latency", "calls", "prompt_tokens", "completion_tokens", "cost", "unpriced_calls"),
    *("liked", "disliked"),
)


class UsageQuery(Schema):
    """``since`` and ``until`` are days in UTC, both included; the last 30 days by default, at most 366."""

    since: date | None = None
    until: date | None = None
    by: Dimension = "workflow"
    workflow: UUID | None = None
    key: Annotated[
        UUID | Literal["-"] | None, Field(description="- stands for runs without an API key.")
    ] = None
    person: Annotated[str, Field(max_length=255)] = ""
    channel: Annotated[
        str,
        Field(
            max_length=12,
            description="As in a run: page, api, openai, dify, mcp and so on. - stands for runs without one.",
        ),
    ] = ""
    model: Annotated[
        str, Field(max_length=511, description="Provider and name, such as openai/gpt-4o-mini.")
    ] = ""
    own: bool = False

    def build_selection(self, team_id: UUID) -> Selection:
        until = self.until or get_today()
        since = min(self.since or until - timedelta(days=DEFAULT_DAYS - 1), until)
        provider, has_model, model = self.model.partition("/")
        selection = Selection(
            team_id,
            max(since, until - timedelta(days=MAX_DAYS - 1)),
            until,
            workflow_id=self.workflow,
            key=NO_KEY if self.key == NO_KEY else self.key,
            channel=("" if self.channel == NO_CHANNEL else self.channel) if self.channel else None,
            model=(provider, model) if has_model else None,
            is_own=self.own,
        )
        subject = find_subject(selection, self.person) if self.person else None
        return replace(selection, subject=subject)


class NumbersOut(Schema):
    """Latencies are in seconds, percentiles estimated; ``cost`` is in USD. ``count`` counts runs, or calls by model."""

    count: int
    failed: int
    stopped: int
    error_rate: float | None
    average_latency: float | None
    median_latency: float | None
    p95_latency: float | None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    unpriced_calls: int
    liked: int
    disliked: int


class DayOut(NumbersOut):
    day: date


class RowOut(NumbersOut):
    """``id`` of a hidden external user is a code that the filter ``person`` accepts."""

    id: str
    name: str


class UsageOut(Schema):
    since: date
    until: date
    total: NumbersOut
    days: list[DayOut]
    items: list[RowOut]


def serialize_numbers(numbers: Numbers) -> dict[str, Any]:
    return {name: getattr(numbers, name) for name in _FIELDS}
