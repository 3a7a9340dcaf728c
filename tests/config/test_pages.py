"""Pages of lists: nothing is missing or repeated, and cursors of other lists are refused."""

from typing import Any

import pytest
from django.test import RequestFactory
from ninja.errors import ValidationError

from config.http.pages import (
    KeysetListing,
    ListParameters,
    Pages,
    Rows,
    list_rows,
    list_uncounted,
)
from tests.support.cases import for_each


NUMBERS = list(range(1, 8))


def read_keyset(position: int | None, limit: int) -> Rows[int]:
    return Rows([number for number in NUMBERS if number > (position or 0)][:limit])


LISTS = {
    "sequence": (NUMBERS, 7),
    "counted": (list_rows(NUMBERS), 7),
    "uncounted": (list_uncounted(lambda offset, limit: NUMBERS[offset : offset + limit]), None),
    "keyset": (KeysetListing(read_keyset, lambda number: number), None),
}


def read_page(listing: Any, **parameters: Any) -> dict[str, Any]:
    page = ListParameters(**parameters)
    return Pages().paginate_queryset(listing, page, RequestFactory().get("/"))


@for_each("name", LISTS)
@for_each("limit", [1, 3, 6, 7, 200])
def test_pages_together_are_the_list(name: str, limit: int) -> None:
    listing, count = LISTS[name]
    pages: list[dict[str, Any]] = []
    cursor: str | None = ""

    while cursor is not None:
        pages.append(read_page(listing, limit=limit, cursor=cursor))
        cursor = pages[-1]["next"]

    assert [number for page in pages for number in page["items"]] == NUMBERS
    assert {len(page["items"]) for page in pages[:-1]} <= {limit}
    assert pages[-1]["items"]
    assert {page["count"] for page in pages} == {count}


@pytest.mark.parametrize("name", LISTS)
def test_cursor_of_nothing_or_of_another_list_is_refused(name: str) -> None:
    of_other = "keyset" if name != "keyset" else "counted"
    foreign = read_page(LISTS[of_other][0], limit=1)["next"]

    for cursor in ("5", "x", "e30", "é", foreign):
        with pytest.raises(ValidationError):
            read_page(LISTS[name][0], limit=1, cursor=cursor)
