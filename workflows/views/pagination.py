"""Pages of newest-first lists: by offset where a list is a person's own and short, by where the last page ended where
it grows with every run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Generic, Protocol, TypeVar, cast
from urllib.parse import quote
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from config.timestamps import to_utc


PER_PAGE = 30
# deeper than this nobody pages; a filter finds it sooner, and the database need not count that far
LAST_PAGE = 1000

M = TypeVar("M", bound=models.Model)


@dataclass(frozen=True, slots=True)
class ListPage(Generic[M]):
    items: Sequence[M]
    number: int
    has_next_page: bool
    path: str

    @property
    def has_previous_page(self) -> bool:
        return self.number > 1

    @property
    def has_other_pages(self) -> bool:
        return self.has_previous_page or self.has_next_page

    @property
    def label(self) -> str:
        return str(self.number)

    @property
    def next_url(self) -> str:
        return f"{self.path}page={self.number + 1}"

    @property
    def previous_url(self) -> str:
        return f"{self.path}page={self.number - 1}"


def page_of(request: HttpRequest, rows: "models.QuerySet[M]") -> ListPage[M]:
    """The page the request asks for; one row more is read to know whether there is another."""
    number = _number(request.GET.get("page", "1"))
    start = (number - 1) * PER_PAGE
    items = list(rows[start : start + PER_PAGE + 1])
    return ListPage(
        items=items[:PER_PAGE],
        number=number,
        has_next_page=len(items) > PER_PAGE,
        path=_path(request),
    )


class Dated(Protocol):
    """A row that keeps the moment it was made, and an id between those of one moment."""

    pk: UUID
    created_at: datetime


D = TypeVar("D", bound=models.Model)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a list by time, whether or not the row that stood there is still one of it."""

    at: datetime
    pk: UUID

    @classmethod
    def read(cls, text: str) -> "Mark | None":
        moment, _middle, pk = text.partition("~")
        try:
            return cls(to_utc(datetime.fromisoformat(moment)), UUID(pk))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}~{self.pk}"

    @property
    def older(self) -> Q:
        # The first half says nothing new, but is what an index can begin at.
        return Q(created_at__lte=self.at) & (Q(created_at__lt=self.at) | Q(pk__lt=self.pk))

    @property
    def newer(self) -> Q:
        return Q(created_at__gte=self.at) & (Q(created_at__gt=self.at) | Q(pk__gt=self.pk))


@dataclass(frozen=True, slots=True)
class TimedPage(Generic[D]):
    """A page between two moments: what is added at the top meanwhile moves nothing."""

    items: Sequence[D]
    path: str
    has_previous_page: bool
    has_next_page: bool
    is_counted: ClassVar[bool] = False  # the pager says "newer" and "older"

    @property
    def has_other_pages(self) -> bool:
        return self.has_previous_page or self.has_next_page

    @property
    def label(self) -> str:
        if not self.items:
            return ""
        first, last = (_day(_mark(one)) for one in (self.items[0], self.items[-1]))
        return first if first == last else _("%(first)s–%(last)s") % {"first": last, "last": first}

    @property
    def next_url(self) -> str:
        return f"{self.path}before={quote(str(_mark(self.items[-1])))}" if self.items else self.path

    @property
    def previous_url(self) -> str:
        """From beyond the end it leads to the newest."""
        return f"{self.path}after={quote(str(_mark(self.items[0])))}" if self.items else self.path


def timed_page_of(request: HttpRequest, rows: "models.QuerySet[D]") -> TimedPage[D]:
    """The page before or after the mark in the address, newest first; without one, the newest. A mark nobody can read
    is none. The page at the top is always a whole one, however few rows are newer than the mark."""
    before, after = (Mark.read(request.GET.get(name, "")) for name in ("before", "after"))
    found: list[D] = []
    if before is None and after is not None:
        above = rows.filter(after.newer).order_by("created_at", "pk")
        found = list(above[: PER_PAGE + 1])
    if len(found) > PER_PAGE:
        return TimedPage(found[PER_PAGE - 1 :: -1], _path(request), True, True)
    ordered = (rows.filter(before.older) if before else rows).order_by("-created_at", "-pk")
    found = list(ordered[: PER_PAGE + 1])
    return TimedPage(found[:PER_PAGE], _path(request), before is not None, len(found) > PER_PAGE)


def _mark(row: models.Model) -> Mark:
    dated = cast(Dated, row)
    return Mark(dated.created_at, dated.pk)


def _day(mark: Mark) -> str:
    return date_format(timezone.localtime(mark.at), "DATE_FORMAT")


def _path(request: HttpRequest) -> str:
    query = request.GET.copy()
    for name in ("page", "before", "after"):
        query.pop(name, None)
    return f"?{query.urlencode()}&" if query else "?"


def _number(text: str) -> int:
    return min(max(int(text), 1), LAST_PAGE) if text.isdecimal() and len(text) < 6 else 1
