"""The client of the official package, unmodified, against a real web server with a real worker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

import httpx2
import pytest
from mcp import Client, MCPError, types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client

from tests.clients.mcp.documents import ASKING, DIARY, GREETING
from tests.clients.mcp.team import Connection, make_connection
from tests.support.stack import LiveStack


T = TypeVar("T")

both_revisions = pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])


@pytest.fixture(scope="module")
def connection(_stack: LiveStack) -> Connection:
    return make_connection(_stack, Greeting=GREETING, Diary=DIARY, Asking=ASKING)


@asynccontextmanager
async def connected(url: str, key: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http_client,
        Client(
            streamable_http_client(url, http_client=http_client), mode=mode, **options
        ) as client,
    ):
        yield client


def use(
    url: str, key: str, work: Callable[[Client], Awaitable[T]], mode: str = "auto", **options: Any
) -> T:
    async def run() -> T:
        async with connected(url, key, mode, **options) as client:
            return await work(client)

    return asyncio.run(run())


def call(url: str, key: str, tool: str, /, **arguments: Any) -> Any:
    return use(url, key, lambda client: client.call_tool(tool, arguments))


def get_text(result: Any) -> str:
    return str(result.content[0].text)


@both_revisions
def test_each_published_workflow_is_a_tool_with_the_inputs_of_its_form(
    live_stack: LiveStack, connection: Connection, mode: str
) -> None:
    listed = use(connection.url, connection.key, lambda client: client.list_tools(), mode)

    tools = {tool.name: tool for tool in listed.tools}
    assert {"greeting", "diary", "memory_search", "get_run_result"} <= set(tools)
    assert tools["greeting"].input_schema["required"] == ["name"]
    assert tools["diary"].input_schema["required"] == ["query"]


@both_revisions
def test_workflow_runs_and_says_how_far_it_is(
    live_stack: LiveStack, connection: Connection, mode: str
) -> None:
    told: list[str | None] = []

    async def call_with_progress(client: Client) -> Any:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told.append(message)

        return await client.call_tool("greeting", {"name": "Ana"}, progress_callback=tell)

    result = use(connection.url, connection.key, call_with_progress, mode)

    assert not result.is_error
    assert result.structured_content["outputs"] == {"greeting": "Good morning, Ana!"}
    assert "Greet" in told


def test_missing_and_unknown_inputs_are_named(
    live_stack: LiveStack, connection: Connection
) -> None:
    result = call(connection.url, connection.key, "greeting", nme="Ana")

    assert result.is_error
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
    known = searched.structured_content["memories"]
    assert any("allergic" in memory["text"] for memory in known)
    for memory in known:
        call(ana, key, "memory_forget", key=memory["key"])
    assert "allergic" not in get_text(call(ana, key, "diary", query=question))


def test_conversation_goes_on_for_its_program_only(
    live_stack: LiveStack, connection: Connection
) -> None:
    first = call(connection.url, connection.key, "diary", query="Hello")
    conversation = first.structured_content["conversation_id"]

    again = call(
        connection.url, connection.key, "diary", query="More", conversation_id=conversation
    )
    foreign = call(
        connection.url, connection.other_key, "diary", query="x", conversation_id=conversation
    )

    assert again.structured_content["conversation_id"] == conversation
    assert foreign.is_error
    assert "not found" in get_text(foreign)


def test_result_of_a_run_is_there_later_for_its_program_only(
    live_stack: LiveStack, connection: Connection
) -> None:
    run_id = call(connection.url, connection.key, "greeting", name="Ana").structured_content[
        "run_id"
    ]

    own = call(connection.url, connection.key, "get_run_result", run_id=run_id)
    foreign = call(connection.url, connection.other_key, "get_run_result", run_id=run_id)

    assert own.structured_content["outputs"] == {"greeting": "Good morning, Ana!"}
    assert foreign.is_error


def test_run_is_marked_with_its_channel(live_stack: LiveStack, connection: Connection) -> None:
    result = call(connection.url, connection.key, "greeting", name="Ana")

    run_id = result.structured_content["run_id"]
    assert live_stack.sql("select channel from workflows_run where id = %s", (run_id,)) == [
        ("mcp",)
    ]


@both_revisions
def test_tool_that_is_not_there_is_an_error_of_the_protocol(
    live_stack: LiveStack, connection: Connection, mode: str
) -> None:
    async def call_nothing(client: Client) -> None:
        with pytest.raises(MCPError, match="no_such_tool"):
            await client.call_tool("no_such_tool", {})

    use(connection.url, connection.key, call_nothing, mode)


def test_person_in_front_of_the_client_is_asked_and_answers(
    live_stack: LiveStack, connection: Connection
) -> None:
    questions: list[str] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action="accept", content={"size": "large"})

    result = use(
        connection.url,
        connection.key,
        lambda client: client.call_tool("asking", {}),
        elicitation_callback=answer,
    )

    assert questions == ["Which size?"]
    assert result.structured_content["outputs"] == {"size": "large"}


@both_revisions
def test_client_that_shows_no_forms_is_told_where_the_person_answers(
    live_stack: LiveStack, connection: Connection, mode: str
) -> None:
    result = use(
        connection.url, connection.key, lambda client: client.call_tool("asking", {}), mode
    )

    assert "waits for a person" in result.structured_content["message"]


class _Task(types.Result):
    task_id: str
    status: str


class _CreatedTask(_Task):
    result_type: Literal["task"]


class _TaskParams(types.RequestParams):
    task_id: str


class _TaskRequest(types.Request[_TaskParams, str]):
    name_param = "taskId"


class Tasks(ClientExtension):
    """Looks at a task instead of waiting for it, and stops it."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.statuses: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=_CreatedTask, resolve=self._stop)]

    async def _stop(self, task: _CreatedTask, context: ClaimContext) -> types.CallToolResult:
        params = _TaskParams(task_id=task.task_id)
        look = _TaskRequest(method="tasks/get", params=params)
        before = await context.session.send_request(look, _Task)
        cancel = _TaskRequest(method="tasks/cancel", params=params)
        await context.session.send_request(cancel, types.EmptyResult)
        after = await context.session.send_request(look, _Task)
        self.statuses += [task.status, before.status, after.status]
        return types.CallToolResult(content=[types.TextContent(text=task.task_id)])


def test_run_that_takes_longer_than_a_call_is_a_task(
    live_stack: LiveStack, connection: Connection
) -> None:
    """The run waits for a person, whom this client can't ask."""
    tasks = Tasks()

    result = use(
        connection.url,
        connection.key,
        lambda client: client.call_tool("asking", {}),
        extensions=[tasks],
    )

    assert tasks.statuses == ["working", "working", "cancelled"]
    assert live_stack.sql(
        "select status from workflows_run where id = %s", (get_text(result),)
    ) == [("stopped",)]
