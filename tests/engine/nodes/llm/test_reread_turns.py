"""The window of a conversation has what memory knows now, for every model: nothing forgotten, and ends with their days."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memory.core.records import MemoryEntry, StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.support.documents import document, end, llm, start
from workflows.engine.earlier_turns import EarlierTurn, TurnFact, list_facts
from workflows.engine.ports import ModelChunk, ModelRequest
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.testing.case_runs import CaseHistory


MIA = {"conversation_id": "c1", "user_id": "mia", "query": "And now?"}
PHONE, HOME = "My phone number is 555-867-5309.", "I live in Berlin."


class Listening:
    """A connected model, which keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        yield ModelChunk(text="Hm.", finish_reason="stop")


@pytest.fixture
def memory() -> InMemoryProvider:
    return InMemoryProvider()


def tell(memory: InMemoryProvider, text: str) -> tuple[MemoryEntry, EarlierTurn]:
    entry = memory.store(StoreParams("user:mia", f"m-{len(text)}", value=text))
    fact = TurnFact(entry.id, "user", text, is_stored=True)
    return entry, EarlierTurn(text, f"Noted: {text}", facts=(fact,))


async def send(memory: Any, *turns: EarlierTurn) -> list[str]:
    """Return what the window has in the prompt of the next turn."""
    models = Listening()
    window = {"window": {"enabled": True, "size": 50}}
    nodes = [start(), llm("x", ("system", "Be brief."), memory=window), end(text=["x", "text"])]
    made = document(nodes, ["start -> x", "x -> end"])
    runner = WorkflowRunner(made, models=models, memory=memory, history=CaseHistory([*turns]))
    result = await runner.start(system=MIA).result()
    assert result.error is None
    return [message.text for message in models.requests[0].messages[1:-1]]


async def test_what_was_forgotten_leaves_the_window_and_returns_when_it_is_restored(
    memory: InMemoryProvider,
) -> None:
    entry, turn = tell(memory, PHONE)
    _, other = tell(memory, HOME)
    before = await send(memory, turn, other)

    memory.delete("user:mia", entry.key)
    forgotten = await send(memory, turn, other)
    memory.adopt([entry])
    restored = await send(memory, turn, other)

    assert before == restored == [PHONE, f"Noted: {PHONE}", HOME, f"Noted: {HOME}"]
    assert forgotten == ["…", "…", HOME, f"Noted: {HOME}"]


async def test_what_was_replaced_has_its_day_in_the_window(memory: InMemoryProvider) -> None:
    entry, turn = tell(memory, HOME)
    memory.adopt([replace(entry, valid_until=datetime(2026, 3, 3, tzinfo=UTC))])

    assert await send(memory, turn) == [f"[until 3 Mar 2026] {HOME}", f"Noted: {HOME}"]


async def test_turns_without_facts_ask_memory_nothing() -> None:
    turn = EarlierTurn(PHONE, "OK")

    assert await send(None, turn) == [PHONE, "OK"]
    assert await send(InMemoryProvider(), turn) == [PHONE, "OK"]


def test_facts_of_a_turn_are_the_texts_that_it_stored_or_recalled() -> None:
    events: list[Any] = [
        {"scope": "user", "entries": [{"id": "a", "value": HOME}, {"id": "b", "value": {"x": 1}}]},
        {"scope": "user", "entry": {"id": "c", "key": "k", "value": PHONE}},
        {"scope": "user", "entry": {"id": "c", "key": "k", "value": PHONE}},
        {"scope": "run", "entry": {"id": "d", "value": "scratch"}},
        {"scope": "user", "entry": {"id": "", "value": "kept elsewhere"}},
        {"scope": "user", "entry": {"id": "e", "value": "x" * 3_000}},
    ]

    assert list_facts(events) == (
        TurnFact("a", "user", HOME),
        TurnFact("c", "user", PHONE, is_stored=True),
    )
