"""The client of the official package, unmodified, against a real web server with a real worker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client

from tests.clients.mcp.documents import DIARY, GREETING
from tests.clients.mcp.team import Connection, make_connection
from tests.support.stack import LiveStack


T = TypeVar("T")


@pytest.fixture(scope="module")
def connection(_stack: LiveStack) -> Connection:
    return make_connection(_stack, Greeting=GREETING, Diary=DIARY)


@asynccontextmanager
async def connected(url: str, key: str) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http_client,
        streamable_http_client(url, http_client=http_client) as (read, write, _get_session_id),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


def use(url: str, key: str, work: Callable[[ClientSession], Awaitable[T]]) -> T:
    async def run() -> T:
        async with connected(url, key) as session:
            return await work(session)

    return asyncio.run(run())


def call(url: str, key: str, tool: str, /, **arguments: Any) -> Any:
    return use(url, key, lambda session: session.call_tool(tool, arguments))


def get_text(result: Any) -> str:
    return str(result.content[0].text)


def test_each_published_workflow_is_a_tool_with_the_inputs_of_its_form(
    live_stack: LiveStack, connection: Connection
) -> None:
    listed = use(connection.url, connection.key, lambda session: session.list_tools())

    tools = {tool.name: tool for tool in listed.tools}
    assert {"greeting", "diary", "memory_search", "get_run_result"} <= set(tools)
    assert tools["greeting"].inputSchema["required"] == ["name"]
    assert tools["diary"].inputSchema["required"] == ["query"]


def test_workflow_runs_and_says_how_far_it_is(
    live_stack: LiveStack, connection: Connection
) -> None:
    told: list[str | None] = []

    async def call_with_progress(session: ClientSession) -> Any:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)

        return await session.call_tool("greeting", {"name": "Ana"}, progress_callback=tell)

    result = use(connection.url, connection.key, call_with_progress)

    assert not result.isError
    assert result.structuredContent["outputs"] == {"greeting": "Good morning, Ana!"}
    assert "Greet" in told


def test_missing_and_unknown_inputs_are_named(
    live_stack: LiveStack, connection: Connection
) -> None:
    result = call(connection.url, connection.key, "greeting", nme="Ana")

    assert result.isError
    assert get_text(result) == "name: is required; nme: is not an argument of this tool"


def test_person_of_the_connection_is_remembered_and_nobody_else_hears_of_it(
    live_stack: LiveStack, connection: Connection
) -> None:
    ana, ben = f"{connection.url}?user=ana", f"{connection.url}?user=ben"
    key, question = connection.key, "What do you know about peanuts?"
    call(ana, key, "diary", query="Ana is allergic to peanuts.")

    of_ana, of_ben, of_program = (
        get_text(call(address, key, "diary", query=question))
        for address in (ana, ben, connection.url)
    )
    searched = call(ana, key, "memory_search", query="peanuts")

    assert "Ana is allergic to peanuts." in of_ana
    assert "allergic" not in of_ben + of_program
    known = searched.structuredContent["memories"]
    assert any("allergic" in memory["text"] for memory in known)
    for memory in known:
        call(ana, key, "memory_forget", key=memory["key"])
    assert "allergic" not in get_text(call(ana, key, "diary", query=question))


def test_conversation_goes_on_for_its_program_only(
    live_stack: LiveStack, connection: Connection
) -> None:
    first = call(connection.url, connection.key, "diary", query="Hello")
    conversation = first.structuredContent["conversation_id"]

    again = call(
        connection.url, connection.key, "diary", query="More", conversation_id=conversation
    )
    foreign = call(
        connection.url, connection.other_key, "diary", query="x", conversation_id=conversation
    )

    assert again.structuredContent["conversation_id"] == conversation
    assert foreign.isError
    assert "not found" in get_text(foreign)


def test_result_of_a_run_is_there_later_for_its_program_only(
    live_stack: LiveStack, connection: Connection
) -> None:
    run_id = call(connection.url, connection.key, "greeting", name="Ana").structuredContent[
        "run_id"
    ]

    own = call(connection.url, connection.key, "get_run_result", run_id=run_id)
    foreign = call(connection.url, connection.other_key, "get_run_result", run_id=run_id)

    assert own.structuredContent["outputs"] == {"greeting": "Good morning, Ana!"}
    assert foreign.isError


def test_run_is_marked_with_its_channel(live_stack: LiveStack, connection: Connection) -> None:
    result = call(connection.url, connection.key, "greeting", name="Ana")

    run_id = result.structuredContent["run_id"]
    assert live_stack.sql("select channel from workflows_run where id = %s", (run_id,)) == [
        ("mcp",)
    ]


def test_tool_that_is_not_there_is_an_error_of_the_protocol(
    live_stack: LiveStack, connection: Connection
) -> None:
    async def call_nothing(session: ClientSession) -> None:
        with pytest.raises(McpError, match="no_such_tool"):
            await session.call_tool("no_such_tool", {})

    use(connection.url, connection.key, call_nothing)
