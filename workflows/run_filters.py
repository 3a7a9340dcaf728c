"""The filters of the list of runs, on the page and in the API."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.models import User
from accounts.personas import (
    build_service_subject_pattern,
    name_external_user,
    strip_player,
)
from config.http.pages import Rows
from config.ids import normalize_identifier
from config.sql import read_queries
from workflows.models import Feedback, Run, Step
from workflows.models.personal import IsAnyOf
from workflows.models.reports.feedback import Rating
from workflows.models.run import RunStatus


# The columns by which runs can be sorted, all with the highest value first. Without one, the newest run is first.
SORT_FIELDS: Final[Mapping[str, str]] = {
    "duration": "elapsed",
    "tokens": "tokens",
    "cost": "cost",
}


# Runs that are paused because the outcome of a step is unknown; to people it is a status.
UNCERTAIN: Final = "uncertain"
SEARCHED_RUNS: Final = 20_000
MAX_EXTERNAL_USERS: Final = 10_000
MAX_ACCOUNTS: Final = 1_000  # whose ids are in a query
COUNTED_RUNS: Final = 10_000

RATINGS: Final[Mapping[str, int]] = {"up": Rating.UP.value, "down": Rating.DOWN.value}
FEEDBACK_FILTERS: Final = (*RATINGS, "any")
QUERIES: Final = read_queries("workflows/sql/queries/run_filters.sql")


def sort_runs(rows: QuerySet[Run], column: str) -> QuerySet[Run]:
    """Return the runs sorted by a column of ``SORT_FIELDS``; runs without a value are last."""
    rows = rows.alias(tokens=F("prompt_tokens") + F("completion_tokens"))
    return rows.order_by(F(SORT_FIELDS[column]).desc(nulls_last=True), "-created_at", "-pk")


def read_runs(rows: QuerySet[Run], offset: int, limit: int) -> Rows[Run]:
    """Return the rows of a page of the API.

    They aren't counted if there are more than ``COUNTED_RUNS`` after the offset, so that a list of a million runs takes no
    longer than a short one.
    """
    most = offset + COUNTED_RUNS
    count = rows.order_by()[: most + 1].count()
    page = list(rows[offset : offset + limit])
    return Rows(page, count if count <= most else None, has_more=count > most)


def leave_out_end_users(rows: QuerySet[Run]) -> QuerySet[Run]:
    """Return the runs without those that a key started for somebody who has no account, such as a visitor of a page."""
    has_account = Q(started_by__isnull=False) | Q(subject_user__isnull=False)
    # The last one, because the database compares from left to right, and a regular expression takes longest.
    return rows.filter(has_account | Q(subject__regex=build_service_subject_pattern()))


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Filters of a list of runs.

    ``workflow_name`` and ``person`` match a part of a name, ``person`` also of an email address or of an external id.
    ``user`` is the exact id that API clients use. ``text`` is searched in inputs and messages. ``node`` is the id or the
    title of a node that was executed. ``since`` and ``until`` are days in the current time zone, both included.

    ``text`` and ``node`` are looked for in the newest ``SEARCHED_RUNS`` runs that match the other filters, all others in
    all runs. Only if teams have more than ``MAX_EXTERNAL_USERS``, their ids are looked for in the newest runs too.
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
    # Whether the page of a member's own runs also lists those that the member's keys started for end users.
    end_users: bool = False

    @property
    def is_active(self) -> bool:
        return self != RunFilter()

    @property
    def is_search(self) -> bool:
        """Return whether each run has to be read to find out whether it matches."""
        return bool(self.text or self.node)

    def without_private(self) -> "RunFilter":
        """Return the filter without what would reveal inputs, people or steps of runs that are not the reader's own."""
        return replace(self, person="", user="", text="", node="", parent=None)

    def apply(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        rows = self._apply_family(rows)
        if self.status == UNCERTAIN:
            rows = rows.alias(uncertain=KeyTextTransform("uncertain", "pause"))
            rows = rows.filter(status=RunStatus.PAUSED, uncertain="true")
        elif self.status:
            rows = rows.filter(status=self.status)
        if self.workflow_name:
            rows = rows.filter(workflow__name__icontains=self.workflow_name)
        if self.user:
            rows = rows.filter(_match_user(self.user))
        if self.since:
            rows = rows.filter(created_at__gte=_get_day_start(self.since))
        if self.until:
            rows = rows.filter(created_at__lt=_get_day_start(self.until, days=1))
        rows = self._apply_results(rows)
        if self.person:
            rows = rows.filter(_match_person(self.person, rows))
        return self._search(rows) if self.is_search else rows

    def _search(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        rows = rows.filter(_match_newest(rows))
        if self.text:
            # The JSON text of inputs may contain quotes, line breaks and non-ASCII characters as escapes.
            rows = rows.alias(inputs_text=Cast("inputs", TextField())).filter(
                Q(inputs_text__icontains=self.text)
                | Q(inputs_text__icontains=json.dumps(self.text)[1:-1])
                | Q(pk__in=rows.filter(messages__query__icontains=self.text).values("pk"))
            )
        if self.node:
            is_node = Q(node_key=self.node) | Q(title__iexact=self.node)
            rows = rows.filter(Exists(Step.objects.unscoped().filter(is_node, run=OuterRef("pk"))))
        return rows

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


def _match_newest(rows: QuerySet[Run]) -> Q:
    """Return the condition for the newest runs, by the time of the last of them, which one query finds out before.

    With that time, an index in the order of time gives the runs. With a subquery for it or for their ids, PostgreSQL
    reads all runs instead.
    """
    times = rows.order_by("-created_at", "-pk").values_list("created_at", flat=True)
    last = list(times[SEARCHED_RUNS - 1 : SEARCHED_RUNS])
    return Q(created_at__gte=last[0]) if last else Q()


def _match_person(person: str, rows: QuerySet[Run]) -> Q:
    """Return the condition for the runs of a person. The people are found first, then an index gives their runs."""
    is_account = _match_accounts(Q(name__icontains=person) | Q(email__icontains=person))
    external_users = _list_external_users()
    if len(external_users) > MAX_EXTERNAL_USERS:
        is_external = Q(subject__icontains=person) & _match_newest(rows)
    else:
        text = person.casefold()
        subjects = [
            user
            for user in external_users
            if text in f"{name_external_user(user)} {strip_player(user)}".casefold()
        ]
        is_external = Q(subject__in=subjects)
    return is_account | _match_user(person) | Q(subject_user=None) & is_external


def _match_accounts(condition: Q) -> Q:
    """Return the condition for the runs of some accounts.

    With the ids of few accounts in the query, PostgreSQL knows how many runs they have, and whether to look for them or to
    read the newest runs until a page is full.
    """
    accounts = User.objects.filter(condition).order_by().values("pk")
    ids = list(accounts.values_list("pk", flat=True)[: MAX_ACCOUNTS + 1])
    if len(ids) <= MAX_ACCOUNTS:
        return Q(subject_user__in=ids)
    return Q(IsAnyOf("subject_user_id", accounts))


def _match_user(user: str) -> Q:
    user = normalize_identifier(user)
    is_external = Q(subject_user=None, subject=user)
    try:
        return is_external | Q(subject_user=UUID(user))
    except ValueError:
        return is_external


def _list_external_users() -> list[str]:
    """Return the subjects without an account of the teams' runs, with one too many if there are more than allowed."""
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["external_users"], {"limit": MAX_EXTERNAL_USERS + 1})
        return [subject for (subject,) in cursor.fetchall()]


def _get_day_start(day: date, *, days: int = 0) -> datetime:
    """Return the beginning of the day, or of the day that comes ``days`` later."""
    try:
        shifted = date.fromordinal(day.toordinal() + days)
        return timezone.make_aware(datetime.combine(shifted, time.min))
    except (ValueError, OverflowError):  # the calendar ends before the next day
        return timezone.make_aware(datetime.combine(day, time.min))
