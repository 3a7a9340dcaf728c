"""Pages of newest-first lists, by offset: lists here are a person's own and short."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import models
from django.http import HttpRequest


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
    query = request.GET.copy()
    query.pop("page", None)
    return ListPage(
        items=items[:PER_PAGE],
        number=number,
        has_next_page=len(items) > PER_PAGE,
        path=f"?{query.urlencode()}&" if query else "?",
    )


def _number(text: str) -> int:
    return min(max(int(text), 1), LAST_PAGE) if text.isdecimal() and len(text) < 6 else 1
