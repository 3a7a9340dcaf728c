"""Details of streams: pings, cut values, text that begins again, and memory for who asks for it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from tests.support.cast import Cast
from tests.workflows.dify_api.apps import (
    AsyncProgram,
    build_document,
    edge,
    make_app_key,
    node,
    parse,
    publish,
    read_frames,
)
from workflows.dify_api.calls import Call
from workflows.dify_api.streaming import frames
from workflows.dify_api.streaming.graph import Graph
from workflows.dify_api.streaming.rows import StreamRows
from workflows.dify_api.streaming.translator import Translator
from workflows.dify_api.streaming.truncation import MAX_ITEMS, MAX_TEXT, truncate
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.worker import Worker
from workflows.models import Run, Workflow


MEMORY_EVENTS = ("memory_recalled", "memory_written")


@pytest.fixture
def diary(cast: Cast) -> Workflow:
    """Answers with what it recalled of the person, then remembers the message."""
    nodes = [
        node("start", "start", variables=[]),
        node("recall", "memory-recall", scope="user", query="{{#sys.query#}}", top_k=5),
        node("answer", "answer", answer="Known: {{#recall.text#}}"),
        node("store", "memory-store", scope="user", value_selector=["sys", "query"]),
    ]
    edges = [edge("start", "recall"), edge("recall", "answer"), edge("answer", "store")]
    return publish(cast.alice, build_document("advanced-chat", nodes, edges), "Diary")


@pytest.mark.django_db(transaction=True)
async def test_memory_is_told_with_every_answer_and_as_events_only_when_asked_for(
    cast: Cast, diary: Workflow, working: Worker
) -> None:
    program = AsyncProgram((await asyncio.to_thread(make_app_key, cast.alice, diary))[1])
    body = {"inputs": {}, "query": "Ana drinks green tea.", "user": "ana"}

    first = (await program.send("/chat-messages", body)).json()
    plain = await program.send("/chat-messages", {**body, "response_mode": "streaming"})
    plain_events = parse(await read_frames(plain))
    asking = await program.send(
        "/chat-messages", {**body, "response_mode": "streaming"}, **{"X-Memory-Events": "1"}
    )
    events = parse(await read_frames(asking))
    other = (await program.send("/chat-messages", {**body, "user": "ben"})).json()

    written = first["metadata"]["memory"]["written"]
    assert [each["op"] for each in written] == ["add"]
    end = next(each for each in plain_events if each["event"] == "message_end")
    recalled = end["metadata"]["memory"]["recalled"]
    assert [each["id"] for each in recalled] == [written[0]["id"]]
    assert set(recalled[0]) == {"id", "store", "score"}
    assert not {each["event"] for each in plain_events}.intersection(MEMORY_EVENTS)
    names = [each["event"] for each in events if each["event"] in MEMORY_EVENTS]
    assert names == ["memory_recalled", "memory_written"]
    assert other["metadata"]["memory"]["recalled"] == []


async def test_idle_stream_sends_pings_without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    async def follow(*_arguments: Any, **_options: Any) -> AsyncIterator[list[StreamEvent]]:
        yield []
        yield []

    monkeypatch.setattr(frames, "follow_in_batches", follow)
    monkeypatch.setattr(frames, "build_holder", lambda *_arguments: None)

    sent = [part async for part in frames._send(make_translator(), 0)]

    assert frames.PING_SECONDS == 10
    assert sent[:2] == [b"event: ping\n\n", b"event: ping\n\n"]
    assert b'"event":"error"' in sent[2]


def test_text_of_a_lost_worker_is_replaced() -> None:
    translator = make_translator()

    events = translator.translate([chunk(0, "Hällo "), chunk(6, "wörld"), chunk(0, "")])
    events += translator.translate([chunk(0, "Hi")])

    assert [(each["event"], each["answer"]) for each in events] == [
        ("message", "Hällo "), ("message", "wörld"), ("message_replace", ""), ("message", "Hi"),
    ]  # fmt: skip
    assert events[0]["from_variable_selector"] == ["llm", "text"]


def test_long_texts_and_lists_are_cut_and_say_so() -> None:
    whole = {"text": "short", "items": [1, 2], "nested": {"flag": True, "none": None}}

    assert truncate(whole) == (whole, False)
    text, is_cut = truncate({"text": "x" * (MAX_TEXT + 1)})
    assert (len(text["text"]), is_cut) == (MAX_TEXT + 3, True)
    items, is_cut = truncate([0] * (MAX_ITEMS + 1))
    assert (len(items), is_cut) == (MAX_ITEMS, True)


def make_translator() -> Translator:
    principal: Any = None
    call = Call(principal, Run(pk=uuid4(), team_id=uuid4()), "advanced-chat", "m", "c", 1)
    return Translator(call, Graph({}, {}, {}, {}), StreamRows(call))


def chunk(offset: int, text: str) -> StreamEvent:
    data = {"node": "answer", "source": "llm", "text": text, "offset": offset, "attempt": 1}
    return StreamEvent("text_chunk", data)
