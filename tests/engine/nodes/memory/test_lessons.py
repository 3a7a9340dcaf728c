"""Lessons of tasks enter the prompts of tasks and agents, and those of a chat only where its author asks for them."""

import itertools
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import MODEL, ScriptedModel
from tests.engine.test_llm import PIVOT, Reminds
from tests.support.cases import for_each
from tests.support.documents import document, end, llm, node, start
from tests.support.engine import EchoModels
from workflows.engine.runtime.runner import WorkflowRunner


FACT, LESSON = "I like tea with milk.", "Tea needs four minutes."
MEMORY = {"enabled": True, "scope": "user", "query_selector": ["start", "q"]}
RECALL = {"scope": "user", "query_selector": ["start", "q"]}
TASK: dict[str, Any] = {"user_id": "mia"}
CHAT = {**TASK, "query": "tea"}


def build_memory() -> InMemoryProvider:
    memory = InMemoryProvider()
    memory.store(StoreParams("user:mia", "drink", value=FACT))
    memory.store(StoreParams("user:mia", "learning:1", value=LESSON, category="result"))
    return memory


async def run(node_to_run: Any, output: str, system: dict[str, Any], models: Any = None) -> str:
    nodes = [start("q"), node_to_run, end(out=[node_to_run.id, output])]
    edges = [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(nodes)]
    runner = WorkflowRunner(document(nodes, edges), memory=build_memory(), models=models)
    result = await runner.run(inputs={"q": "tea"}, system=system)
    assert result.error is None
    return str(result.outputs["out"])


@for_each("system, has_lesson", [(TASK, True), (CHAT, False)])
@for_each(
    "kind, settings, output",
    [
        ("memory-recall", RECALL, "text"),
        ("memory-recall", {"scope": "user"}, "text"),
        ("memory-recall", {**RECALL, "include_recent": True}, "text"),
        (
            "memory-retrieval",
            {"scope": "user", "topic_selector": ["start", "q"]},
            "history_context",
        ),
    ],
)
async def test_recall_gives_lessons_to_tasks_alone(
    kind: str, settings: dict[str, Any], output: str, system: dict[str, Any], has_lesson: bool
) -> None:
    text = await run(node("found", kind, **settings), output, system)

    assert FACT in text
    assert (LESSON in text) is has_lesson


@pytest.mark.parametrize(("system", "has_lesson"), [(TASK, True), (CHAT, False)])
async def test_prompt_of_a_model_has_lessons_in_tasks_alone(
    system: dict[str, Any], has_lesson: bool
) -> None:
    models = EchoModels()

    await run(llm("x", ("user", "{{#start.q#}}"), enhanced_memory=MEMORY), "text", system, models)

    prompt = models.requests[0].messages[0].text
    assert FACT in prompt
    assert (LESSON in prompt) is has_lesson


async def test_agent_gets_lessons_in_a_chat_too() -> None:
    model = ScriptedModel("Done")
    agent = node("x", "agent", model=MODEL, query="{{#start.q#}}", enhanced_memory=MEMORY)

    await run(agent, "text", CHAT, model)

    assert LESSON in model.requests[0].messages[0].text


async def test_author_of_a_chat_asks_for_them_by_their_category() -> None:
    asked = node("found", "memory-recall", **RECALL, filter={"category": {"$in": ["result"]}})

    text = await run(asked, "text", CHAT)

    assert LESSON in text
    assert FACT not in text


@pytest.mark.parametrize(("system", "is_left_out"), [(TASK, False), (CHAT, True)])
async def test_reminder_of_a_chat_is_asked_for_no_lessons(
    system: dict[str, Any], is_left_out: bool
) -> None:
    reminder = Reminds(PIVOT)
    nodes = [start("q"), llm("x", ("user", "hi")), end(text=["x", "text"])]
    runner = WorkflowRunner(
        document(nodes, ["start -> x", "x -> end"]), models=EchoModels(), reminder=reminder
    )

    await runner.run(inputs={"q": "tea"}, system=system)

    assert reminder.without_lessons is is_left_out
