"""The tool node: which tool a document names, what it is given, and what comes out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.engine.nodes.http.hostile import TEXTS
from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from tests.support.steps import count_steps
from workflows.engine.kinds import Kinds
from workflows.engine.language.content_marks.untrusted import ContentFlow
from workflows.engine.language.validation import validate
from workflows.engine.nodes import NODE_KINDS, build_kinds
from workflows.engine.nodes.agent.tool_node.tool_choice import DIFY_TOOLS as KNOWN
from workflows.engine.nodes.agent.tool_node.tool_choice import build_tool_data, read_reference
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.runtime.waits import Answer
from workflows.engine.testing.fake_server import FakeServer
from workflows.engine.tool_calls import ToolReference, ToolResult, ToolSpec
from workflows.engine.tools.dify import DIFY_TOOLS, convert_json_path
from workflows.engine.tools.functions import build_function_tool
from workflows.engine.tools.local_tool import LocalTool
from workflows.engine.tools.web.table import WEB_TOOLS


def plugin(name: str, **parameters: Any) -> dict[str, Any]:
    """Return the data of a node that calls a tool of the caller."""
    typed = {"provider_type": "plugin", "provider_id": "plugin", "tool_name": name}
    return {**typed, "tool_parameters": parameters}


async def run(data: Mapping[str, Any], *tools: Any, **inputs: Any) -> RunResult:
    return await build_runner(data, *tools).run(inputs=inputs)


def build_runner(data: Mapping[str, Any], *tools: Any) -> WorkflowRunner:
    made = document(
        [start("q"), node("t", "tool", **data), end(text=["t", "text"], json=["t", "json"], found=["t", "found"])],
        ["start -> t", "t -> end"],
    )  # fmt: skip
    http = FakeServer(
        [{"status": 200, "headers": {"content-type": "text/html"}, "body": "<p>A page</p>"}]
    )
    return WorkflowRunner(made, tools=tools, http=http, checked=True)


@for_each("data, reference",
    [
        ({"provider_type": "builtin", "provider_id": "time", "tool_name": "current_time"},
         ToolReference("builtin", "current_time")),
        ({"provider_type": "builtin", "provider_id": "langgenius/time/time", "tool_name": "current_time"},
         ToolReference("builtin", "current_time")),
        ({"provider_type": "builtin", "provider_id": "mnemoflow", "tool_name": "web_page"},
         ToolReference("builtin", "web_page")),
        ({"provider_type": "builtin", "provider_id": "tavily", "tool_name": "tavily_search"},
         ToolReference("builtin", "tavily_search")),
        ({"provider_type": "builtin", "provider_id": "tavily", "tool_name": "current_time"}, None),
        ({"provider_type": "api", "provider_id": "29303358-86a5-4a38-a3dc-5691788732d4",
          "provider_name": "images", "tool_name": "make"}, ToolReference("openapi", "make", "images")),
        ({"provider_type": "api", "provider_id": "library", "tool_name": "find"},
         ToolReference("openapi", "find", "library")),
        ({"provider_type": "mcp", "provider_id": "zapier", "tool_name": "send"},
         ToolReference("mcp", "send", "zapier")),
        ({"provider_type": "workflow", "provider_id": "weather", "tool_name": "weather"},
         ToolReference("workflow", "weather", "weather")),
        ({"provider_type": "plugin", "provider_id": "plugin", "tool_name": "shout"},
         ToolReference("plugin", "shout")),
        ({"provider_type": "dataset-retrieval", "provider_id": "x", "tool_name": "y"}, None),
        ({"mcp_server_ref": "files", "tool_name": "read"}, ToolReference("mcp", "read", "files")),
        ({"mcp_server": {"url": "https://a.test/mcp"}, "tool_name": "read"},
         ToolReference("mcp", "read", "https://a.test/mcp")),
        ({"mcp_server": {"name": "files", "url": "u"}, "tool_name": "read"},
         ToolReference("mcp", "read", "files")),
        # A tool that was chosen here replaces that of the document.
        ({"mcp_server_ref": "files", "provider_type": "builtin", "provider_id": "mnemoflow",
          "tool_name": "time"}, ToolReference("builtin", "time")),
        ({"tool_name": ""}, None),
        ({"tool_name": ["a"], "provider_type": 3}, None),
    ],
)  # fmt: skip
def test_document_names_a_tool(data: Mapping[str, Any], reference: ToolReference | None) -> None:
    assert read_reference(data) == reference


@pytest.mark.parametrize(
    "reference",
    [
        ToolReference("builtin", "time"),
        ToolReference("plugin", "shout"),
        ToolReference("openapi", "find", "library"),
        ToolReference("mcp", "read", "files"),
        ToolReference("workflow", "weather", "weather"),
    ],
)
def test_tool_that_is_chosen_is_read_back(reference: ToolReference) -> None:
    assert read_reference(build_tool_data(reference, "Label")) == reference


def test_every_tool_of_dify_that_documents_may_name_exists() -> None:
    tools = {tool.spec.name for tool in (*DIFY_TOOLS, *WEB_TOOLS)}

    assert tools == {name for names in KNOWN.values() for name in names}


@for_each("data, text",
    [
        ({"provider_id": "maths", "tool_name": "eval_expression",
          "tool_parameters": {"expression": {"type": "mixed", "value": "{{#start.q#}} + 1"}}}, "3"),
        ({"provider_id": "maths", "tool_name": "eval_expression",
          "tool_parameters": {"expression": "{{#start.q#}} + 1"}}, "3"),
        ({"provider_id": "maths", "tool_name": "eval_expression",
          "tool_parameters": {"expression": {"type": "variable", "value": ["start", "q"]}}}, "2"),
        ({"provider_id": "webscraper", "tool_name": "webscraper",
          "tool_configurations": {"generate_summary": None},
          "tool_parameters": {"url": {"type": "constant", "value": "https://a.test/"}}}, "A page"),
        ({"provider_id": "json_process", "tool_name": "parse",
          "tool_parameters": {"content": '{"a": [{"b": "x"}]}', "json_filter": "$.a[0].b"}}, "x"),
        ({"provider_id": "time", "tool_name": "weekday",
          "tool_parameters": {"year": "2026", "month": 3, "day": 28}}, "March 28, 2026 is Saturday."),
        ({"provider_id": "time", "tool_name": "localtime_to_timestamp",
          "tool_parameters": {"localtime": "2026-03-28 12:00:00", "timezone": "UTC"}}, "1774699200"),
        ({"provider_id": "time", "tool_name": "timestamp_to_localtime",
          "tool_parameters": {"timestamp": 1774699200, "timezone": "UTC"}}, "2026-03-28 12:00:00"),
        ({"provider_id": "time", "tool_name": "timezone_conversion",
          "tool_parameters": {"current_time": "2026-03-28 12:00:00", "current_timezone": "UTC",
                              "target_timezone": "Asia/Tokyo"}}, "2026-03-28 21:00:00"),
    ],
)  # fmt: skip
async def test_dify_s_tools_answer_as_there(data: Mapping[str, Any], text: str) -> None:
    result = await run({"provider_type": "builtin", **data}, q="2")

    assert (result.error, result.outputs["text"]) == (None, text)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("$.a.b", '@."a"."b"'),
        ("a[0]['b c'][*].d", '@."a"[0]."b c"[*]."d"'),
        ("$", "@"),
        ("$.*", "@.*"),
    ],
)
def test_json_path_becomes_a_query(path: str, query: str) -> None:
    assert convert_json_path(path) == query


@pytest.mark.parametrize("path", ["$..a", "$.a[?(@.b)]", "$.a[0:2]", "$[("])
def test_json_path_that_can_not_be_used_is_named(path: str) -> None:
    with pytest.raises(ValueError, match="can't be used"):
        convert_json_path(path)


async def test_arguments_have_the_types_of_the_tool() -> None:
    def find(word: str, limit: int, exact: bool = False, tags: list[str] | None = None) -> Any:
        return {"found": [word, limit, exact, tags]}

    result = await run(
        {**plugin("find",
                  word={"type": "mixed", "value": "<{{#start.q#}}>"},
                  limit={"type": "mixed", "value": "5"},
                  exact={"type": "constant", "value": "true"},
                  tags={"type": "variable", "value": ["start", "missing"]}),
         "output_schema": {"properties": {"found": {"type": "array"}}}},
        find, q="x",
    )  # fmt: skip

    assert result.outputs["found"] == ["<x>", 5, True, None]
    assert result.outputs["json"] == [{"found": ["<x>", 5, True, None]}]


async def test_xworkflow_s_arguments_are_filled_in_at_every_depth() -> None:
    def echo(value: dict[str, Any]) -> Any:
        return value

    tool = build_function_tool(echo)
    data = {
        **plugin("echo"),
        "provider_id": "",
        "arguments": {"value": {"a": ["{{#start.q#}}", 1]}},
    }

    assert (await run(data, tool, q="x")).outputs["json"] == [{"a": ["x", 1]}]


@for_each("text", TEXTS)
async def test_object_that_an_author_writes_as_text_keeps_its_members(text: str) -> None:
    given: list[Any] = []

    def book(order: dict[str, Any], note: str) -> str:
        given.append((order, json.loads(note)))
        return "booked"

    written = '{"name": "{{#start.q#}}", "seats": 2}'
    data = plugin("book", order={"type": "mixed", "value": written}, note=written)

    result = await run(data, build_function_tool(book), q=text)

    assert (result.status, result.error) == (RunStatus.SUCCEEDED, None)
    assert given == [({"name": text, "seats": 2}, {"name": text, "seats": 2})]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"provider_type": "builtin", "provider_id": "tavily", "provider_name": "Tavily", "tool_name": "search"},
         "The tool search of Tavily isn't connected"),
        ({"provider_type": "mcp", "provider_id": "files", "tool_name": "read"},
         "There is no tool 'read' of 'files' (mcp)"),
        (plugin("missing"), "There is no tool 'missing' (plugin)"),
        (plugin("fail"), "ValueError: no such book"),
        ({"provider_type": "builtin", "tool_name": "calculator", "tool_parameters": {"expression": "9**9**9"}},
         "A number is too large or is undefined"),
        ({"provider_type": "builtin", "tool_name": "calculator", "tool_parameters": {"expression": ""}},
         "The expression is invalid"),
        ({"provider_type": "builtin", "tool_name": "web_page"}, "it has no url"),
    ],
)  # fmt: skip
async def test_run_fails_with_a_reason_when_it_reaches_the_tool(
    data: Mapping[str, Any], error: str
) -> None:
    def fail() -> str:
        raise ValueError("no such book")

    result = await run(data, fail)

    assert result.status == RunStatus.FAILED
    assert error in str(result.error)


async def test_failing_tool_is_called_again_and_then_takes_the_fail_branch() -> None:
    calls = []

    def fail() -> str:
        calls.append(1)
        raise ValueError("no")

    data = {**plugin("fail"), "error_strategy": "fail-branch",
            "retry_config": {"retry_enabled": True, "max_retries": 2, "retry_interval": 0}}  # fmt: skip
    made = document(
        [start(), node("t", "tool", **data), end(error=["t", "error_message"], type=["t", "error_type"])],
        ["start -> t", "t:fail-branch -> end"],
    )  # fmt: skip

    result = await WorkflowRunner(made, tools=[fail]).run()

    assert len(calls) == 3
    assert result.outputs == {"error": "ValueError: no", "type": "ToolFailed"}


def test_tool_that_is_not_connected_is_reported_by_name_and_stops_nothing() -> None:
    data = {
        "provider_type": "builtin",
        "provider_id": "tavily",
        "provider_name": "tavily",
        "tool_name": "search",
    }
    made = document([start(), node("t", "tool", **data), end()], ["start -> t", "t -> end"])

    problems = [p for p in validate(made, build_kinds()) if p.node == "t"]

    assert [(p.code, p.severity.value) for p in problems] == [("tool.connected", "warning")]
    assert "search of tavily" in problems[0].message


@pytest.mark.parametrize("answer", ["allow", "refuse"])
async def test_tool_that_needs_approval_waits_for_a_person(answer: str) -> None:
    calls = []

    def send(to: str) -> str:
        calls.append(to)
        return "sent"

    tool = build_function_tool(send, needs_approval=True)
    runner = build_runner(plugin("send", to="{{#start.q#}}"), tool)

    paused = runner.start(inputs={"q": "ada"})
    waiting = await paused.result()
    assert waiting.status == RunStatus.PAUSED
    assert calls == []
    (wait,) = waiting.open_waits
    form = wait.wait.form or {}
    assert (form["type"], form["arguments"]) == ("approval", {"to": "ada"})
    result = await runner.resume(paused, {wait.key: Answer(action=answer)}).result()

    if answer == "allow":
        assert (calls, result.outputs["text"]) == (["ada"], "sent")
    else:
        assert (calls, result.error) == ([], "A person refused the call.")


async def test_error_of_a_plug_in_s_own_code_fails_the_node_with_its_message() -> None:
    async def explode(_arguments: Any, _services: Any) -> ToolResult:
        raise RuntimeError("boom")

    tool = LocalTool(ToolSpec("explode"), explode)

    assert (await run(plugin("explode"), tool)).error == "explode failed: RuntimeError: boom"


@pytest.mark.parametrize(
    ("data", "is_untrusted"),
    [
        ({"provider_type": "builtin", "tool_name": "calculator"}, False),
        ({"provider_type": "builtin", "tool_name": "time"}, False),
        ({"provider_type": "builtin", "tool_name": "web_page"}, True),
        (
            {"provider_type": "builtin", "provider_id": "webscraper", "tool_name": "webscraper"},
            True,
        ),
        ({"provider_type": "mcp", "provider_id": "files", "tool_name": "time"}, True),
        ({"provider_type": "builtin", "provider_id": "tavily", "tool_name": "time"}, True),
    ],
)
def test_answers_that_strangers_write_are_untrusted(
    data: Mapping[str, Any], is_untrusted: bool
) -> None:
    flow = ContentFlow([node("t", "tool", **data)], Kinds(NODE_KINDS))

    assert ("t" in flow.find_untrusted()) is is_untrusted


async def test_call_of_a_built_in_tool_costs_little() -> None:
    runner = build_runner(
        {
            "provider_type": "builtin",
            "tool_name": "calculator",
            "tool_parameters": {"expression": "1 + 1"},
        }
    )
    await runner.run(inputs={"q": ""})
    # Three nodes and the run around them; `bench/engine.py` measures how long nodes take.
    with count_steps(20_000):
        await runner.run(inputs={"q": ""})
