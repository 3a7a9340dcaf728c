"""One run as several readers see it: rows in order, text where it belongs, each once."""

import asyncio
import contextlib
import json
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from config.http.event_streams import EventStream
from config.ids import uuid7
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.support.waiting import LIMIT, until_async
from workflows.execution.db import Database
from workflows.execution.events.hub import Hub, get_hub
from workflows.execution.events.reader import follow
from workflows.execution.events.run_feed import RunFeed
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.worker import Worker
from workflows.models import Run
from workflows.services.runs.runs import start_run
from workflows.sse import stream_frames


pytestmark = pytest.mark.django_db(transaction=True)

CHAT = {
    "version": "0.1.0",
    "kind": "app",
    "app": {"mode": "advanced-chat", "name": "Chat"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
                {
                    "id": "llm",
                    "data": {
                        "type": "llm",
                        "title": "Say",
                        "model": {"provider": "offline", "name": "x", "mode": "chat"},
                        "prompt_template": [{"role": "user", "text": "{{#sys.query#}}"}],
                    },
                },
                {
                    "id": "answer",
                    "data": {"type": "answer", "title": "Answer", "answer": "→ {{#llm.text#}} 🐈!"},
                },
            ],
            "edges": [
                {"id": "1", "source": "start", "target": "llm"},
                {"id": "2", "source": "llm", "target": "answer"},
            ],
        }
    },
}
MOCKS = {"llm": {"llm_text": "some words that come one by one", "chunk_delay_s": 0.05}}


@pytest.fixture
def run(cast: Cast, settings: Any, valkey_url: str) -> Run:
    settings.REDIS_URL = valkey_url
    workflow = make_workflow(cast.alice, "Chat", CHAT)
    return start_run(cast.alice.principal, workflow=workflow, query="hello", mocks=MOCKS)


async def told(run: Run, url: str | None, after: int = 0) -> list[StreamEvent]:
    return await told_by(Hub(url), run, after)


async def told_by(hub: Hub, run: Run, after: int = 0) -> list[StreamEvent]:
    try:
        return [
            said
            async for said in follow(
                hub.get_feed(RunFeed), run.team_id, run.pk, after, idle_seconds=5
            )
            if said is not None
        ]
    finally:
        await hub.close()


def rows_of(story: list[StreamEvent]) -> list[tuple[int | None, str]]:
    return [(said.seq, said.name) for said in story if said.seq is not None]


def text_of(story: list[StreamEvent]) -> str:
    """As a browser puts it together: text goes to its offset, in UTF-16 units."""
    text = b""
    for said in story:
        if said.seq is None:
            text = text[: said.data["offset"] * 2] + said.data["text"].encode("utf-16-le")
    return text.decode("utf-16-le")


EXPECTED = "→ some words that come one by one 🐈!"


async def driven(run: Run) -> None:
    worker = Worker(capacity=4)
    try:
        await asyncio.to_thread(worker.execute_run, run.pk)
    finally:
        await asyncio.to_thread(worker.stop, 0)


@pytest.mark.parametrize("bus", ["with a bus", "without"])
async def test_live_and_late_readers_get_the_same_run(run: Run, valkey_url: str, bus: str) -> None:
    url = valkey_url if bus == "with a bus" else None
    live = [asyncio.create_task(told(run, url)) for _ in range(3)]
    await driven(run)
    stories = [await one for one in live]
    late = await told(run, url)

    for story in stories:
        assert rows_of(story) == rows_of(late)
        assert text_of(story) == EXPECTED
    assert text_of(late) == EXPECTED
    assert [seq for seq, _name in rows_of(late)] == list(range(1, len(rows_of(late)) + 1))
    assert (late[0].name, late[-1].name) == ("run_started", "run_finished")


async def test_text_streams_before_the_run_has_ended(run: Run, valkey_url: str) -> None:
    hub = Hub(valkey_url)
    live = asyncio.create_task(told_by(hub, run))
    await until_async(lambda: hub.has_bus)
    await driven(run)

    pieces = [said for said in await live if said.seq is None]

    assert len(pieces) > 3
    assert "".join(said.data["text"] for said in pieces) == EXPECTED


async def test_returning_reader_gets_what_it_has_not_seen(run: Run, valkey_url: str) -> None:
    await driven(run)
    whole = rows_of(await told(run, valkey_url))

    for seen in range(1, len(whole)):
        assert rows_of(await told(run, valkey_url, after=seen)) == whole[seen:]


async def test_lines_carry_ids_for_rows_only(run: Run, valkey_url: str) -> None:
    await driven(run)

    try:
        stream = EventStream(stream_frames(run.team_id, run.pk, 0))
        text = b"".join([part async for part in stream]).decode()
    finally:
        await get_hub().close()  # a web process keeps it; this loop ends with the test

    frames = [frame.split("\n") for frame in text.strip().split("\n\n")]
    # A frame of its own without an event breaks common clients.
    assert frames[0].pop(0) == "retry: 1000"
    for frame in frames:
        fields = dict(line.split(": ", 1) for line in frame)
        assert ("id" in fields) == (fields["event"] != "text_chunk")
        assert isinstance(json.loads(fields["data"]), dict)


async def test_answer_is_kept_with_the_conversation(run: Run) -> None:
    await driven(run)

    answer = await sync_to_async(_answer)(run.team_id, run.pk)

    assert answer == EXPECTED


def _answer(team_id: UUID, run_id: UUID) -> str:
    from accounts.tenancy import tenant
    from workflows.models import Message

    with tenant([team_id]):
        return Message.objects.unscoped().get(run_id=run_id).answer


async def test_statements_of_the_hub_show_no_other_teams_run(run: Run, cast: Cast) -> None:
    db = Database()
    try:
        found = await db.fetch_rows(
            "select events, status from execution_read(%s, %s, 0, 100)", (cast.team_b.pk, run.pk)
        )
    finally:
        await db.close()

    assert found == [([], None)]


async def test_hub_ends_although_a_library_swallows_the_cancel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached = asyncio.Event()
    feed = Hub(None).get_feed(RunFeed)

    async def deaf(*asked: object) -> list[tuple[object, ...]]:
        reached.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return []

    monkeypatch.setattr(feed.db, "fetch_rows", deaf)
    async with feed.open_reader(uuid7(), uuid7()):
        await asyncio.wait_for(reached.wait(), LIMIT)

        await asyncio.wait_for(feed.hub.close(), LIMIT)
