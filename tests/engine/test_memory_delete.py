"""The memory-delete node, with the in-memory provider."""

import itertools
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from workflows.engine.language.document import Document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.events import MemoryForgotten
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


SYSTEM = {"user_id": "mia", "conversation_id": "c1"}


def forgetting(**data: Any) -> Document:
    nodes = [start("q"), node("gone", "memory-delete", **{"scope": "user", **data}),
             end(n=["gone", "deleted"])]  # fmt: skip
    ids = [made.id for made in nodes]
    return document(nodes, [f"{a} -> {b}" for a, b in itertools.pairwise(ids)])


async def three() -> InMemoryProvider:
    memory = InMemoryProvider()
    for number in range(3):
        memory.store(StoreParams("user:mia", f"k{number}", value=number, metadata={"n": number}))
    return memory


WHICH = [
    ({"key": "k1"}, 1, ["k0", "k2"]),
    ({"key": "k{{#start.q#}}"}, 1, ["k0", "k1"]),
    ({"key": "nothing"}, 0, ["k0", "k1", "k2"]),
    ({"filter": {"n": {"$gte": 1}}}, 2, ["k0"]),
    ({"filter": {"n": 7}}, 0, ["k0", "k1", "k2"]),
    ({"key": "k1", "filter": {"n": 2}}, 0, ["k0", "k1", "k2"]),
    ({"key": "k1", "filter": {"n": 1}}, 1, ["k0", "k2"]),
    ({"key": "k1", "scope": "conversation"}, 0, ["k0", "k1", "k2"]),
]


@for_each("data, deleted, left", WHICH)
async def test_what_key_or_filter_names_is_gone(
    data: dict[str, Any], deleted: int, left: list[str]
) -> None:
    memory = await three()

    result = await WorkflowRunner(forgetting(**data), memory=memory).run(
        inputs={"q": "2"}, system=SYSTEM
    )

    assert (result.status, result.outputs) == (RunStatus.SUCCEEDED, {"n": deleted})
    assert sorted(memory.living("user:mia")) == left


async def test_event_says_what_and_how_many() -> None:
    runner = WorkflowRunner(forgetting(filter={"n": {"$lt": 2}}), memory=await three())

    handle = runner.start(inputs={"q": ""}, system=SYSTEM)
    events = [event async for event in handle.events()]

    assert [event for event in events if isinstance(event, MemoryForgotten)] == [
        MemoryForgotten("gone", "user", 2, None, {"n": {"$lt": 2}})
    ]


@pytest.mark.parametrize("key", ["{{#start.q#}}", "{{#start.none#}}"])
async def test_key_that_comes_out_empty_fails_and_forgets_nothing(key: str) -> None:
    """Beside a filter it must not become "everything the filter finds"."""
    memory = await three()

    result = await WorkflowRunner(
        forgetting(key=key, filter={"n": {"$gte": 0}}), memory=memory
    ).run(inputs={"q": ""}, system=SYSTEM)

    assert result.status is RunStatus.FAILED
    assert len(memory.living("user:mia")) == 3


@pytest.mark.parametrize("data", [{}, {"key": ""}, {"filter": {}}])
def test_node_that_names_nothing_is_a_problem(data: dict[str, Any]) -> None:
    problems = validate(forgetting(**data), build_kinds())

    assert [one.code for one in problems if one.node == "gone"] == ["config.value_error"]


async def test_missing_person_fails_the_node_by_name() -> None:
    result = await WorkflowRunner(forgetting(key="k"), memory=InMemoryProvider()).run(
        inputs={"q": ""}
    )

    assert result.status is RunStatus.FAILED
    assert "sys.user_id not set" in (result.error or "")


def test_without_memory_the_kind_is_unknown_by_name() -> None:
    problems = validate(forgetting(key="k"), build_kinds(memory=False))

    assert [one.code for one in problems if one.node == "gone"] == ["kind.unknown"]
