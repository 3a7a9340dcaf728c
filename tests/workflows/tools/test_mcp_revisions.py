"""Real MCP servers of each revision: the same calls, one connection for a run, and questions to a person."""

import asyncio
from typing import Any

import pytest
from mcp import types

from tests.fakes.mcp_server import ADD, FakeMcp, Raw
from tests.fakes.mcp_servers import NEW, OLD, OLDEST, REVISIONS, SIZE, ServedMcp, serve_mcp
from tests.support.movable_time import movable_time
from tests.support.waiting import LIMIT, until_async
from workflows.engine.errors import ToolFailed
from workflows.engine.tool_calls import ToolAsks, ToolReply, ToolResult
from workflows.tools.call_limits import CallLimit, build_call_limit
from workflows.tools.kept_connections import keep_connections
from workflows.tools.mcp.interviews import MAX_QUESTIONS, Answer, Interview, describe_question
from workflows.tools.mcp.patience import Patience
from workflows.tools.mcp.session import Server, call_tool, list_tools
from workflows.tools.operations import Operation


pytestmark = pytest.mark.usefixtures("loopback")

every_revision = pytest.mark.parametrize("revision", REVISIONS)


def operation(name: str) -> Operation:
    parameters = {"type": "object", "properties": {}}
    return Operation(name, "", parameters, {"name": name})


async def find(served: ServedMcp, name: str) -> Operation:
    """Return a tool as a connection has stored it."""
    listing = await list_tools(Server(served.url))
    return next(each for each in listing.operations if each.name == name)


async def add(served: ServedMcp, tool: Operation, key: str = "k") -> ToolResult:
    return await call_tool(Server(served.url), tool, {"a": 1, "b": 2}, idempotency_key=key)


@every_revision
async def test_tools_are_listed_called_and_refused(revision: str) -> None:
    with serve_mcp(revision) as served:
        listing = await list_tools(Server(served.url))
        answer = await add(served, listing.operations[0])
        refusal = await call_tool(Server(served.url), operation("refuse"), {})

    assert listing.title == "served"
    assert [each.name for each in listing.operations] == [
        "add",
        "wait",
        "refuse",
        "order",
        "sample",
    ]
    assert (answer.text, list(answer.data), answer.is_error) == ("3", [{"sum": 3}], False)
    assert (refusal.text, refusal.is_error) == ("not today", True)
    assert [(call.name, call.key) for call in served.calls] == [("add", "k"), ("refuse", None)]


@every_revision
async def test_slow_call_is_given_up_and_the_server_is_told(revision: str) -> None:
    with serve_mcp(revision) as served:
        waiting = asyncio.create_task(call_tool(Server(served.url), operation("wait"), {}))
        await until_async(lambda: served.requests["tools/call"] == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        try:
            await until_async(served.was_cancelled.is_set)
        finally:
            served.may_answer.set()


@every_revision
async def test_calls_of_a_run_share_a_connection(revision: str) -> None:
    begins = {NEW: "new server/discover", OLD: "DELETE", OLDEST: "GET"}[revision]
    with serve_mcp(revision) as served:
        tool = await find(served, "add")
        before = served.requests[begins]
        async with keep_connections():
            first = await add(served, tool)
            later = await asyncio.gather(*(add(served, tool, f"{n}") for n in range(3)))

        await until_async(lambda: served.requests[begins] > before)
        assert served.requests[begins] == before + 1
    assert [each.text for each in (first, *later)] == ["3"] * 4
    assert sorted(str(call.key) for call in served.calls) == ["0", "1", "2", "k"]


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_progress_extends_the_time_of_a_call_up_to_a_total(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[Any] = []

    async def note(patience: Patience, *report: Any) -> None:
        await note_progress(patience, *report)
        noted.append(report)

    async def report_after(seconds: float) -> None:
        time.let_pass(seconds)
        count = len(noted)
        served.reports_progress.set()
        await until_async(lambda: len(noted) > count)

    note_progress = Patience.note_progress
    monkeypatch.setattr(Patience, "note_progress", note)
    with serve_mcp(revision) as served, movable_time() as time:
        target = Server(served.url, limit=CallLimit(600, 1500))
        waiting = asyncio.create_task(call_tool(target, operation("wait"), {}))
        await until_async(lambda: served.requests["tools/call"] == 1)
        await report_after(500)
        await report_after(500)
        assert not waiting.done()
        await report_after(400)
        time.let_pass(101)
        message = "The tool wait took longer than 1500 seconds, the limit of its connection"
        with pytest.raises(ToolFailed, match=message):
            await waiting
        await until_async(served.was_cancelled.is_set)


async def test_call_without_progress_has_the_time_of_its_connection() -> None:
    with serve_mcp(NEW) as served, movable_time() as time:
        target = Server(served.url, limit=build_call_limit(90))
        waiting = asyncio.create_task(call_tool(target, operation("wait"), {}))
        await until_async(lambda: served.requests["tools/call"] == 1)
        time.let_pass(91)
        with pytest.raises(ToolFailed, match="took longer than 90 seconds, the limit of its"):
            await waiting


@pytest.mark.parametrize(("seconds", "total"), [(5, 50), (60, 600), (600, 1800), (0.3, 3)])
def test_total_of_a_call_is_bounded(seconds: float, total: float) -> None:
    assert build_call_limit(seconds) == CallLimit(seconds, total)
    assert build_call_limit(seconds).shorten(120) == CallLimit(min(seconds, 120), min(total, 120))


async def test_session_that_the_server_has_forgotten_is_opened_again() -> None:
    with serve_mcp(OLD) as served:
        tool = await find(served, "add")
        async with keep_connections():
            await add(served, tool)
            served.forgets_sessions = True
            again = await add(served, tool, "again")

    assert again.text == "3"
    assert [call.key for call in served.calls] == ["k", "again"]


async def test_list_is_asked_for_again_when_its_time_is_up() -> None:
    counts = []
    for ttl_ms in (3_600_000, 0):
        with serve_mcp(NEW, ttl_ms=ttl_ms) as served:
            tool = await find(served, "add")
            for _run in range(3):
                async with keep_connections():
                    await add(served, tool)
                    await add(served, tool)
            counts.append(served.requests["new tools/list"] - 1)

    assert counts == [1, 3]


async def test_tool_that_its_server_has_changed_is_not_called() -> None:
    with serve_mcp(NEW) as served:
        tool = await find(served, "add")
        served.schema = {**served.schema, "required": []}

        with pytest.raises(ToolFailed, match="has changed the tool add"):
            await add(served, tool)

    assert served.calls == []


async def test_question_of_a_server_becomes_a_form_and_the_answer_goes_with_the_call() -> None:
    with serve_mcp(NEW) as served:
        with pytest.raises(ToolAsks) as asked:
            await call_tool(Server(served.url), operation("order"), {}, idempotency_key="k")
        form, state = asked.value.form, asked.value.state
        replies = [
            ToolReply({"size": "L", "count": 2, "gift": False}, "accept", state),
            ToolReply({"size": "L", "count": None, "gift": None}, "accept", state),
            ToolReply({}, "decline", state),
            ToolReply({}, "", state),  # nobody answered in time
        ]
        texts = [
            (await call_tool(Server(served.url), operation("order"), {}, reply=reply)).text
            for reply in replies
        ]

    assert form["content"] == "**order**\n\n    Which size?"
    assert [(each["name"], each["type"], each["required"]) for each in form["inputs"]] == [
        ("size", "select", True), ("count", "number", False), ("gift", "checkbox", False),
    ]  # fmt: skip
    assert [action["id"] for action in form["actions"]] == ["accept", "decline"]
    assert texts == [
        "basket 7: accept {'size': 'L', 'count': 2, 'gift': False}",
        "basket 7: accept {'size': 'L'}",
        "basket 7: decline None",
        "basket 7: cancel None",
    ]


async def order(served: ServedMcp, reply: ToolReply | None = None) -> ToolResult:
    return await call_tool(
        Server(served.url), operation("order"), {}, idempotency_key="k", reply=reply
    )


async def ask_for_size(served: ServedMcp, reply: ToolReply | None = None) -> ToolAsks:
    with pytest.raises(ToolAsks) as asked:
        await order(served, reply)
    return asked.value


async def test_question_during_a_call_withdraws_it_and_the_same_call_gets_the_answer() -> None:
    with serve_mcp(OLD) as served:
        asked = await ask_for_size(served)
        await asyncio.to_thread(served.was_cancelled.wait, LIMIT)
        before = list(served.ordered)
        replies = [
            ToolReply({"size": "L", "count": 1, "gift": False}, "accept", asked.state),
            ToolReply({}, "decline", asked.state),
            ToolReply({}, "", asked.state),  # nobody answered in time
        ]
        texts = [(await order(served, reply)).text for reply in replies]

    assert (before, served.ordered) == ([], texts)
    assert asked.form["content"] == "**order**\n\n    Which size?"
    assert [each["name"] for each in asked.form["inputs"]] == ["size", "count", "gift"]
    assert texts == [
        "accept {'size': 'L', 'count': 1, 'gift': False}",
        "decline None",
        "cancel None",
    ]
    assert [call.key for call in served.calls] == ["k", "k 1", "k 1", "k 1"]


async def test_second_question_of_a_call_is_asked_with_the_first_answer_remembered() -> None:
    with serve_mcp(OLD) as served:
        first = await ask_for_size(served)
        size = ToolReply({"size": "L", "count": 2, "gift": None}, "accept", first.state)
        second = await ask_for_size(served, size)
        answered = await order(served, ToolReply({"sure": True}, "accept", second.state))

    assert second.form["content"] == "**order**\n\n    So many?"
    assert served.ordered == [answered.text]
    assert answered.text == "accept {'size': 'L', 'count': 2}, accept {'sure': True}"


async def test_answer_is_not_given_to_another_question() -> None:
    with serve_mcp(OLD) as served:
        asked = await ask_for_size(served)
        asked.state["requests"]["question"]["params"]["message"] = "Which colour?"
        again = await ask_for_size(served, ToolReply({"size": "L"}, "accept", asked.state))

    assert (again.form, again.state["answers"]) == (asked.form, [])
    assert served.ordered == []


async def test_questions_of_a_call_come_to_an_end() -> None:
    params = types.ElicitRequestFormParams(message="Once more?", requested_schema=SIZE)
    answer = Answer(describe_question(params), {"action": "accept", "content": {"size": "L"}})
    interview = Interview([answer] * MAX_QUESTIONS)
    for _ in range(MAX_QUESTIONS):
        await interview.answer(params)
    asking = asyncio.ensure_future(interview.answer(params))
    await interview.is_asking.wait()
    interview.is_told.set()

    with pytest.raises(ToolFailed, match="more than 10 questions in one call"):
        await interview.end()
    assert (await asking).action == "cancel"


async def test_question_goes_to_the_call_that_asks_and_leaves_others_alone() -> None:
    with serve_mcp(OLD) as served:
        tool = await find(served, "add")
        async with keep_connections():
            waiting = asyncio.create_task(call_tool(Server(served.url), operation("wait"), {}))
            await until_async(lambda: served.requests["tools/call"] == 1)
            asked = await ask_for_size(served)
            added = await add(served, tool)
            served.may_answer.set()
            waited = await waiting
        ordered = await order(served, ToolReply({"size": "S"}, "accept", asked.state))

    assert (added.text, waited.text) == ("3", "at last")
    assert ordered.text == "accept {'size': 'S'}"


async def test_server_of_an_earlier_revision_sends_nobody_to_an_address() -> None:
    with serve_mcp(OLD) as served:
        refused = await call_tool(Server(served.url), operation("visit"), {})

    assert (refused.text, refused.is_error) == ("Only forms are shown", True)


async def test_server_that_wants_a_model_is_refused() -> None:
    match = "sampling/createMessage, which is not offered"
    with serve_mcp(NEW) as served, pytest.raises(ToolFailed, match=match):
        await call_tool(Server(served.url), operation("sample"), {})


@every_revision
async def test_credential_goes_with_every_request(revision: str) -> None:
    header = ("Authorization", "Bearer t0ken")
    with serve_mcp(revision) as served:
        await call_tool(Server(served.url, header=header), operation("refuse"), {})

        await asyncio.wait_for(until_async(lambda: served.headers), LIMIT)
    assert {headers.get("authorization") for headers in served.headers} == {"Bearer t0ken"}


EVENTS = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
ADDING = Operation("add", "", ADD["inputSchema"], {"name": "add"})


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Raw(b'{"jsonrpc": "2.0"}', headers={**JSON, "content-length": "900"}), "closed|incomplete|broke"),
        (Raw(b'{"jsonrpc": "2.0", "id": 3, "result": {}}', headers={**JSON, "content-length": "9"}), "not valid"),
        (Raw(b"data: {}\n\n", headers={**EVENTS, "content-length": "900"}), "closed|not valid|broke"),
        (Raw(b'{"jsonrpc": "2.0", "id": 4711, "result": {}}'), "a request that was not made"),
        (Raw(b"{}", headers={"content-type": "text/plain"}), "not valid"),
        (Raw(status=202), "not valid"),
        (Raw(b"", 301, {"location": "http://127.0.0.1:1/mcp", **JSON}), "redirects to another|another site"),
        (Raw(b"secret page", 503), "the status 503"),
    ],
)  # fmt: skip
async def test_hostile_answers_are_told_at_once(answer: Raw, message: str, is_new: bool) -> None:
    with FakeMcp() as server:
        if is_new:
            server.speak_new()
        server.answers["tools/call"] = lambda _message: answer
        with pytest.raises(ToolFailed, match=message) as failure:
            await call_tool(Server(server.url), ADDING, {"a": 1, "b": 2})

    assert "secret page" not in str(failure.value)
    assert "longer than" not in str(failure.value)
