"""The pages of the API's lists: every list has the same parameters and the same envelope.

A view returns a queryset, a sequence or a ``Listing``, and is decorated by ``@paginate(Pages)``. A list that is read from a
position on, such as the audit trail, is a ``KeysetListing``: its pages stay right while rows are added.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from ninja import Schema
from ninja.errors import ValidationError
from ninja.pagination import PaginationBase
from pydantic import Field

from config.http.openapi import Limit


T = TypeVar("T")
M = TypeVar("M", bound=Model)

MAX_OFFSET = 10**6
MAX_POSITION = 2**63


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """The rows that a list was asked for. ``count`` is the number of all, and ``extra`` are more fields of the answer.

    A ``Listing`` that isn't counted says by ``has_more`` whether there are rows after these.
    """

    items: Sequence[T]
    count: int | None = None
    has_more: bool = False
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A list that skips rows. ``read`` gets their number and how many rows to return; ``serialize`` gets those of the page."""

    read: Callable[[int, int], Rows[T]]
    serialize: Callable[[Sequence[T]], Sequence[object]] = list


@dataclass(frozen=True, slots=True)
class KeysetListing(Generic[T]):
    """A list that goes on after a position. ``read`` gets the position, or None at the beginning.

    It is asked for one row more than the page has, which tells whether there is a next page.
    """

    read: Callable[[int | None, int], Rows[T]]
    get_position: Callable[[T], int]
    serialize: Callable[[Sequence[T]], Sequence[object]] = list


class ListParameters(Schema):
    limit: Limit = 50
    cursor: Annotated[
        str,
        Field(max_length=200, description="``next`` of the page before; empty for the first page."),
    ] = ""


class PageOut(Schema):
    """A page of a list. To read the whole list, ask again with ``next`` as ``cursor`` until ``next`` is null."""

    items: list[Any]
    next: str | None = Field(description="The ``cursor`` of the next page; null on the last one.")
    count: int | None = Field(
        description="The number of all rows that match; null if they aren't counted."
    )


class Pages(PaginationBase):
    """Answers a list with a page of it."""

    Input = ListParameters  # type: ignore[assignment]  # a subclass would be described under its name
    Output = PageOut  # type: ignore[assignment]  # as above

    def paginate_queryset(
        self, queryset: Any, pagination: ListParameters, request: HttpRequest, **params: Any
    ) -> dict[str, object]:
        """Return the page of what the view returned, which is a queryset only if it has nothing better."""
        if isinstance(queryset, KeysetListing):
            return _read_keyset(queryset, pagination)
        listing = queryset if isinstance(queryset, Listing) else list_rows(queryset)
        return _read_listing(listing, pagination)


class OwnPages(Pages):
    """Answers with a page whose schema has more fields, so that the route names the schema of the whole answer."""

    Output = None  # type: ignore[assignment]  # ninja then leaves the schema of the route as it is


def list_rows(
    rows: QuerySet[M] | Sequence[T], serialize: Callable[[Sequence[Any]], Sequence[object]] = list
) -> Listing[Any]:
    """Return the list of a queryset or of a sequence, which is counted."""

    def read(offset: int, limit: int) -> Rows[Any]:
        count = rows.count() if isinstance(rows, QuerySet) else len(rows)
        return Rows(list(rows[offset : offset + limit]), count)

    return Listing(read, serialize)


def list_uncounted(
    read: Callable[[int, int], Sequence[T]],
    serialize: Callable[[Sequence[T]], Sequence[object]] = list,
) -> Listing[T]:
    """Return a list that would be too slow to count. ``read`` is asked for one row more than the page has."""

    def read_rows(offset: int, limit: int) -> Rows[T]:
        rows = read(offset, limit + 1)
        return Rows(rows[:limit], has_more=len(rows) > limit)

    return Listing(read_rows, serialize)


def _read_listing(listing: Listing[Any], page: ListParameters) -> dict[str, object]:
    offset = _parse_cursor(page.cursor, "offset", MAX_OFFSET) or 0
    rows = listing.read(offset, page.limit)
    following = offset + len(rows.items)
    has_more = rows.has_more if rows.count is None else bool(rows.items) and following < rows.count
    return _build_page(
        rows, listing.serialize(rows.items), {"offset": following} if has_more else None
    )


def _read_keyset(listing: KeysetListing[Any], page: ListParameters) -> dict[str, object]:
    position = _parse_cursor(page.cursor, "position", MAX_POSITION)
    rows = listing.read(position, page.limit + 1)
    items = rows.items[: page.limit]
    has_more = len(rows.items) > page.limit
    following = {"position": listing.get_position(items[-1])} if has_more else None
    return _build_page(rows, listing.serialize(items), following)


def _build_page(
    rows: Rows[Any], items: Sequence[object], following: Mapping[str, int] | None
) -> dict[str, object]:
    cursor = None if following is None else _write_cursor(following)
    return {**rows.extra, "items": list(items), "next": cursor, "count": rows.count}


def _write_cursor(value: Mapping[str, int]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _parse_cursor(cursor: str, name: str, maximum: int) -> int | None:
    """Return the number in a cursor, or None for the first page. Raises ValidationError for a cursor of another list."""
    if not cursor:
        return None
    try:
        value = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))[name]
    except (ValueError, KeyError, TypeError, RecursionError):
        value = None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < maximum:
        problem = {"type": "cursor", "msg": "This is not the ``next`` of a page of this list."}
        raise ValidationError([{**problem, "loc": ("query", "cursor")}])
    return value
