"""On a run's page: what it forgot, and what memory's gate let not in, with why and where it waits."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Person
from tests.support.markup import markup_of
from workflows.models import RunEvent


pytestmark = pytest.mark.django_db

ENTRY = "01a0c3f0-0000-7000-8000-000000000000"


def page_of(person: Person, *events: tuple[str, dict[str, Any]], **fields: Any) -> str:
    ended = {"status": "succeeded", "finished_at": timezone.now(), "outputs": {}}
    made = make_run(person, make_workflow(person), **ended, **fields)
    with tenant([made.team_id]):
        for seq, (name, data) in enumerate(events, start=1):
            RunEvent.objects.create(
                team_id=made.team_id, run=made, seq=seq, name=name, data={"node": "keep", **data}
            )
    return str(markup_of(person.client.get(f"/runs/{made.pk}/")))


def forgot(count: int, **more: Any) -> tuple[str, dict[str, Any]]:
    return "memory_forgotten", {
        "scope": "user",
        "count": count,
        "key": None,
        "filter": None,
        **more,
    }


def kept_out(*reasons: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "memory_kept_out", {"scope": "global", "key": "k", "reasons": list(reasons), **more}


def test_what_a_run_forgot_is_named_with_how_many(alice: Person) -> None:
    page = page_of(alice, forgot(1, key="city"), forgot(3, filter={"topic": "tea"}))

    assert "<h3>Forgotten</h3>" in page
    assert "city" in page
    assert "topic" in page
    assert ["Memories: 1" in page, "Memories: 3" in page] == [True, True]
    assert "neither recalled nor remembered" not in page
    assert "Undo memory changes" in page


def test_what_was_not_let_in_says_why_and_leads_to_where_it_waits(alice: Person) -> None:
    page = page_of(
        alice, kept_out("gives_orders", "from_outside", entry=ENTRY), kept_out("too_short")
    )

    assert "<h3>Not stored</h3>" in page
    assert "Looks like instructions · From the web or a tool" in page
    assert f'href="/memory/entries/{ENTRY}/"' in page
    assert page.count("In quarantine") == 1
    assert "Too short" in page


def test_run_that_was_tried_out_would_have_forgotten(alice: Person) -> None:
    page = page_of(alice, forgot(1, key="city"), debug={"memory": "sandbox"})

    assert "<h3>Will be forgotten</h3>" in page
    assert "Undo memory changes" not in page


def test_run_that_did_neither_says_nothing_of_it(alice: Person) -> None:
    page = page_of(alice, forgot(0), kept_out("paused"))

    assert "<h3>Forgotten</h3>" not in page
    assert "<h3>Not stored</h3>" not in page
