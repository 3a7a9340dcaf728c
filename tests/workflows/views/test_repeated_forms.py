"""A message that is sent twice, by a double click or after a broken connection, starts one run."""

import re
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from tests.factories.workflows import within
from tests.support.cast import Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Run, Workflow
from workflows.services import idempotency, publishing


MESSAGE_ID = re.compile(r'name="sys.form_id" value="([^"]+)"')
PAGES = {"workflows:detail": "workflows:say", "workflows:chat": "workflows:chat_say"}


@pytest.fixture
def published(alice: Person, chat: Workflow) -> Workflow:
    publishing.publish(alice.principal, workflow=chat, note="")
    with within(alice):
        chat.refresh_from_db()
    return chat


def send(who: Person, address: str, workflow: Workflow, **data: str) -> Any:
    headers = HTMX if data.pop("htmx", "yes") else None
    return who.client.post(reverse(address, args=[workflow.pk]), data, headers=headers)


def read_id(html: str) -> str:
    (message_id,) = MESSAGE_ID.findall(html)
    return message_id


def list_runs(person: Person) -> list[Run]:
    with within(person):
        return list(Run.objects.visible_to(person.principal).select_related("conversation"))


@pytest.mark.parametrize(("page", "address"), PAGES.items())
def test_message_that_is_sent_twice_starts_one_run_and_leads_to_its_conversation(
    alice: Person, published: Workflow, page: str, address: str
):
    url = reverse(page, args=[published.pk])
    message_id = read_id(text_of(alice.client.get(url)))
    message = {"query": "Hello", "sys.form_id": message_id}

    first = send(alice, address, published, **message)
    again = send(alice, address, published, **message)
    without_htmx = send(alice, address, published, **message, htmx="")

    (run,) = list_runs(alice)
    assert run.conversation is not None
    assert (again.status_code, again.content) == (204, b"")
    assert again["HX-Redirect"] == first["HX-Replace-Url"]
    assert run.conversation.key in again["HX-Redirect"]
    assert (without_htmx.status_code, without_htmx["Location"]) == (302, again["HX-Redirect"])
    assert read_id(text_of(first)) != message_id  # the next message has an id of its own


@pytest.mark.parametrize("address", PAGES.values())
def test_same_words_in_another_message_start_another_run(
    alice: Person, published: Workflow, address: str
):
    send(alice, address, published, query="Hello", **{"sys.form_id": "m1"})
    send(alice, address, published, query="Hello", **{"sys.form_id": "m2"})
    send(alice, address, published, query="Another", **{"sys.form_id": "m2"})

    assert len(list_runs(alice)) == 3


@pytest.mark.parametrize("address", PAGES.values())
def test_message_that_was_refused_may_be_sent_again(
    alice: Person, published: Workflow, address: str
):
    files = '[{"id": "00000000-0000-4000-8000-000000000000"}]'  # it takes none
    message = {"query": "Hello", "sys.form_id": "m1", "files": files}

    answers = [send(alice, address, published, **message) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [422, 422]
    assert list_runs(alice) == []


def test_repetition_changes_nothing_while_the_first_message_is_handled(
    alice: Person, published: Workflow, monkeypatch: pytest.MonkeyPatch
):
    # As another transaction holds it, for longer than anybody waits.
    monkeypatch.setattr(idempotency, "_lock", lambda name: False)
    monkeypatch.setattr(idempotency, "_wait_for_lock", lambda name, patience: False)
    message = {"query": "Hello", "sys.form_id": "m1"}

    repeated = send(alice, "workflows:say", published, **message)
    without_htmx = send(alice, "workflows:say", published, **message, htmx="")

    assert (repeated.status_code, repeated.content) == (204, b"")
    assert without_htmx["Location"] == reverse("workflows:detail", args=[published.pk])
    assert list_runs(alice) == []
    assert not connection.needs_rollback
