"""Tests of pages by offset and by cursor."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.test import RequestFactory

from accounts.views import pagination
from tests.factories.workflows import make_workflow, within
from tests.support.cases import for_each
from tests.support.cast import Person
from workflows.models import Workflow


@for_each(
    "text, offset",
    [
        ("0", 0),
        ("30", 30),
        ("-1", 0),
        ("", 0),
        ("two", 0),
        ("1.5", 0),
        ("²", 0),
        ("9" * 400, 0),
    ],
)
def test_offset_is_a_number_or_the_beginning(text: str, offset: int):
    assert pagination.read_offset(QueryDict(urlencode({"offset": text}))) == offset


@pytest.mark.django_db
def test_pages_together_show_every_row_once(alice: Person):
    for name in ("a", "b", "c", "d"):
        make_workflow(alice, name)

    with within(alice):
        rows = Workflow.objects.unscoped().order_by("name")
        items, pages = zip(
            *(
                pagination.paginate_by_offset(
                    RequestFactory().get("/", {"offset": offset, "q": "x&y"}), rows, size=2
                )
                for offset in (0, 2, 4)
            ),
            strict=True,
        )

    assert [[row.name for row in page_rows] for page_rows in items] == [["a", "b"], ["c", "d"], []]
    assert [page.has_next_page for page in pages] == [True, False, False]
    assert [page.has_previous_page for page in pages] == [False, True, True]
    assert [page.label for page in pages] == ["1", "2", "3"]
    assert pages[1].previous_url == "?q=x%26y&offset=0"
    assert pages[0].next_url == "?q=x%26y&offset=2"


@pytest.mark.django_db
def test_only_page_has_no_pager(alice: Person):
    make_workflow(alice)

    with within(alice):
        rows, page = pagination.paginate_by_offset(
            RequestFactory().get("/"), Workflow.objects.unscoped().order_by("id")
        )

    assert (len(rows), page.has_other_pages, page.is_counted) == (1, False, False)


def test_counted_page_keeps_the_offset_of_another_list():
    page = pagination.OffsetPage(60, 25, QueryDict("q=x&mine=25&undo=1"), parameter="from")

    assert (page.is_counted, page.has_next_page, page.label) == (True, True, "26–50 of 60")
    assert page.next_url == "?q=x&from=50&mine=25"


@pytest.mark.django_db
def test_pages_by_time_show_every_row_once_both_ways_whatever_is_added(
    alice: Person,
):
    """Several of one moment, and new ones at the top while somebody turns."""
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for hours in (0, 1, 1, 1, 1, 2, 3):
        made_at(alice, start + timedelta(hours=hours))
    with within(alice):
        whole = list(Workflow.objects.unscoped().order_by("-created_at", "-id"))

        first = turn("")
        made_at(alice, start + timedelta(hours=9))
        second = turn(first.next_url)
        third = turn(second.next_url)
        back = turn(third.previous_url)
        top = turn(back.previous_url)

    assert [*first.items, *second.items, *third.items] == whole
    assert [one.has_next_page for one in (first, second, third)] == [True, True, False]
    assert [one.has_previous_page for one in (first, second, third)] == [False, True, True]
    assert back.items == second.items
    assert (back.has_previous_page, back.has_next_page) == (True, True)
    assert top.items == whole[:3]
    # One is newer now than what stood at the top: the page before is the newest, and a whole one.
    assert top.has_previous_page
    with within(alice):
        newest = turn(top.previous_url)
    assert [newest.items[1:], newest.has_previous_page] == [whole[:2], False]


@pytest.mark.django_db
def test_page_by_time_keeps_the_filters_and_says_its_days(
    alice: Person,
):
    for days in range(4):
        made_at(alice, datetime(2026, 3, 1 + days, 12, tzinfo=UTC))

    with within(alice):
        first = turn("?q=x%26y&offset=7&before=nonsense", size=2)
        second = turn(first.next_url, size=2)
        beyond = turn("?before=1971-01-01T00:00:00Z~" + "0" * 32)

    assert first.next_url.startswith("?q=x%26y&before=2026-03-03T12%3A00%3A00.000000Z~")
    assert [first.label, second.label] == [
        "Mar 3, 2026–Mar 4, 2026",
        "Mar 1, 2026–Mar 2, 2026",
    ]
    assert (list(beyond.items), beyond.previous_url, beyond.has_previous_page) == ([], "?", True)


def made_at(alice: Person, at: datetime) -> None:
    made = make_workflow(alice, f"w{at}")
    with within(alice):
        Workflow.objects.unscoped().filter(pk=made.pk).update(created_at=at)


def turn(address: str, size: int = 3) -> pagination.CursorPage[Workflow]:
    request = RequestFactory().get(f"/{address}")
    return pagination.paginate_by_time(request, Workflow.objects.unscoped(), size=size)
