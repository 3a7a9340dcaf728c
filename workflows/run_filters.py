"""The filters of the list of runs, on the page and in the API."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from typing import Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from config.ids import normalize_identifier
from workflows.models import Feedback, Run, Step
from workflows.models.reports.feedback import Rating


# The columns by which runs can be sorted, all with the highest value first. Without one, the newest run is first.
SORT_FIELDS: Final[Mapping[str, str]] = {
    "duration": "elapsed",
    "tokens": "tokens",
    "cost": "cost",
}


RATINGS: Final[Mapping[str, int]] = {"up": Rating.UP.value, "down": Rating.DOWN.value}
FEEDBACK_FILTERS: Final = (*RATINGS, "any")


def sort_runs(rows: QuerySet[Run], column: str) -> QuerySet[Run]:
    """Return the runs sorted by a column of ``SORT_FIELDS``; runs without a value are last."""
    rows = rows.alias(tokens=F("prompt_tokens") + F("completion_tokens"))
    return rows.order_by(F(SORT_FIELDS[column]).desc(nulls_last=True), "-created_at", "-pk")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Filters of a list of runs.

    ``workflow_name`` and ``person`` match a part of a name, ``person`` also of an email address or of an external id.
    ``user`` is the exact id that API clients use. ``text`` is searched in inputs and messages. ``node`` is the id of a
    node that was executed. ``since`` and ``until`` are days in the current time zone, both included.
    """

    status: str = ""
    workflow_name: str = ""
    person: str = ""
    user: str = ""
    text: str = ""
    node: str = ""
    since: date | None = None
    until: date | None = None
    # The least seconds, tokens and US dollars.
    min_seconds: float | None = None
    min_tokens: int | None = None
    min_cost: float | None = None
    feedback: str = ""  # "up" or "down"; "any" for runs with feedback
    # Runs that other runs started are left out, unless all are asked for, or those of one parent.
    children: bool = False
    parent: UUID | None = None

    @property
    def is_active(self) -> bool:
        return self != RunFilter()

    def without_private(self) -> "RunFilter":
        """Return the filter without what would reveal inputs, people or steps of runs that are not the reader's own."""
        return replace(self, person="", user="", text="", node="", parent=None)

    def apply(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        rows = self._apply_family(rows)
        if self.status:
            rows = rows.filter(status=self.status)
        if self.workflow_name:
            rows = rows.filter(workflow__name__icontains=self.workflow_name)
        if self.person:
            rows = rows.filter(
                Q(subject__icontains=self.person)
                | Q(subject_user__name__icontains=self.person)
                | Q(subject_user__email__icontains=self.person)
            )
        if self.user:
            rows = rows.filter(_match_user(self.user))
        if self.text:
            # The JSON text of inputs may contain quotes, line breaks and non-ASCII characters as escapes.
            rows = rows.alias(inputs_text=Cast("inputs", TextField())).filter(
                Q(inputs_text__icontains=self.text)
                | Q(inputs_text__icontains=json.dumps(self.text)[1:-1])
                | Q(pk__in=rows.filter(messages__query__icontains=self.text).values("pk"))
            )
        if self.node:
            steps = Step.objects.unscoped().filter(run=OuterRef("pk"), node_key=self.node)
            rows = rows.filter(Exists(steps))
        if self.since:
            rows = rows.filter(created_at__gte=_get_day_start(self.since))
        if self.until:
            rows = rows.filter(created_at__lt=_get_day_start(self.until, days=1))
        return self._apply_results(rows)

    def _apply_results(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        if self.min_seconds is not None:
            rows = rows.filter(elapsed__gte=self.min_seconds)
        if self.min_tokens is not None:
            tokens = F("prompt_tokens") + F("completion_tokens")
            rows = rows.alias(tokens=tokens).filter(tokens__gte=self.min_tokens)
        if self.min_cost is not None:
            rows = rows.filter(cost__gte=self.min_cost)
        if self.feedback:
            ratings = Feedback.objects.unscoped().filter(run=OuterRef("pk"))
            if self.feedback in RATINGS:
                ratings = ratings.filter(rating=RATINGS[self.feedback])
            rows = rows.filter(Exists(ratings))
        return rows

    def _apply_family(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        if self.parent:
            return rows.filter(parent_id=self.parent)
        return rows if self.children else rows.filter(parent_id=None)


def _match_user(user: str) -> Q:
    user = normalize_identifier(user)
    try:
        return Q(subject=user) | Q(subject_user=UUID(user))
    except ValueError:
        return Q(subject=user)


def _get_day_start(day: date, *, days: int = 0) -> datetime:
    """Return the beginning of the day, or of the day that comes ``days`` later."""
    try:
        shifted = date.fromordinal(day.toordinal() + days)
        return timezone.make_aware(datetime.combine(shifted, time.min))
    except (ValueError, OverflowError):  # the calendar ends before the next day
        return timezone.make_aware(datetime.combine(day, time.min))
