"""No node writes a stored secret into memory or a page: it says which of its fields has one, and writes the rest."""

import json
from typing import Any

from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import MODEL, ScriptedModel
from tests.engine.agent.test_stored_secrets import SECRET, KnownSecrets
from tests.engine.agent.test_todo import TODOS, step
from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from tests.support.engine import ports
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.nodes.memory.memory_access import SECRET_REFUSED
from workflows.engine.runtime.events import MemoryKeptOut
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunResult, RunStart
from workflows.engine.runtime.step_records import RunStatus


SYSTEM = {"user_id": "ana", "conversation_id": "c1", "app_id": "app"}
TEXT, LEAK = "{{#start.text#}}", f"The key is {SECRET}"
FACTS = json.dumps({"operations": [
    {"action": "add", "text": LEAK, "evidence": LEAK},
    {"action": "add", "text": "Ana drinks tea", "evidence": "I drink tea"},
]})  # fmt: skip


def remember(**data: Any) -> NodeSpec:
    return node(
        "w",
        "memory-store",
        **{"scope": "user", "key": "k", "value_selector": ["start", "q"], **data},
    )


def write(**data: Any) -> NodeSpec:
    return node("w", "knowledge-write", **{"scope": "user", "page_title": "Tea", **data})


def append(**data: Any) -> NodeSpec:
    return node("w", "conversation-memory", action="append", **data)


# By the field that the text with the secret reaches.
WRITERS: dict[str, tuple[str, NodeSpec]] = {
    "a value": ("value", remember(value_selector=["start", "text"])),
    "metadata": ("metadata", remember(metadata_selectors={"note": ["start", "text"]})),
    "a key": ("key", remember(key=TEXT)),
    "the title of a page": ("page_title", write(page_title=TEXT)),
    "the summary of a page": ("page_summary", write(page_summary=TEXT)),
    "the content of a page": ("page_content", write(page_content=TEXT)),
    "the id of a page": ("page_id", write(page_id=TEXT)),
    "pages of a variable": ("pages_selector", write(page_title="", pages_selector=["start", "pages"])),
    "a source": ("source_text", write(source_text=TEXT)),
    "the title of a source": ("source_title", write(source_text="Tea", source_title=TEXT)),
    "a message": ("messages", append(messages=[{"role": "user", "text": TEXT}])),
    "messages of a variable": ("messages_selector", append(messages_selector=["start", "messages"])),
}  # fmt: skip


async def run(
    writer: NodeSpec, text: str, **world: Any
) -> tuple[RunResult, ListJournal, InMemoryProvider]:
    memory, journal = InMemoryProvider(), ListJournal()
    made = document(
        [start("q", "text", "pages", "messages"), writer, end(reason=["w", "reason"])],
        ["start -> w", "w -> end"],
    )
    inputs = {
        "q": "tea",
        "text": text,
        "pages": [{"title": "Tea", "content": text}],
        "messages": [{"role": "user", "content": text}],
    }
    plan = compile_plan(made, build_kinds())
    given = ports(memory=memory.port(), secrets=KnownSecrets(), **world)
    started = RunStart("r1", inputs=inputs, system=SYSTEM)
    result = await execute_plan(plan, started, given, journal)
    assert result.status is RunStatus.SUCCEEDED, result.error
    return result, journal, memory


def list_stored(memory: InMemoryProvider) -> list[Any]:
    """Return keys and values in whatever namespace and tier."""
    return [
        (entry.key, entry.value, dict(entry.metadata))
        for namespace in ("user:ana", "conv:c1", "global:app", "ai:notes:r1", "ai:workflow:r1")
        for entry in memory.living(namespace).values()
    ]


def list_reasons(journal: ListJournal) -> list[list[str]]:
    return [list(event.reasons) for event in journal.events if isinstance(event, MemoryKeptOut)]


@for_each("name", WRITERS)
async def test_field_with_a_stored_secret_is_named_and_not_written(name: str) -> None:
    field, writer = WRITERS[name]

    result, journal, memory = await run(writer, LEAK)

    assert list_stored(memory) == []
    assert result.outputs["reason"] == f"{field} of the node w: {SECRET_REFUSED}"
    assert list_reasons(journal) == [["secret"]]
    assert all(
        SECRET not in str(event) for event in journal.events if isinstance(event, MemoryKeptOut)
    )


@for_each("name", WRITERS)
async def test_same_field_is_written_without_one(name: str) -> None:
    result, journal, memory = await run(WRITERS[name][1], "Ana drinks tea")

    assert list_stored(memory) != []
    assert not result.outputs["reason"]
    assert list_reasons(journal) == []


async def test_fact_with_a_stored_secret_is_left_out_and_the_others_are_kept() -> None:
    facts = remember(key="", source="facts", value_selector=["start", "text"], model=MODEL)
    text = f"{LEAK}. I drink tea"

    result, journal, memory = await run(facts, text, model=ScriptedModel(FACTS))

    assert [value for _key, value, _metadata in list_stored(memory)] == ["Ana drinks tea"]
    assert result.outputs["reason"] == f"value_selector of the node w: {SECRET_REFUSED}"
    assert list_reasons(journal) == [["secret"]]


async def test_pages_beside_the_one_with_a_stored_secret_are_written() -> None:
    both = write(pages_selector=["start", "pages"], page_content="Green tea")

    _result, journal, memory = await run(both, LEAK)

    stored = list_stored(memory)
    assert SECRET not in str(stored)
    assert "Green tea" in str(stored)
    assert list_reasons(journal) == [["secret"]]


async def test_notes_and_goal_of_an_agent_have_no_stored_secret() -> None:
    agent = node("w", "agent", strategy="todo", model=MODEL, query=TEXT, max_rounds=20)
    model = ScriptedModel(
        TODOS, step("1", note=LEAK), step("1"), step("1", note="All is done"), "Done"
    )

    _result, _journal, memory = await run(agent, LEAK, model=model)

    stored = str(list_stored(memory))
    assert SECRET not in stored
    assert SECRET_REFUSED in stored
    assert "All is done" in stored


def test_every_kind_that_writes_memory_is_tried_above() -> None:
    kinds = build_kinds()
    readers = {"memory-recall", "memory-retrieval", "knowledge-retrieval", "memory-delete"}

    writers = {name for name, kind in kinds.items() if kind.needs_memory} - readers

    assert writers == {writer.kind for _field, writer in WRITERS.values()}
