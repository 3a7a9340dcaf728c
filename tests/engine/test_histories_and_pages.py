"""Conversation history and knowledge pages in workflows, with the in-memory provider."""

import itertools
from typing import Any

import pytest

from memory.providers.in_memory import InMemoryProvider
from tests.support.documents import document, end, node, start
from workflows.engine.kind_examples import build_example_data
from workflows.engine.language.document import Document
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.engine.language.validation import validate
from workflows.engine.nodes import NODE_KINDS, build_kinds
from workflows.engine.ports import ModelChunk, Usage
from workflows.engine.runtime.events import MemoryRecalled, MemoryWritten
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner


SYSTEM = {"conversation_id": "c1", "user_id": "mia", "app_id": "wiki"}
KINDS = ("conversation-memory", "knowledge-retrieval", "knowledge-write")
DEPLOY = {"title": "Deployment", "content": "Ship with the blue button.", "tags": ["ops"]}


def path(*nodes: Any) -> Document:
    ids = [made.id for made in nodes]
    return document(nodes, [f"{a} -> {b}" for a, b in itertools.pairwise(ids)])


def history(node_id: str, action: str, *said: tuple[str, str], **data: Any) -> Any:
    messages = [{"role": role, "text": text} for role, text in said]
    return node(node_id, "conversation-memory", action=action, messages=messages, **data)


async def run(memory: Any, *nodes: Any, inputs: Any = None, **system: Any) -> RunResult:
    runner = WorkflowRunner(path(start("q"), *nodes), memory=memory, checked=True)
    return await runner.run(inputs=inputs or {"q": "hello"}, system={**SYSTEM, **system})


async def test_appended_is_read_by_the_next_run_of_the_conversation_and_by_no_other() -> None:
    memory = InMemoryProvider()
    said = await run(memory, history("h", "append", ("user", "{{#start.q#}}"), ("assistant", "Hi!")),
                     end(count=["h", "count"]))  # fmt: skip
    read = (history("h", "read"), end(text=["h", "text"], messages=["h", "messages"]))

    again = await run(memory, *read)
    other = await run(memory, *read, conversation_id="c2")

    assert said.outputs == {"count": 2}
    assert again.outputs["text"] == "user: hello\nassistant: Hi!"
    assert [(one["role"], one["content"]) for one in again.outputs["messages"]] == [
        ("user", "hello"),
        ("assistant", "Hi!"),
    ]
    assert other.outputs == {"text": "", "messages": []}


async def test_window_folds_whole_turns_and_their_summary_stands_in() -> None:
    memory = InMemoryProvider()
    window = {"strategy": "sliding_window", "max_turns": 1, "summary": "sentences"}
    say = history("h", "append", ("user", "{{#start.q#}}"), **window)
    await run(memory, say, end(), inputs={"q": "My boat Alba leaves the harbour at seven."})

    result = await run(
        memory, say, end(folded=["h", "folded"], summary=["h", "summary"], text=["h", "text"]),
        inputs={"q": "When?"},
    )  # fmt: skip

    assert result.outputs["folded"] == 1
    assert "Alba leaves the harbour" in result.outputs["summary"]
    first, *_, last = result.outputs["text"].splitlines()
    assert first.startswith("system: Summary")
    assert last == "user: When?"


async def test_reading_through_a_window_takes_nothing_away() -> None:
    memory = InMemoryProvider()
    await run(memory, history("h", "append", ("user", "one"), ("user", "two")), end())

    result = await run(
        memory, history("a", "read", strategy="sliding_window", max_turns=1), history("b", "read"),
        end(a=["a", "text"], b=["b", "text"], count=["a", "count"]),
    )  # fmt: skip

    assert result.outputs == {"a": "user: two", "b": "user: one\nuser: two", "count": 2}


async def test_messages_of_a_variable_keep_calls_with_their_results() -> None:
    memory = InMemoryProvider()
    call = {"id": "t1", "type": "function", "function": {"name": "tides", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "When is high water?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "04:12"},
        {"role": "assistant", "content": "At 04:12."},
    ]

    result = await run(
        memory, history("h", "append", messages_selector=["start", "q"], max_messages=3),
        end(messages=["h", "messages"], folded=["h", "folded"]), inputs={"q": said},
    )  # fmt: skip

    assert [one["role"] for one in result.outputs["messages"]] == ["assistant", "tool", "assistant"]
    assert result.outputs["messages"][0]["tool_calls"][0]["name"] == "tides"
    assert result.outputs["folded"] == 1


async def test_cleared_says_how_many_and_the_conversation_begins_anew() -> None:
    memory = InMemoryProvider()

    result = await run(
        memory, history("h", "append", ("user", "a"), ("user", "b")), history("c", "clear"),
        history("r", "read"), end(gone=["c", "count"], left=["r", "count"]),
    )  # fmt: skip

    assert result.outputs == {"gone": 2, "left": 0}


async def test_empty_messages_are_left_out_and_nothing_said_reads() -> None:
    result = await run(
        InMemoryProvider(), history("h", "append", ("user", " "), ("assistant", "{{#start.no#}}")),
        end(count=["h", "count"]),
    )  # fmt: skip

    assert (result.error, result.outputs) == (None, {"count": 1})  # what is missing prints itself


async def test_written_page_is_found_by_the_next_node_and_a_second_goes_into_it() -> None:
    memory = InMemoryProvider()
    write = node("w", "knowledge-write", page_title="Deployment", page_content="{{#start.q#}}")
    find = node("f", "knowledge-retrieval", query_variable_selector=["start", "q"])
    await run(memory, write, end(), inputs={"q": "Ship with the blue button."})

    result = await run(
        memory, write, find,
        end(merged=["w", "merged"], id=["w", "id"], found=["f", "result"], count=["f", "count"]),
        inputs={"q": "Roll back with the red button."},
    )  # fmt: skip

    (page,) = result.outputs.pop("found")
    assert result.outputs == {"merged": 1, "id": "deployment", "count": 1}
    assert page["content"] == "Ship with the blue button.\n\nRoll back with the red button."
    assert (page["title"], page["metadata"]["document_id"]) == ("Deployment", "deployment")
    assert page["metadata"]["position"] == 1
    assert 0 < page["metadata"]["score"] <= 1


async def test_many_pages_come_from_a_variable_and_an_empty_list_writes_none() -> None:
    memory = InMemoryProvider()
    write = node("w", "knowledge-write", pages_selector=["start", "q"], mode="replace")
    out = end(pages=["w", "pages"], count=["w", "count"], id=["w", "id"])

    many = await run(memory, write, out, inputs={"q": [DEPLOY, {"title": "Guide", "tags": "a, b"}]})
    none = await run(memory, write, out, inputs={"q": []})

    assert [(one["id"], one["tags"]) for one in many.outputs["pages"]] == [
        ("deployment", ["ops"]),
        ("guide", ["a", "b"]),
    ]
    assert none.outputs == {"pages": [], "count": 0, "id": ""}


async def test_dify_configuration_of_the_retrieval_holds() -> None:
    memory = InMemoryProvider()
    pages = [DEPLOY, {"title": "Buttons", "content": "There is a blue button and a red one."}]
    await run(memory, node("w", "knowledge-write", pages_selector=["start", "q"]), end(),
              inputs={"q": pages})  # fmt: skip

    def find(**asked: Any) -> Any:
        return node(
            "f", "knowledge-retrieval", query_variable_selector=["start", "q"],
            dataset_ids=["d1"], retrieval_mode="multiple", multiple_retrieval_config=asked,
        )  # fmt: skip

    async def count(query: str, **asked: Any) -> int:
        result = await run(memory, find(**asked), end(n=["f", "count"]), inputs={"q": query})
        assert result.is_successful, result.error
        found: int = result.outputs["n"]
        return found

    assert await count("the blue button", top_k=4) == 2
    assert await count("the blue button", top_k=1, score_threshold=None) == 1
    assert await count("the blue button of Napoleon", top_k=4, score_threshold=1.0) == 0
    assert await count("the blue button of Napoleon", top_k=4, score_threshold=0.4) == 2
    assert await count("", top_k=4) == 0


async def test_events_tell_what_was_written_and_what_was_read() -> None:
    memory = InMemoryProvider()
    made = path(
        start("q"), history("h", "append", ("user", "{{#start.q#}}")), history("r", "read"),
        node("w", "knowledge-write", page_title="Deployment", page_content="{{#start.q#}}"),
        node("f", "knowledge-retrieval", query_variable_selector=["start", "q"]), end(),
    )  # fmt: skip
    handle = WorkflowRunner(made, memory=memory).start(inputs={"q": "blue button"}, system=SYSTEM)

    events = [event async for event in handle.events()]

    written = [event for event in events if isinstance(event, MemoryWritten)]
    recalled = [event for event in events if isinstance(event, MemoryRecalled)]
    assert [(one.node, one.namespace) for one in written] == [
        ("h", "conv:c1"),
        ("w", "global:wiki"),
    ]
    assert written[0].entry["value"] == "blue button"
    assert [(one.node, len(one.entries)) for one in recalled] == [("r", 1), ("f", 1)]
    assert recalled[1].entries[0]["score"] > 0
    assert {entry.source.node_id for entry in memory.living("conv:c1").values()} == {"h"}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (history("x", "read"), "sys.conversation_id not set"),
        (node("x", "knowledge-retrieval", scope="user",
              query_variable_selector=["start", "q"]), "sys.user_id not set"),
    ],
)  # fmt: skip
async def test_missing_identity_fails_the_node_by_name(made: Any, why: str) -> None:
    runner = WorkflowRunner(path(start("q"), made, end()), memory=InMemoryProvider())

    result = await runner.run(inputs={"q": "x"})

    assert why in (result.error or "")


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (history("x", "append", messages_selector=["start", "q"]), "InvalidMessages"),
        (history("x", "append", ("tool", "no call")), "InvalidInput"),
        (node("x", "knowledge-write", pages_selector=["start", "q"]), "InvalidPages"),
        (node("x", "knowledge-write", page_title="{{#start.empty#}} ", page_id="a",
              references=["a"]), "InvalidInput"),
    ],
)  # fmt: skip
async def test_what_makes_no_sense_fails_the_node(made: Any, error: str) -> None:
    result = await run(InMemoryProvider(), made, end())

    assert result.error_type == error


@pytest.mark.parametrize(
    ("kind", "data", "field"),
    [
        ("conversation-memory", {"action": "shout"}, "action"),
        ("conversation-memory", {"max_turns": 0}, "max_turns"),
        ("conversation-memory", {"messages": [{"role": "robot"}]}, "messages.0.role"),
        ("knowledge-retrieval", {}, "query_variable_selector"),
        ("knowledge-retrieval", {"query_variable_selector": ["a", "b"], "top_k": 0}, "top_k"),
        ("knowledge-write", {}, "page_title"),
        ("knowledge-write", {"page_title": "a", "mode": "twice"}, "mode"),
    ],
)
def test_wrong_configuration_is_addressed_to_its_field(
    kind: str, data: dict[str, Any], field: str
) -> None:
    spec = node("x", kind, **data)

    assert [problem.field for problem in build_kinds()[kind].check(spec)] == [field]


@pytest.mark.parametrize("name", KINDS)
def test_kind_is_unknown_without_memory_and_its_example_is_valid_with_it(name: str) -> None:
    kind = next(one for one in NODE_KINDS if one.name == name)
    made = path(start("q"), node("x", name, **(build_example_data(kind) | QUERY)), end())

    with_memory = [p.code for p in validate(made, build_kinds()) if p.node == "x"]
    without = [p.message for p in validate(made, build_kinds(memory=False)) if p.node == "x"]

    assert with_memory == []
    assert any(name in message for message in without)


QUERY = {
    "query_variable_selector": ["start", "q"],
    "messages": [{"role": "user", "text": "{{#start.q#}}"}],
    "page_title": "{{#start.q#}}",
}


def test_scopes_a_document_asks_for_are_read_from_its_nodes() -> None:
    made = path(
        start("q"), history("h", "read"), node("w", "knowledge-write", page_title="a"),
        node("f", "knowledge-retrieval", scope="user", query_variable_selector=["start", "q"]),
    )  # fmt: skip

    assert list_memory_scopes(made, build_kinds()) == {"conversation", "global", "user"}


BY_MODEL = {
    "strategy": "sliding_window", "max_turns": 1, "summary": "model",
    "summary_model": {"provider": "openai", "name": "small"},
}  # fmt: skip


class Summing:
    """Answers each request with the next of what it was given; what is an error is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    async def stream(self, request: Any) -> Any:
        self.prompts.append(request.messages[-1].text)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield ModelChunk(text=answer)
        yield ModelChunk(finish_reason="stop", usage=Usage(7, 3))


async def summed(memory: Any, model: Any, *said: str, **rules: Any) -> list[Any]:
    ends = end(text=["h", "text"], summary=["h", "summary"])
    made = path(
        start("q"), history("h", "append", ("user", "{{#start.q#}}"), **{**BY_MODEL, **rules}), ends
    )
    runs = [
        await WorkflowRunner(made, memory=memory, models=model).run(
            inputs={"q": one}, system=SYSTEM
        )
        for one in said
    ]
    return [one.outputs for one in runs]


async def test_model_writes_the_summary_of_what_left_and_rolls_the_last_one_in() -> None:
    """spec §6: an optional rolling summary replaces what was dropped."""
    memory, model = InMemoryProvider(), Summing("They like tea.", "They like tea, at nine.")

    outputs = await summed(memory, model, "Tea is good.", "It opens at nine.", "Bye")

    assert [one["summary"] for one in outputs] == ["", "They like tea.", "They like tea, at nine."]
    assert outputs[-1]["text"] == (
        "system: Summary of the conversation so far:\nThey like tea, at nine.\nuser: Bye"
    )
    assert ["user: Tea is good." in model.prompts[0], "They like tea." in model.prompts[1]] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        (RuntimeError("the model is away"), {}),
        ("", {}),
        ("never asked", {"summary_model": None}),
        ("never asked", {"summary_model": {"provider": "offline", "name": "offline"}}),
    ],
)
async def test_without_a_models_word_sentences_are_the_summary(answer: Any, rules: Any) -> None:
    memory = InMemoryProvider()

    outputs = await summed(memory, Summing(answer), "Tea is good for you.", "And now?", **rules)

    assert outputs[-1]["summary"] == "- user: Tea is good for you."


async def test_summary_of_a_model_holds_no_secret() -> None:
    memory = InMemoryProvider()
    key = "sk-proj-Zx81kQmN4tYp0LrVb7WcD3sHf9JgA2eU"

    outputs = await summed(memory, Summing(f"The key is {key}."), "Tea.", "And now?")

    assert outputs[-1]["summary"] == "The key is [redacted: API key]."


async def test_summary_that_was_overtaken_is_left_out() -> None:
    """Somebody folded on while the model wrote: what stands there by then stands for more."""
    memory = InMemoryProvider()

    class Slow(Summing):
        async def stream(self, request: Any) -> Any:
            if len(self.prompts) == 0:
                self.prompts.append("")
                await summed(memory, None, "In between.", summary_model=None)
            yield ModelChunk(text="Too late.")

    outputs = await summed(memory, Slow(), "Tea is good for you.", "It closes at noon.")

    assert outputs[-1]["summary"] != "Too late."
    assert "Tea is good for you." in outputs[-1]["summary"]
    assert "It closes at noon." in outputs[-1]["summary"]
