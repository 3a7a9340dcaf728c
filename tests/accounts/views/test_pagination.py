"""Which page an address asks for, and what it may ask."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import RequestFactory

from tests.factories.workflows import make_workflow, within
from tests.support.cast import Person
from workflows.models import Workflow
from workflows.views import pagination


@pytest.mark.parametrize(
    ("asked", "number"),
    [
        ("1", 1),
        ("2", 2),
        ("0", 1),
        ("-1", 1),
        ("", 1),
        ("two", 1),
        ("1.5", 1),
        ("²", 1),
        ("99999", pagination.LAST_PAGE),
        ("9" * 400, 1),
    ],
)
@pytest.mark.django_db
def test_page_asked_for_is_a_page_there_can_be(asked: str, number: int):
    request = RequestFactory().get("/", {"page": asked})

    assert pagination.page_of(request, Workflow.objects.unscoped().none()).number == number


@pytest.mark.django_db
def test_pages_together_show_every_row_once(alice: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pagination, "PER_PAGE", 2)
    for name in ("a", "b", "c", "d"):
        make_workflow(alice, name)

    with within(alice):
        rows = Workflow.objects.unscoped().order_by("name")
        pages = [
            pagination.page_of(RequestFactory().get("/", {"page": number, "q": "x&y"}), rows)
            for number in (1, 2, 3)
        ]

    assert [[row.name for row in page.items] for page in pages] == [["a", "b"], ["c", "d"], []]
    assert [page.has_next_page for page in pages] == [True, False, False]
    assert [page.has_previous_page for page in pages] == [False, True, True]
    assert pages[1].previous_url == "?q=x%26y&page=1"
    assert pages[0].next_url == "?q=x%26y&page=2"


@pytest.mark.django_db
def test_only_page_has_no_pager(alice: Person):
    make_workflow(alice)

    with within(alice):
        page = pagination.page_of(
            RequestFactory().get("/"), Workflow.objects.unscoped().order_by("id")
        )

    assert (len(page.items), page.has_other_pages, page.next_url) == (1, False, "?page=2")


@pytest.mark.django_db
def test_pages_by_time_show_every_row_once_both_ways_whatever_is_added(
    alice: Person, monkeypatch: pytest.MonkeyPatch
):
    """Several of one moment, and new ones at the top while somebody turns."""
    monkeypatch.setattr(pagination, "PER_PAGE", 3)
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for hours in (0, 1, 1, 1, 1, 2, 3):
        made_at(alice, start + timedelta(hours=hours))
    with within(alice):
        whole = list(Workflow.objects.unscoped().order_by("-created_at", "-id"))

        first = turned("")
        made_at(alice, start + timedelta(hours=9))
        second = turned(first.next_url)
        third = turned(second.next_url)
        back = turned(third.previous_url)
        top = turned(back.previous_url)

    assert [*first.items, *second.items, *third.items] == whole
    assert [one.has_next_page for one in (first, second, third)] == [True, True, False]
    assert [one.has_previous_page for one in (first, second, third)] == [False, True, True]
    assert back.items == second.items
    assert (back.has_previous_page, back.has_next_page) == (True, True)
    assert top.items == whole[:3]
    # One is newer now than what stood at the top: the page before is the newest, and a whole one.
    assert top.has_previous_page
    with within(alice):
        newest = turned(top.previous_url)
    assert [newest.items[1:], newest.has_previous_page] == [whole[:2], False]


@pytest.mark.django_db
def test_page_by_time_keeps_the_filters_and_says_its_days(
    alice: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pagination, "PER_PAGE", 2)
    for days in range(4):
        made_at(alice, datetime(2026, 3, 1 + days, 12, tzinfo=UTC))

    with within(alice):
        first = turned("?q=x%26y&page=7&before=nonsense")
        second = turned(first.next_url)
        beyond = turned("?before=1971-01-01T00:00:00Z~" + "0" * 32)

    assert first.next_url.startswith("?q=x%26y&before=2026-03-03T12%3A00%3A00.000000Z~")
    assert [first.label, second.label] == [
        "March 3, 2026–March 4, 2026",
        "March 1, 2026–March 2, 2026",
    ]
    assert (list(beyond.items), beyond.previous_url, beyond.has_previous_page) == ([], "?", True)


def made_at(alice: Person, at: datetime) -> None:
    made = make_workflow(alice, f"w{at}")
    with within(alice):
        Workflow.objects.unscoped().filter(pk=made.pk).update(created_at=at)


def turned(address: str) -> pagination.TimedPage[Workflow]:
    request = RequestFactory().get(f"/{address}")
    return pagination.timed_page_of(request, Workflow.objects.unscoped())
