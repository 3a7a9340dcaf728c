"""Which runs the list shows: of a status, a workflow, a person, between two days, with a text in what went in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Self

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.dateparse import parse_date

from workflows.models import Run
from workflows.models.run import RunStatus
from workflows.views.finding import typed


@dataclass(frozen=True, slots=True)
class RunFilter:
    """``named``: what the workflow is called, about. ``since`` and ``until`` are days of the reader, both
    among those shown. What makes no sense filters nothing."""

    status: str = ""
    named: str = ""
    person: str = ""
    said: str = ""
    since: date | None = None
    until: date | None = None

    @classmethod
    def of(cls, data: Mapping[str, str]) -> Self:
        status = typed(data, "status")
        return cls(
            status if status in RunStatus.values else "",
            typed(data, "named"),
            typed(data, "person"),
            typed(data, "said"),
            _day(typed(data, "since")),
            _day(typed(data, "until")),
        )

    @property
    def is_narrow(self) -> bool:
        return self != RunFilter()

    def of_rows(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        if self.status:
            rows = rows.filter(status=self.status)
        if self.named:
            rows = rows.filter(workflow__name__icontains=self.named)
        if self.person:
            rows = rows.filter(
                Q(subject__icontains=self.person)
                | Q(subject_user__name__icontains=self.person)
                | Q(subject_user__email__icontains=self.person)
            )
        if self.said:
            # Inputs are kept as JSON text, where other scripts than Latin may stand as escapes.
            rows = rows.alias(went_in=Cast("inputs", TextField())).filter(
                Q(went_in__icontains=self.said)
                | Q(went_in__icontains=json.dumps(self.said)[1:-1])
                | Q(pk__in=rows.filter(messages__query__icontains=self.said).values("pk"))
            )
        if self.since:
            rows = rows.filter(created_at__gte=_begin(self.since))
        if self.until:
            rows = rows.filter(created_at__lt=_begin(self.until, days=1))
        return rows


def _day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:  # the 31st of February
        return None


def _begin(day: date, *, days: int = 0) -> datetime:
    try:
        moved = date.fromordinal(day.toordinal() + days)
        return timezone.make_aware(datetime.combine(moved, time.min))
    except (ValueError, OverflowError):  # the ends of the calendar
        return timezone.make_aware(datetime.combine(day, time.min))
