"""The text of a recall: quoted lines for an author's prompt, and recent memories where the search finds few."""

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest

from memory.core.records import MemoryEntry, StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.engine.nodes.memory.test_quoting import CORPUS
from tests.support.cases import for_each
from tests.support.documents import branch, document, end, node, start
from workflows.engine.nodes.memory.entry_keys import build_key
from workflows.engine.nodes.memory.quoting import DATA_NOTE, MEMORY_HEADING, render_quotes
from workflows.engine.ports import Message, ModelRequest, Origin
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.offline.provider import build_answer


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def entry(value: Any, key: str = "diet", **metadata: Any) -> MemoryEntry:
    return MemoryEntry("1", "user:mia", key, value=value, metadata=metadata, updated_at=NOON)


def test_each_memory_is_a_quoted_line_with_where_it_comes_from() -> None:
    fact = "I'm allergic to peanuts."
    hits = [entry("vegan"), entry(fact, build_key(fact)), entry("Buy now", "page", origin="web")]

    assert render_quotes(hits).splitlines() == [
        MEMORY_HEADING,
        DATA_NOTE,
        '- diet (22 Nov 2026): "vegan"',
        '- 22 Nov 2026: "I\'m allergic to peanuts."',
        '- page (22 Nov 2026) (from outside): "Buy now"',
    ]
    assert render_quotes([]) == ""


@for_each("text", CORPUS)
def test_memory_can_not_leave_its_line(text: str) -> None:
    lines = render_quotes([entry(text, key=text[:40])]).splitlines()

    assert len(lines) == 3
    assert "<" not in lines[2]
    assert "[" not in lines[2]


def test_offline_model_answers_from_the_quoted_text() -> None:
    known = render_quotes([entry('I like [green] "tea".', "tea")])
    prompt = f"Use what you remember.\n{known}\nBe kind."
    messages = (Message("system", prompt), Message("user", "Which tea do I like?"))

    answer = build_answer(ModelRequest("offline", "offline", messages, Origin("r", "n", "i")))

    assert answer.startswith('I remember: “I like [green] "tea".”')


def build_memory() -> InMemoryProvider:
    memory = InMemoryProvider()
    for key, value in (("a", "I like tea"), ("b", "I live in Lyon"), ("c", "My cat is Miso")):
        memory.store(StoreParams("user:mia", key, value=value))
    return memory


async def recall(**data: Any) -> Any:
    memory = build_memory()
    settings = {"scope": "user", "query_selector": ["start", "q"], **data}
    nodes = [
        start("q"),
        node("found", "memory-recall", **settings),
        end(results=["found", "results"], count=["found", "count"], text=["found", "text"]),
    ]
    edges = [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(nodes)]
    runner = WorkflowRunner(document(nodes, edges), memory=memory)
    result = await runner.run(inputs={"q": "Where do I live?"}, system={"user_id": "mia"})
    assert result.error is None
    return result.outputs


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({}, ["b"]),
        ({"include_recent": True}, ["b", "c", "a"]),
        ({"include_recent": True, "top_k": 2}, ["b", "c"]),
        ({"include_recent": True, "key": "a"}, ["a"]),
    ],
)
async def test_recent_memories_follow_the_matches_if_asked_for(
    settings: dict[str, Any], keys: list[str]
) -> None:
    outputs = await recall(**settings)

    assert [hit["key"] for hit in outputs["results"]] == keys
    assert outputs["count"] == len(keys)
    assert outputs["text"].count("\n- ") == len(keys)


@pytest.mark.parametrize("include_recent", [False, True])
@pytest.mark.parametrize(
    ("question", "route"), [("Where do I live?", "known"), ("What is 6 times 7?", "unknown")]
)
async def test_condition_branches_on_whether_anything_relevant_was_found(
    question: str, route: str, include_recent: bool
) -> None:
    settings = {"query_selector": ["start", "q"], "include_recent": include_recent}
    nodes = [
        start("q"),
        node("recall", "memory-recall", scope="user", **settings),
        branch("if", ["recall", "found"], "true"),
        end("known", found=["recall", "found"], known=["recall", "text"]),
        end("unknown", found=["recall", "found"], unknown=["recall", "text"]),
    ]
    edges = ["start -> recall", "recall -> if", "if:true -> known", "if:false -> unknown"]
    runner = WorkflowRunner(document(nodes, edges), memory=build_memory())

    result = await runner.run(inputs={"q": question}, system={"user_id": "mia"})

    assert route in result.outputs
    assert result.outputs["found"] is (route == "known")
    assert bool(result.outputs[route]) is (route == "known" or include_recent)
