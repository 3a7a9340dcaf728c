"""What text from outside asks to forget is shown to a person, and only what they have seen is forgotten."""

from itertools import pairwise
from typing import Any

import pytest

from memory.core.records import StoreParams, Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import answer_wait
from tests.support.documents import document, end, node, start
from workflows.engine.language.document import Document
from workflows.engine.runtime.runner import RunHandle, WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


SYSTEM = {"user_id": "mia", "conversation_id": "c1"}
FILTER = {"about": "door"}


def build(*nodes: Any) -> Document:
    made = [start("q"), *nodes, end(n=[nodes[-1].id, "deleted"])]
    return document(made, [f"{first.id} -> {second.id}" for first, second in pairwise(made)])


def forgetting(**data: Any) -> Document:
    key = {"key": "{{#start.q#}}"} if "filter" not in data else {}
    return build(node("gone", "memory-delete", scope="user", **key, **data))


def remember(memory: InMemoryProvider, key: str, value: str, tier: Tier = Tier.LONG_TERM) -> None:
    memory.store(StoreParams("user:mia", key, value=value, metadata=FILTER, tier=tier))


async def begin(
    made: Document, memory: InMemoryProvider, *, is_chosen: bool = False
) -> tuple[WorkflowRunner, RunHandle]:
    """Start a run whose inputs are from outside, or that text from outside has chosen."""
    runner = WorkflowRunner(made, memory=memory)
    marks = runner.plan.list_untrusted_starts(has_untrusted_inputs=True, is_chosen=is_chosen)
    handle = runner.start(inputs={"q": "door"}, system=SYSTEM, untrusted=marks)
    await handle.result()
    return runner, handle


async def read_form(handle: RunHandle) -> Any:
    [wait] = (await handle.result()).open_waits
    return wait.wait.form


@pytest.mark.parametrize(("action", "count"), [("allow", 1), ("refuse", 0)])
async def test_question_shows_the_memory_of_the_key(action: str, count: int) -> None:
    memory = InMemoryProvider()
    remember(memory, "door", "The code is 1234")
    runner, handle = await begin(forgetting(), memory)

    form = await read_form(handle)
    _handle, result = await answer_wait(runner, handle, action)

    assert form["arguments"] == {
        "scope": "user",
        "key": "door",
        "memories": [{"key": "door", "value": "The code is 1234"}],
    }
    assert result.outputs == {"n": count}
    assert len(memory.living("user:mia")) == 1 - count


async def test_memory_that_was_changed_after_the_question_is_asked_about_again() -> None:
    memory = InMemoryProvider()
    remember(memory, "door", "The code is 1234")
    runner, handle = await begin(forgetting(), memory)
    remember(memory, "door", "The code is 9876")

    handle, result = await answer_wait(runner, handle, "allow")

    assert result.status is RunStatus.PAUSED
    form = await read_form(handle)
    assert form["arguments"]["memories"] == [{"key": "door", "value": "The code is 9876"}]
    assert set(memory.living("user:mia")) == {"door"}
    _handle, result = await answer_wait(runner, handle, "allow")
    assert (result.outputs, memory.living("user:mia")) == ({"n": 1}, {})


async def test_filter_forgets_what_the_person_saw_and_nothing_that_was_added_or_is_held() -> None:
    memory = InMemoryProvider()
    for key in ("front", "back"):
        remember(memory, key, f"The {key} door is open")
    remember(memory, "held", "Nobody sees this", Tier.QUARANTINE)
    made = forgetting(filter=FILTER)
    runner, handle = await begin(made, memory, is_chosen=True)
    assert len((await read_form(handle))["arguments"]["memories"]) == 2
    remember(memory, "side", "The side door is open")

    handle, result = await answer_wait(runner, handle, "allow")
    assert result.status is RunStatus.PAUSED
    assert len((await read_form(handle))["arguments"]["memories"]) == 3
    _handle, result = await answer_wait(runner, handle, "allow")

    assert (result.outputs, set(memory.living("user:mia"))) == ({"n": 3}, {"held"})


async def test_nobody_is_asked_about_nothing() -> None:
    _runner, handle = await begin(forgetting(), InMemoryProvider())

    result = await handle.result()

    assert (result.status, result.outputs) == (RunStatus.SUCCEEDED, {"n": 0})


async def test_question_about_a_history_shows_its_messages() -> None:
    append = node(
        "append",
        "conversation-memory",
        action="append",
        messages=[{"role": "user", "text": "The code is 1234"}],
    )
    clear = node("clear", "conversation-memory", action="clear")
    nodes = [start("q"), append, clear, end(n=["clear", "count"])]
    made = document(nodes, [f"{first.id} -> {second.id}" for first, second in pairwise(nodes)])
    runner, handle = await begin(made, InMemoryProvider(), is_chosen=True)

    form = await read_form(handle)
    _handle, result = await answer_wait(runner, handle, "allow")

    assert form["arguments"] == {
        "scope": "conversation",
        "action": "clear",
        "memories": [{"role": "user", "content": "The code is 1234"}],
    }
    assert result.outputs == {"n": 1}
