"""A call that is cancelled leaves its connection at once, whatever the server is doing: it is not kept for later or read to its end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from tests.support.waiting import LIMIT
from workflows.engine.ports import Message, ModelRequest, Origin
from workflows.llm.config import ProviderConfig
from workflows.llm.openai_compatible import OpenAICompatible


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENT = b'data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n'
TOKEN = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
# What the server does before it waits for its client to leave.
BEGINNINGS = {"silent": b"", "answering": HEAD, "streaming": HEAD + TOKEN}


@dataclass
class WaitingServer:
    """A model server that never ends its answer."""

    beginning: bytes
    address: str = ""
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)
    was_left: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self.beginning)
        await writer.drain()
        self.was_asked.set()
        with suppress(ConnectionError):
            await reader.read()  # until the connection is closed
        self.was_left.set()
        writer.close()


@asynccontextmanager
async def serve(beginning: bytes) -> AsyncIterator[WaitingServer]:
    waiting = WaitingServer(beginning)
    async with await asyncio.start_server(waiting.answer, "127.0.0.1", 0) as server:
        waiting.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield waiting


def build_provider(server: WaitingServer) -> OpenAICompatible:
    config = ProviderConfig(
        "openai", base_url=f"http://{server.address}/v1", api_key="sk-0", default_model="m"
    )
    return OpenAICompatible(config, allow=[server.address])


REQUEST = ModelRequest("openai", "m", (Message("user", "Hi"),), Origin("r", "n", "k"))


@pytest.mark.parametrize("name", BEGINNINGS)
async def test_cancelled_call_closes_its_connection(name: str) -> None:
    async with serve(BEGINNINGS[name]) as server:

        async def read() -> None:
            async for _chunk in build_provider(server).stream(REQUEST):
                pass

        task = asyncio.ensure_future(read())
        await asyncio.wait_for(server.was_asked.wait(), LIMIT)
        assert not server.was_left.is_set()

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        await asyncio.wait_for(server.was_left.wait(), LIMIT)


async def test_answer_that_is_read_no_further_closes_its_connection() -> None:
    async with serve(BEGINNINGS["streaming"]) as server:
        chunks = build_provider(server).stream(REQUEST)

        assert (await anext(chunks)).text == "x"
        await chunks.aclose()

        await asyncio.wait_for(server.was_left.wait(), LIMIT)
