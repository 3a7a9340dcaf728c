"""Pages of lists: by offset, or by a cursor for lists that grow while users page through them.

``components/_pager.html`` shows either kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Generic, Protocol, TypeVar, cast
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from config.timestamps import to_utc


PAGE_SIZE = 25
UNCOUNTED_PAGE_SIZE = 30  # rows per page of lists that are not counted

# The offsets of the lists on a page, each with its own parameter.
_OFFSET_PARAMETERS = ("from", "grants", "mine", "offset", "people")
# Parameters of a single response, which other URLs must not contain.
_TRANSIENT_PARAMETERS = (*_OFFSET_PARAMETERS, "before", "after", "undo")


def replace_query(query: QueryDict, **changes: str) -> str:
    """Return the query string with these changes. Empty parameters and those of a single response are removed."""
    new_query = query.copy()
    for name in (*_TRANSIENT_PARAMETERS, *changes):
        new_query.pop(name, None)
    for name, value in changes.items():
        if value:
            new_query[name] = value
    return f"?{new_query.urlencode()}"


def replace_query_suffix(query: QueryDict, **changes: str) -> str:
    """Return what ``replace_query`` returns, or an empty string instead of "?" if no parameters remain."""
    suffix = replace_query(query, **changes)
    return "" if suffix == "?" else suffix


def read_offset(query: QueryDict, parameter: str = "offset") -> int:
    """Return the offset in the URL, or 0 if it is invalid."""
    text = query.get(parameter, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class OffsetPage:
    """A page that begins at an offset. ``total`` is None if the rows of the list are not counted."""

    total: int | None
    offset: int
    query: QueryDict
    size: int = PAGE_SIZE
    address: str = ""  # the list's URL, if the response to a form shows the list as well
    parameter: str = "offset"  # a second list on the same page needs another name
    has_more_rows: bool = False  # whether rows follow this page, if ``total`` is None

    def select_rows(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows of this page."""
        return rows[self.offset : self.offset + self.size]

    @property
    def is_counted(self) -> bool:
        return self.total is not None

    @property
    def has_previous_page(self) -> bool:
        return self.offset > 0

    @property
    def has_next_page(self) -> bool:
        if self.total is None:
            return self.has_more_rows
        return self.offset + self.size < self.total

    @property
    def has_other_pages(self) -> bool:
        return self.has_previous_page or self.has_next_page

    @property
    def previous_url(self) -> str:
        return self._build_url(max(0, self.offset - self.size))

    @property
    def next_url(self) -> str:
        return self._build_url(self.offset + self.size)

    @property
    def label(self) -> str:
        if self.total is None:
            return str(self.offset // self.size + 1)
        last = min(self.offset + self.size, self.total)
        return _("%(first)d–%(last)d of %(total)d") % {
            "first": self.offset + 1,
            "last": last,
            "total": self.total,
        }

    def _build_url(self, offset: int) -> str:
        # The other lists of the page keep their offsets.
        offsets = {name: self.query.get(name, "") for name in _OFFSET_PARAMETERS}
        return self.address + replace_query(self.query, **offsets | {self.parameter: str(offset)})


Model = TypeVar("Model", bound=models.Model)


def paginate_by_offset(
    request: HttpRequest, rows: "models.QuerySet[Model]", size: int = UNCOUNTED_PAGE_SIZE
) -> tuple[list[Model], OffsetPage]:
    """Return the requested rows and their page.

    One additional row is read to find out whether there is another page.
    """
    offset = read_offset(request.GET)
    items = list(rows[offset : offset + size + 1])
    page = OffsetPage(None, offset, request.GET, size, has_more_rows=len(items) > size)
    return items[:size], page


class CreatedRow(Protocol):
    """A row with its time of creation, and an id that orders rows of the same time."""

    pk: UUID
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TimeCursor:
    """A position in a list by time, even if its row is no longer in the list."""

    at: datetime
    pk: UUID

    @classmethod
    def parse(cls, text: str) -> "TimeCursor | None":
        """Parse the form that ``str`` returns. Return None for any other text."""
        moment, _separator, pk = text.partition("~")
        try:
            return cls(to_utc(datetime.fromisoformat(moment)), UUID(pk))
        except ValueError:
            return None

    @classmethod
    def from_row(cls, row: models.Model) -> "TimeCursor":
        created_row = cast(CreatedRow, row)
        return cls(created_row.created_at, created_row.pk)

    def __str__(self) -> str:
        return f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}~{self.pk}"

    @property
    def day(self) -> str:
        return date_format(timezone.localtime(self.at), "DATE_FORMAT")

    @property
    def older_condition(self) -> Q:
        """Return the condition for rows after this position in a list that begins with the newest row."""
        # The first half is redundant, but an index can use it.
        return Q(created_at__lte=self.at) & (Q(created_at__lt=self.at) | Q(pk__lt=self.pk))

    @property
    def newer_condition(self) -> Q:
        return Q(created_at__gte=self.at) & (Q(created_at__gt=self.at) | Q(pk__gt=self.pk))


@dataclass(frozen=True, slots=True)
class CursorPage(Generic[Model]):
    """A page that begins at a cursor, so that new rows at the top don't move rows between pages."""

    items: Sequence[Model]
    query: QueryDict
    has_previous_page: bool
    has_next_page: bool
    is_counted: ClassVar[bool] = False  # the pager shows "newer" and "older"

    @property
    def has_other_pages(self) -> bool:
        return self.has_previous_page or self.has_next_page

    @property
    def label(self) -> str:
        if not self.items:
            return ""
        newest, oldest = (TimeCursor.from_row(self.items[index]).day for index in (0, -1))
        if newest == oldest:
            return newest
        return _("%(first)s–%(last)s") % {"first": oldest, "last": newest}

    @property
    def next_url(self) -> str:
        return self._build_url("before", -1)

    @property
    def previous_url(self) -> str:
        """Return the URL of the newer page, or of the newest page if this page has no rows."""
        return self._build_url("after", 0)

    def _build_url(self, parameter: str, index: int) -> str:
        cursor = str(TimeCursor.from_row(self.items[index])) if self.items else ""
        return replace_query(self.query, **{parameter: cursor})


def paginate_by_time(
    request: HttpRequest, rows: "models.QuerySet[Model]", size: int = UNCOUNTED_PAGE_SIZE
) -> CursorPage[Model]:
    """Return the page before or after the cursor in the URL, newest first; without a valid cursor, the newest page.

    If fewer rows than a page are newer than the cursor, the newest page is returned, so that it is full.
    """
    before, after = (TimeCursor.parse(request.GET.get(name, "")) for name in ("before", "after"))
    if before is None and after is not None:
        newer_rows = list(
            rows.filter(after.newer_condition).order_by("created_at", "pk")[: size + 1]
        )
        if len(newer_rows) > size:
            return CursorPage(newer_rows[size - 1 :: -1], request.GET, True, True)
    older_rows = rows.filter(before.older_condition) if before else rows
    items = list(older_rows.order_by("-created_at", "-pk")[: size + 1])
    return CursorPage(items[:size], request.GET, before is not None, len(items) > size)
