"""Reads usage: totals, days and breakdowns of a period. ``execution.usage.numbers`` defines the numbers.

Who may view the team's usage sees all of it. Other members see what they ran themselves, or what was run for them; an
API key sees what it started.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.access import Principal, can, check
from accounts.models import ApiKey
from accounts.personas import find_player
from accounts.principals import get_service_account_id
from accounts.tenancy import reading
from workflows.execution.usage.counting import count_new
from workflows.execution.usage.numbers import NO_LATENCY, Latencies, Numbers
from workflows.models import Feedback, ModelUsage, Run, RunUsage
from workflows.models.reports.feedback import Rating


Dimension = Literal["workflow", "key", "person", "channel", "model"]
DIMENSIONS: Final[tuple[Dimension, ...]] = ("workflow", "key", "person", "channel", "model")
MAX_DAYS: Final = 366
DEFAULT_DAYS: Final = 30
NO_KEY: Final = "-"
NO_CHANNEL: Final = "-"

_FIELDS: Final[dict[Dimension, tuple[str, ...]]] = {
    "workflow": ("workflow_id",),
    "key": ("api_key_id",),
    "person": ("subject",),
    "channel": ("channel",),
    "model": ("provider", "model"),
}
_RUN_SUMS: Final = ("runs", "failed", "stopped", "seconds")
_CALL_SUMS: Final = (
    *("calls", "failed", "seconds", "prompt_tokens", "completion_tokens", "cost"),
    "unpriced_calls",
)
Key = tuple[Any, ...]  # Any: the values of a dimension's fields, or a day


@dataclass(frozen=True, slots=True)
class Selection:
    """The usage to report: a team, days in UTC (both included), and filters."""

    team_id: UUID
    since: date
    until: date
    workflow_id: UUID | None = None
    key: UUID | Literal["-"] | None = None  # "-" stands for runs that no API key started
    subject: str | None = None
    channel: str | None = None  # empty for runs from before channels were counted
    model: tuple[str, str] | None = None  # provider and name
    is_own: bool = False  # only the principal's own, even if more is visible

    @property
    def days(self) -> list[date]:
        count = (self.until - self.since).days + 1
        return [self.since + timedelta(days=number) for number in range(count)]


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The numbers of a selection. With a model selected they are those of its calls, otherwise of runs."""

    selection: Selection
    is_of_calls: bool
    total: Numbers
    by_day: dict[date, Numbers]  # every day of the selection, in order
    by: dict[Dimension, dict[Key, Numbers]] = field(default_factory=dict)


def select_last_days(team_id: UUID, days: int = DEFAULT_DAYS) -> Selection:
    """Return the selection of the last days, today included."""
    today = get_today()
    return Selection(team_id, today - timedelta(days=max(days, 1) - 1), today)


def get_today() -> date:
    return timezone.now().astimezone(UTC).date()


def sees_team(principal: Principal, team_id: UUID) -> bool:
    """Return whether the principal sees the usage of all members instead of its own."""
    return can(principal, "usage.view", team_id)


def load_report(
    principal: Principal, selection: Selection, dimensions: Sequence[Dimension] = ()
) -> UsageReport:
    """Return the numbers of the selection, by day and by these dimensions, as far as the principal may see them."""
    check(principal, "run.view", selection.team_id)
    count_new(selection.team_id)
    with reading([selection.team_id]):
        by_day = {day: Numbers() for day in selection.days}
        by_day |= {
            key[0]: numbers for key, numbers in _load(principal, selection, ("day",)).items()
        }
        by = {name: _load(principal, selection, _FIELDS[name]) for name in dimensions}
    total = sum(by_day.values(), Numbers())
    return UsageReport(selection, selection.model is not None, total, by_day, by)


def load_daily_rows(
    principal: Principal, selection: Selection, dimension: Dimension
) -> dict[Key, Numbers]:
    """Return the numbers by day and by the dimension: each key is the day, followed by the dimension's values."""
    check(principal, "run.view", selection.team_id)
    count_new(selection.team_id)
    with reading([selection.team_id]):
        return _load(principal, selection, ("day", *_FIELDS[dimension]))


def _load(
    principal: Principal, selection: Selection, fields: tuple[str, ...]
) -> dict[Key, Numbers]:
    """Return the numbers by the values of these fields."""
    numbers: dict[Key, Numbers] = defaultdict(Numbers)
    is_of_calls = selection.model is not None or "model" in fields
    calls = _filter(ModelUsage.objects.unscoped(), principal, selection)
    if selection.model is not None:
        calls = calls.filter(provider=selection.model[0], model=selection.model[1])
    if not is_of_calls:
        for row in _sum(
            _filter(RunUsage.objects.unscoped(), principal, selection), fields, _RUN_SUMS
        ):
            numbers[_get_key(row, fields)] += _read_runs(row)
        for row in _load_feedback(principal, selection, fields):
            numbers[_get_key(row, fields)] += Numbers(liked=row["liked"], disliked=row["disliked"])
    for row in _sum(calls, fields, _CALL_SUMS, by_latency=is_of_calls):
        numbers[_get_key(row, fields)] += _read_calls(row, is_of_calls=is_of_calls)
    return dict(numbers)


def _filter(
    rows: "QuerySet[Any]", principal: Principal, selection: Selection
) -> "QuerySet[Any]":  # Any: either model
    rows = rows.filter(
        team_id=selection.team_id, day__gte=selection.since, day__lte=selection.until
    )
    if selection.is_own or not sees_team(principal, selection.team_id):
        rows = rows.filter(match_own_usage(principal))
    return _apply_filters(rows, selection)


def _apply_filters(
    rows: "QuerySet[Any]", selection: Selection
) -> "QuerySet[Any]":  # Any: usage, or runs
    if selection.workflow_id is not None:
        rows = rows.filter(workflow_id=selection.workflow_id)
    if selection.key is not None:
        rows = rows.filter(api_key_id=None if selection.key == NO_KEY else selection.key)
    if selection.channel is not None:
        rows = rows.filter(channel=selection.channel)
    if selection.subject is not None:
        # The usage of a member includes that of the member's test users.
        test_users = Q(subject__endswith=f"@{selection.subject}")
        rows = rows.filter(Q(subject=selection.subject) | test_users)
    return rows


def _load_feedback(
    principal: Principal, selection: Selection, fields: tuple[str, ...]
) -> list[dict[str, Any]]:  # Any: rows of values
    """Return the counts of feedback by the fields of the runs."""
    start = datetime.combine(selection.since, time.min, UTC)
    end = datetime.combine(selection.until, time.min, UTC) + timedelta(days=1)
    runs: QuerySet[Any] = Run.objects.unscoped()
    if selection.is_own or not sees_team(principal, selection.team_id):
        runs = Run.objects.visible_to(principal)
    runs = _apply_filters(runs.filter(team_id=selection.team_id), selection)
    rows = Feedback.objects.unscoped().filter(
        run__in=runs.filter(created_at__gte=start, created_at__lt=end), team_id=selection.team_id
    )
    columns: dict[str, Any] = {name: F(f"run__{name}") for name in fields if name != "day"}
    if "day" in fields:
        columns["day"] = TruncDate("run__created_at", tzinfo=UTC)
    counts = {
        "liked": Count("pk", filter=Q(rating=Rating.UP)),
        "disliked": Count("pk", filter=Q(rating=Rating.DOWN)),
    }
    # The values have names of their own, because some are names of fields of Feedback too.
    prefixed_columns = {f"by_{name}": column for name, column in columns.items()}
    values = (
        rows.order_by().annotate(**prefixed_columns).values(*prefixed_columns).annotate(**counts)
    )
    return [{name.removeprefix("by_"): value for name, value in row.items()} for row in values]


def match_own_usage(principal: Principal) -> Q:
    """Return the condition for the usage of the runs that are the principal's, see ``models.personal.match_own``."""
    if principal.kind == "key":
        account_id = get_service_account_id(principal)
        own = ApiKey.objects.unscoped().filter(service_account_id=account_id)
        condition = Q(api_key_id__in=own.values("pk"))
        # A key of one workflow sees nothing of the workflows that this one calls.
        return (
            condition & Q(workflow_id=principal.workflow_id) if principal.workflow_id else condition
        )
    if principal.user_id is None:
        return Q(pk__in=[])
    keys = ApiKey.objects.unscoped().filter(created_by_id=principal.user_id).values("pk")
    subject = str(principal.user_id)
    own_keys = Q(api_key_id__in=keys)
    return own_keys | Q(api_key_id=None) & (Q(subject=subject) | Q(subject__endswith=f"@{subject}"))


def _sum(
    rows: "QuerySet[Any]", fields: tuple[str, ...], sums: Sequence[str], *, by_latency: bool = True
) -> list[dict[str, Any]]:  # Any: rows of values
    """Return the sums by the fields and, if latency counts, by its bucket."""
    groups = (*fields, "latency_bucket") if by_latency else fields
    totals = {f"sum_{name}": Sum(name) for name in sums}
    return list(rows.order_by().values(*groups).annotate(**totals))


def _get_key(row: dict[str, Any], fields: tuple[str, ...]) -> Key:
    """Return the values of the fields. Test users count for the member who created them."""
    if "subject" in fields and (player := find_player(row["subject"])):
        row = row | {"subject": str(player)}
    return tuple(row[name] for name in fields)


def _read_runs(row: dict[str, Any]) -> Numbers:
    return Numbers(
        count=row["sum_runs"],
        failed=row["sum_failed"],
        stopped=row["sum_stopped"],
        seconds=row["sum_seconds"],
        buckets=_read_bucket(row, row["sum_runs"]),
    )


def _read_calls(row: dict[str, Any], *, is_of_calls: bool) -> Numbers:
    """Return the tokens and cost of model calls; if the report is about calls, also their count, errors and latency."""
    counts: dict[str, Any] = {}
    if is_of_calls:
        counts = {
            "count": row["sum_calls"],
            "failed": row["sum_failed"],
            "seconds": row["sum_seconds"],
            "buckets": _read_bucket(row, row["sum_calls"]),
        }
    return Numbers(
        calls=row["sum_calls"],
        prompt_tokens=row["sum_prompt_tokens"],
        completion_tokens=row["sum_completion_tokens"],
        cost=row["sum_cost"],
        unpriced_calls=row["sum_unpriced_calls"],
        **counts,
    )


def _read_bucket(row: dict[str, Any], count: int) -> dict[int, Latencies]:
    bucket = row["latency_bucket"]
    return {} if bucket == NO_LATENCY else {bucket: Latencies(count, row["sum_seconds"])}
