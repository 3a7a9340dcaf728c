"""What leaves on the bus, in which order."""

import asyncio
from json import loads
from uuid import UUID

import pytest

from tests.support.movable_time import movable_time
from tests.support.waiting import until_async
from workflows.execution.journal.outbox import (
    MAX_EVENT_CHARACTERS,
    TEXT_DELAY,
    Outbox,
    RunMessages,
)


RUN = UUID(int=1)


class Bus:
    """Stands where the publisher stands, and writes down what it was given."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    async def publish(self, messages: list[tuple[str, str]]) -> None:
        self.sent += messages

    def items(self) -> list[object]:
        return [item for _channel, body in self.sent for item in loads(body)["items"]]


def test_text_stands_between_the_events_it_was_said_between() -> None:
    messages = RunMessages(1, 0)
    messages.add_text(0, 0, "n", None, "before ")
    messages.add_text(0, 7, "n", None, "it ")
    messages.add_text(1, 10, "n", None, "after")

    messages.add_event(1, "e", "{}")

    assert [loads(item) for item in messages.items] == [
        ["t", 0, 0, "n", None, "before it "],
        ["e", 1, "e", {}],
    ]
    messages.move_texts()
    assert loads(messages.items[-1]) == ["t", 1, 10, "n", None, "after"]


def test_text_after_an_uncommitted_event_waits_for_it() -> None:
    messages = RunMessages(1, 0)
    messages.add_text(1, 0, "n", None, "too early")

    messages.move_texts()

    assert messages.items == []


def test_large_event_is_announced_by_number_only() -> None:
    messages = RunMessages(1, 0)

    messages.add_event(1, "e", '"' + "x" * MAX_EVENT_CHARACTERS + '"')

    assert messages.items == ['["e",1]']


async def test_everything_due_leaves_in_one_message_and_a_closed_run_is_sent_too() -> None:
    bus = Bus()
    outbox = Outbox(bus)  # type: ignore[arg-type]
    messages = outbox.open_run(RUN, 2, 0)
    messages.add_event(1, "a", "{}")
    outbox.schedule(0.01)
    messages.add_event(2, "b", "{}")
    outbox.close_run(RUN, messages)

    await until_async(lambda: bus.sent)
    await outbox.drain()  # sends what is left

    assert bus.items() == [["e", 1, "a", {}], ["e", 2, "b", {}]]
    assert [name for name, _body in bus.sent] == [f"run:{RUN}"]
    assert loads(bus.sent[0][1])["attempt"] == 2


async def test_first_text_leaves_at_once_and_further_text_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workflows.execution.journal.outbox.TEXT_DELAY", 60.0)
    bus = Bus()
    outbox = Outbox(bus)  # type: ignore[arg-type]
    messages = outbox.open_run(RUN, 1, 0)

    with movable_time() as clock:
        messages.add_text(0, 0, "n", None, "First")
        outbox.schedule_text(messages)
        await run_what_is_due()
        assert bus.items() == [["t", 0, 0, "n", None, "First"]]

        for offset, text in ((5, " and"), (9, " more")):
            messages.add_text(0, offset, "n", None, text)
            outbox.schedule_text(messages)
        await run_what_is_due()
        assert len(bus.sent) == 1
        clock.let_pass(60)
        await until_async(lambda: len(bus.sent) > 1)

    assert bus.items()[1:] == [["t", 0, 5, "n", None, " and more"]]


async def test_first_text_of_a_run_leaves_at_once_beside_other_runs_of_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workflows.execution.journal.outbox.TEXT_DELAY", 60.0)
    bus = Bus()
    outbox = Outbox(bus)  # type: ignore[arg-type]
    busy, fresh = outbox.open_run(RUN, 1, 0), outbox.open_run(UUID(int=2), 1, 0)

    with movable_time():
        for offset, messages in ((0, busy), (4, busy), (0, fresh)):
            messages.add_text(0, offset, "n", None, "text")
            outbox.schedule_text(messages)
            await run_what_is_due()

    assert [name for name, _body in bus.sent] == [f"run:{RUN}", f"run:{RUN}", f"run:{UUID(int=2)}"]


async def test_first_text_of_each_source_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflows.execution.journal.outbox.TEXT_DELAY", 60.0)
    bus = Bus()
    outbox = Outbox(bus)  # type: ignore[arg-type]
    messages = outbox.open_run(RUN, 1, 0)

    with movable_time():
        for offset, node in ((0, "plan"), (4, "answer"), (8, "plan"), (12, "answer")):
            messages.add_text(0, offset, node, None, "text")
            outbox.schedule_text(messages)
            await run_what_is_due()

    assert bus.items() == [["t", 0, 0, "plan", None, "text"], ["t", 0, 4, "answer", None, "text"]]


@pytest.mark.parametrize("later_events", [0, 1])
async def test_first_text_that_waits_for_a_commit_leaves_right_after_it(
    monkeypatch: pytest.MonkeyPatch, later_events: int
) -> None:
    monkeypatch.setattr("workflows.execution.journal.outbox.EVENTS_DELAY", 60.0)
    bus = Bus()
    outbox = Outbox(bus)  # type: ignore[arg-type]
    messages = outbox.open_run(RUN, 1, 0)

    with movable_time():
        messages.add_text(1, 0, "n", None, "First")
        outbox.schedule_text(messages)
        await run_what_is_due()
        has_come_too_soon = bool(bus.sent)
        for seq in range(1, 2 + later_events):
            messages.add_event(seq, "e", "{}")
        outbox.schedule_events(messages)
        await run_what_is_due()

    assert not has_come_too_soon
    assert bus.items()[:2] == [["e", 1, "e", {}], ["t", 1, 0, "n", None, "First"]]


async def test_events_without_first_text_wait_for_further_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workflows.execution.journal.outbox.EVENTS_DELAY", 60.0)
    bus = Bus()
    outbox = Outbox(bus)  # type: ignore[arg-type]
    messages = outbox.open_run(RUN, 1, 0)

    with movable_time():
        messages.add_event(1, "e", "{}")
        outbox.schedule_events(messages)
        await run_what_is_due()

    assert bus.sent == []


async def test_what_is_due_while_something_is_sent_leaves_right_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workflows.execution.journal.outbox.TEXT_DELAY", 60.0)
    bus, goes_on = Bus(), asyncio.Event()

    async def publish_slowly(messages: list[tuple[str, str]]) -> None:
        await goes_on.wait()
        bus.sent += messages

    monkeypatch.setattr(bus, "publish", publish_slowly)
    outbox = Outbox(bus)  # type: ignore[arg-type]
    first, second = outbox.open_run(RUN, 1, 0), outbox.open_run(UUID(int=2), 1, 0)

    with movable_time():
        for messages in (first, second):
            messages.add_text(0, 0, "n", None, "text")
            outbox.schedule_text(messages)
            await run_what_is_due()
        goes_on.set()
        await until_async(lambda: len(bus.sent) > 1)

    assert [name for name, _body in bus.sent] == [f"run:{RUN}", f"run:{UUID(int=2)}"]


async def run_what_is_due() -> None:
    """Let the loop do what it has to do, in which no delay ends."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_text_waits_no_longer_than_a_person_notices() -> None:
    assert TEXT_DELAY <= 0.025
