"""Which page an address asks for, and what it may ask."""

import pytest
from django.test import RequestFactory

from tests.factories.workflows import make_workflow, within
from tests.support.cast import Person
from workflows.models import Workflow
from workflows.views import paging


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
        ("99999", paging.LAST_PAGE),
        ("9" * 400, 1),
    ],
)
@pytest.mark.django_db
def test_page_asked_for_is_a_page_there_can_be(asked: str, number: int):
    request = RequestFactory().get("/", {"page": asked})

    assert paging.page_of(request, Workflow.objects.unscoped().none()).number == number


@pytest.mark.django_db
def test_pages_together_show_every_row_once(alice: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paging, "PER_PAGE", 2)
    for name in ("a", "b", "c", "d"):
        make_workflow(alice, name)

    with within(alice):
        rows = Workflow.objects.unscoped().order_by("name")
        pages = [
            paging.page_of(RequestFactory().get("/", {"page": number, "q": "x&y"}), rows)
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
        page = paging.page_of(RequestFactory().get("/"), Workflow.objects.unscoped().order_by("id"))

    assert (len(page.items), page.has_other_pages, page.next_url) == (1, False, "?page=2")
