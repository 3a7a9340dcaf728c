"""On the server, the window of a chat has what memory knows now."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from memory.public import MemoryCaller
from tests.support.cast import Cast
from workflows.execution.worker import Worker
from workflows.models import Run, Step
from workflows.services.runs.runs import start_run
from workflows.services.samples.samples import copy_sample


pytestmark = pytest.mark.django_db(transaction=True)

ENDED = datetime(2026, 3, 3, tzinfo=UTC)
PHONE, HOME = "My phone number is 555-867-5309.", "I live in Berlin."


@pytest.fixture
def worker(settings: Any) -> Iterator[Worker]:
    settings.REDIS_URL = ""
    made = Worker(capacity=1)
    made.start()
    yield made
    made.stop(0)


def say(cast: Cast, chat: Any, worker: Worker, query: str) -> list[str]:
    """Say it in the chat, and return the messages that a model was sent."""
    run = start_run(cast.alice.principal, workflow=chat, query=query, conversation="c1")
    worker.execute_run(run.pk)
    with tenant([cast.team_a.pk]):
        run = Run.objects.unscoped().get(pk=run.pk)
        assert run.status == "succeeded", run.error
        step = Step.objects.unscoped().get(run=run, node_key="llm")
    return [message["text"] for message in step.inputs["messages"]]


def test_window_leaves_out_what_was_forgotten_until_it_is_restored_and_says_what_ended(
    cast: Cast, worker: Worker
) -> None:
    chat = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="chatbot")
    caller = MemoryCaller(cast.alice.principal, cast.team_a.pk)
    say(cast, chat, worker, PHONE)
    say(cast, chat, worker, HOME)
    with tenant([cast.team_a.pk]):
        entry_id = Entry.objects.unscoped().get(value=PHONE).pk

    before = say(cast, chat, worker, "Hello!")
    services.forget_many(caller, entry_ids=[entry_id], reason="test")
    forgotten = say(cast, chat, worker, "Hello again!")
    services.restore(caller, entry_id=entry_id, reason="test")
    restored = say(cast, chat, worker, "Hello once more!")
    with tenant([cast.team_a.pk]):
        Entry.objects.unscoped().filter(value=HOME).update(valid_until=ENDED)
    ended = say(cast, chat, worker, "Hello at last!")

    assert PHONE in before
    assert not [text for text in forgotten if "5309" in text]
    assert HOME in forgotten
    assert PHONE in restored
    assert HOME in restored
    assert HOME not in ended
    assert f"[until 3 Mar 2026] {HOME}" in ended
