"""The llm kind: its messages, its outputs, thinking, structured answers, failures; and mocks."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from memory.core.records import MemoryEntry, StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.support.documents import document, end, llm, start
from tests.support.engine import EchoModels
from workflows.engine.earlier_turns import EarlierTurn
from workflows.engine.nodes.llm.reasoning import ReasoningSplitter
from workflows.engine.ports import Message, ModelChunk, ModelRequest, Origin, Reminder, Usage
from workflows.engine.runtime.events import MemoryRecalled
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.testing.mocks import split_words


class Says:
    def __init__(self, *chunks: ModelChunk) -> None:
        self.chunks = chunks

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        for chunk in self.chunks:
            yield chunk


class Past:
    async def list_turns(self, *, limit: int | None) -> list[EarlierTurn]:
        turns = [EarlierTurn("q1", "a1"), EarlierTurn("q2", "a2")]
        return turns if limit is None else turns[-limit:]


class Reminds:
    """An application that learnt these; ``asked``: what it was asked with."""

    def __init__(self, *known: MemoryEntry) -> None:
        self.known, self.asked = known, list[str]()

    async def remind(
        self, messages: Sequence[Message], origin: Origin, *, without_lessons: bool = False
    ) -> Reminder | None:
        self.without_lessons = without_lessons
        self.asked.append(f"{origin.node_id}: {messages[-1].text}")
        return Reminder("user", "sorting", self.known) if self.known else None


def asking(models: Any, *messages: tuple[str, str], history: Any = None, mocks: Any = None,
           provider: Any = None, reminder: Any = None, **data: Any) -> WorkflowRunner:  # fmt: skip
    nodes = [start("q"), llm("x", *messages, **data), end(text=["x", "text"])]
    made = document(nodes, ["start -> x", "x -> end"])
    return WorkflowRunner(
        made, models=models, history=history, mocks=mocks, memory=provider, reminder=reminder
    )


async def ask(
    models: Any, *messages: tuple[str, str], system: Any = None, **given: Any
) -> RunResult:
    return await asking(models, *messages, **given).run(inputs={"q": "Q"}, system=system)


async def test_prompt_empty_messages_are_dropped_and_usage_is_summed() -> None:
    models = EchoModels()

    result = await ask(models, ("system", ""), ("user", "{{#start.q#}} {{#ghost.x#}}"))

    assert models.requests[0].messages == (Message("user", "Q ghost.x"),)
    assert result.usage == Usage(3, 2)


async def test_prompt_without_any_message_fails() -> None:
    result = await ask(EchoModels(), ("user", " "))

    assert (result.status, result.error_type) == (RunStatus.FAILED, "NoPromptFoundError")


PIVOT = MemoryEntry(
    id="m1", namespace="user:ana", key="learning:1", value="Pivots are random", score=0.8
)


async def test_what_earlier_runs_taught_is_put_behind_the_system_message_and_shown() -> None:
    models, reminder = EchoModels(), Reminds(PIVOT)

    runner = asking(models, ("system", "S"), ("user", "{{#start.q#}}"), reminder=reminder)
    handle = runner.start(inputs={"q": "Q"})
    events = [one async for one in handle.events() if isinstance(one, MemoryRecalled)]
    result = await handle.result()

    assert reminder.asked == ["x: Q"]
    assert [(m.role, m.text) for m in models.requests[0].messages] == [
        ("system", "S"),
        ("system", "[Memory Context]\n- learning:1: Pivots are random"),
        ("user", "Q"),
    ]
    [step] = [one for one in result.steps if one.key.node_id == "x"]
    assert step.inputs["memories"] == [{"id": "m1", "key": "learning:1", "score": 0.8}]
    [event] = events
    assert (event.scope, event.query, event.injected) == ("user", "sorting", True)
    assert [(one["key"], one["score"]) for one in event.entries] == [("learning:1", 0.8)]


async def test_node_that_recalls_for_itself_is_reminded_only_where_it_found_nothing() -> None:
    found, nothing = InMemoryProvider(), InMemoryProvider()
    found.store(StoreParams("user:ana", "k", value="its own"))
    prompts = []
    for provider in (found, nothing):
        models = EchoModels()
        await ask(
            models, ("user", "hi"), provider=provider, reminder=Reminds(PIVOT),
            system={"user_id": "ana"}, enhanced_memory={"enabled": True, "scope": "user"},
        )  # fmt: skip
        prompts.append(models.requests[0].messages[0].text)

    assert [text.removeprefix("[Memory Context]\n- ") for text in prompts] == [
        "k: its own",
        "learning:1: Pivots are random",
    ]


async def test_nothing_learnt_changes_nothing_and_completion_models_are_not_reminded() -> None:
    models, knows = EchoModels(), Reminds(PIVOT)

    await ask(models, ("user", "hi"), reminder=Reminds())
    await ask(models, ("user", "hi"), reminder=knows, model={"provider": "p", "mode": "completion"})

    assert [request.messages for request in models.requests] == [(Message("user", "hi"),)] * 2
    assert knows.asked == []


async def test_context_replaces_its_mark_and_is_not_read_again() -> None:
    models = EchoModels()

    await ask(
        models,
        ("user", "A {{#context#}} B"),
        context={"enabled": True, "variable_selector": ["sys", "odd"]},
        system={"odd": "{{#start.q#}}"},
    )

    assert models.requests[0].messages[0].text == "A {{#start.q#}} B"


async def test_chat_window_comes_before_the_current_question() -> None:
    models = EchoModels()

    await ask(
        models, ("system", "S"), history=Past(), system={"query": "now"},
        memory={"window": {"enabled": True, "size": 2}},
    )  # fmt: skip

    assert [message.text for message in models.requests[0].messages] == ["S", "q2", "a2", "now"]


async def test_structured_output_is_read_from_a_fenced_answer() -> None:
    model = Says(ModelChunk(text='```json\n{"a": 1}\n```'))

    result = await ask(
        model, structured_output_switch_on=True, structured_output={"schema": {"type": "object"}}
    )

    assert result.steps[1].outputs["structured_output"] == {"a": 1}


async def test_structured_output_prose_fails() -> None:
    result = await ask(
        Says(ModelChunk(text="no")), structured_output_switch_on=True,
        structured_output={"schema": {"type": "object"}},
    )  # fmt: skip

    assert result.error_type == "StructuredOutputInvalid"


async def test_no_model_names_the_port() -> None:
    result = await ask(None)

    assert result.error == "This runner has no model port"


async def test_mock_llm_text_runs_the_node_itself() -> None:
    result = await ask(None, mocks={"x": {"llm_text": "scripted answer"}})

    assert result.outputs == {"text": "scripted answer"}
    assert result.stream == "scripted answer"


async def test_mock_by_kind_and_usage() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 10}

    result = await ask(None, mocks={"type:llm": {"outputs": {"text": "t", "usage": usage}}})

    assert (result.outputs, result.usage) == ({"text": "t"}, Usage(20, 10))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("a b", ["a", " b", ""]), ("", ["", ""]), ("a  b", ["a", " ", " b", ""])],
)
def test_words_keep_every_space_and_end_with_nothing(text: str, pieces: list[str]) -> None:
    assert split_words(text) == pieces


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_reasoning_is_taken_out_however_the_text_is_cut(size: int) -> None:
    text, separated = "<think>let me <see</think>\n\nIt is < 3.", ReasoningSplitter(tagged=False)

    for at in range(0, len(text), size):
        separated.feed(text[at : at + size])
    separated.end()

    assert "".join(separated.text) == "It is < 3."
    assert "".join(separated.reasoning) == "let me <see"


def test_reasoning_sent_apart_is_put_between_tags() -> None:
    tagged = ReasoningSplitter(tagged=True)

    tagged.feed("", "hm")
    tagged.feed("yes")

    assert "".join(tagged.text) == "<think>\nhm\n</think>\nyes"
