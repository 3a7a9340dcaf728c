"""What the home page shows: numbers of the last days, what needs attention, recent work, and what was learned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.access import Principal, can
from accounts.services import list_expiring_keys
from workflows import memory_app, permissions, selectors
from workflows.execution.usage.numbers import Numbers
from workflows.models import ModelProvider
from workflows.models.run import RunStatus
from workflows.run_filters import leave_out_end_users
from workflows.services.runs import waits
from workflows.services.usage.report import load_report, sees_team, select_last_days
from workflows.templatetags.usage_numbers import (
    format_cost,
    format_count,
    format_seconds,
    format_share,
    format_short_count,
)
from workflows.views.charts import BarChart, Point, build_bar_chart


if TYPE_CHECKING:
    from accounts.models import ApiKey
    from workflows.models import RunWait

DAYS: Final = 14
MAX_RECENT: Final = 6  # workflows, runs and memories
MAX_QUESTIONS: Final = 3


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of the last days with its plot. ``detail`` puts it into relation, and ``url`` lists what is counted."""

    label: str | Promise
    value: str
    chart: BarChart
    detail: str = ""
    is_bad: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    tiles: tuple[Tile, ...]
    is_of_team: bool
    has_runs: bool
    failed_today: int


@dataclass(frozen=True, slots=True)
class Attention:
    """The things that wait for the person: at most ``MAX_QUESTIONS`` questions, memories to review, keys, failed runs."""

    questions: Sequence["RunWait"]
    has_more_questions: bool
    review_count: int
    expiring_keys: Sequence["ApiKey"]
    failed_today: int  # runs, since midnight UTC as in the numbers above
    failed_url: str  # the list of these

    @property
    def is_empty(self) -> bool:
        return not (self.questions or self.review_count or self.expiring_keys or self.failed_today)


def build_dashboard(principal: Principal, team_id: UUID) -> dict[str, Any]:
    """Return the template context of the page for a person who may see workflows and runs of the team."""
    own_runs = leave_out_end_users(selectors.list_runs(principal))
    runs = own_runs.filter(team_id=team_id, parent_id=None)
    usage = build_usage(principal, team_id)
    return {
        "usage": usage,
        "workflows": selectors.list_workflows(principal, team_id=team_id)[:MAX_RECENT],
        "runs": runs[:MAX_RECENT],
        "attention": load_attention(principal, team_id, failed_today=usage.failed_today),
        "memories": _list_memories(principal, team_id),
        "providers": _list_providers(principal, team_id),
        "can_create": permissions.may_create(principal, team_id),
        "days": DAYS,
    }


def build_usage(principal: Principal, team_id: UUID) -> Usage:
    """Return the numbers of the team, or the person's own without the right to see all."""
    report = load_report(principal, select_last_days(team_id, DAYS))
    total = report.total
    # The labels of days are the same in all plots, and costly.
    days = {date_format(day, "MONTH_DAY_FORMAT"): each for day, each in report.by_day.items()}
    tiles = (
        Tile(
            pgettext("number", "Runs"),
            format_count(total.count),
            _plot(_("Runs per day"), days, lambda day: day.count, format_count),
        ),
        Tile(
            _("Errors"),
            format_count(total.failed),
            _plot(_("Failed runs per day"), days, lambda day: day.failed, format_count),
            "" if total.error_rate is None else format_share(total.error_rate),
            is_bad=bool(total.failed),
            url=_build_failed_url(principal, team_id, DAYS) if total.failed else "",
        ),
        Tile(
            _("Latency (median)"),
            format_seconds(total.median_latency),
            _plot(
                _("Median latency per day"), days, lambda day: day.median_latency, format_seconds
            ),
            ""
            if total.p95_latency is None
            else _("p95: %(time)s") % {"time": format_seconds(total.p95_latency)},
        ),
        Tile(
            _("Tokens"),
            format_short_count(total.tokens),
            _plot(_("Tokens per day"), days, lambda day: day.tokens, format_count),
            format_cost(total.cost) if total.cost else "",
        ),
    )
    failed_today = report.by_day[report.selection.until].failed
    return Usage(tiles, sees_team(principal, team_id), bool(total.count), failed_today)


def _build_failed_url(principal: Principal, team_id: UUID, days: int) -> str:
    """Return the address of the list of the failed runs that are counted: those of the team, or the person's own."""
    page, query = "workflows:runs", {"end_users": "1"}
    if sees_team(principal, team_id):
        page, query = "workflows:team_runs", {}
    since = select_last_days(team_id, days).since
    query = {"status": RunStatus.FAILED.value, "since": str(since), **query}
    return f"{reverse(page)}?{urlencode(query)}"


def load_attention(principal: Principal, team_id: UUID, *, failed_today: int) -> Attention:
    questions = list(waits.list_waiting(principal, team_id=team_id)[: MAX_QUESTIONS + 1])
    count = 0
    if _sees_memory(principal, team_id):
        count = memory_app.count_queue(memory_app.MemoryCaller(principal, team_id))
    keys = list_expiring_keys(principal, team_id)
    has_more = len(questions) > MAX_QUESTIONS
    url = _build_failed_url(principal, team_id, 1)
    return Attention(questions[:MAX_QUESTIONS], has_more, count, keys, failed_today, url)


def _plot(title: str, days: Mapping[str, Numbers], read: Any, format_value: Any) -> BarChart:
    points = [Point(label, read(numbers)) for label, numbers in days.items()]
    return build_bar_chart(title, points, format_value)


def _sees_memory(principal: Principal, team_id: UUID) -> bool:
    return memory_app.is_on() and can(principal, "memory.view", team_id)


def _list_memories(principal: Principal, team_id: UUID) -> Sequence["memory_app.ShortRow"]:
    if not _sees_memory(principal, team_id):
        return ()
    caller = memory_app.MemoryCaller(principal, team_id)
    return memory_app.list_newest_rows(caller, limit=MAX_RECENT)


def _list_providers(principal: Principal, team_id: UUID) -> Sequence[ModelProvider] | None:
    """Return the connected providers; None for people who may not see them."""
    if not permissions.may_view_credentials(principal, team_id):
        return None
    return list(selectors.list_providers(principal, team_id).filter(enabled=True)[:4])
