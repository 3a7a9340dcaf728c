"""Which runs a list shows, on the page and over the API: of a status, a workflow, a person, between two days, with a
text in what went in."""

import json
from dataclasses import dataclass
from datetime import date, datetime, time
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from workflows.models import Run, Step


@dataclass(frozen=True, slots=True)
class RunFilter:
    """``named``: what the workflow is called, about; so ``person``, where ``user`` is one exactly, by the id under
    which programmes name them. ``since`` and ``until`` are days of the reader, both among those shown."""

    status: str = ""
    named: str = ""
    person: str = ""
    user: str = ""
    said: str = ""
    node: str = ""
    since: date | None = None
    until: date | None = None

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
        if self.user:
            rows = rows.filter(_is_for(self.user))
        if self.said:
            # Inputs are kept as JSON text, where other scripts than Latin may stand as escapes.
            rows = rows.alias(went_in=Cast("inputs", TextField())).filter(
                Q(went_in__icontains=self.said)
                | Q(went_in__icontains=json.dumps(self.said)[1:-1])
                | Q(pk__in=rows.filter(messages__query__icontains=self.said).values("pk"))
            )
        if self.node:
            reached = Step.objects.unscoped().filter(run=OuterRef("pk"), node_key=self.node)
            rows = rows.filter(Exists(reached))
        if self.since:
            rows = rows.filter(created_at__gte=_begin(self.since))
        if self.until:
            rows = rows.filter(created_at__lt=_begin(self.until, days=1))
        return rows


def _is_for(user: str) -> Q:
    try:
        return Q(subject=user) | Q(subject_user=UUID(user))
    except ValueError:
        return Q(subject=user)


def _begin(day: date, *, days: int = 0) -> datetime:
    try:
        moved = date.fromordinal(day.toordinal() + days)
        return timezone.make_aware(datetime.combine(moved, time.min))
    except (ValueError, OverflowError):  # the ends of the calendar
        return timezone.make_aware(datetime.combine(day, time.min))
