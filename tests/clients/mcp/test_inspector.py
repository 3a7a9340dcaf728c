"""The inspector of the protocol, unmodified, as a program without a window: what it lists, calls and complains of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import find_node, run_node_program
from tests.clients.mcp.documents import DIARY, GREETING
from tests.clients.mcp.team import make_connection
from tests.support.stack import LiveStack


Inspect = Callable[..., Any]  # of a method, with further options


@pytest.fixture
def inspect(live_stack: LiveStack, tmp_path: Path) -> Inspect:
    find_node("mcp-inspector")
    connection = make_connection(live_stack, Greeting=GREETING, Diary=DIARY)

    def ask(method: str, *options: str, person: str = "ina") -> Any:
        done = run_node_program(
            "mcp-inspector", "mcp-inspector", "--cli", f"{connection.url}?user={person}",
            "--transport", "http", "--header", f"Authorization: Bearer {connection.key}",
            "--method", method, *options, home=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)

    return ask


def call(inspect: Inspect, tool: str, *pairs: str, **options: str) -> Any:
    arguments = [part for pair in pairs for part in ("--tool-arg", pair)]
    return inspect("tools/call", "--tool-name", tool, *arguments, **options)


def test_inspector_finds_nothing_wrong_and_keeps_persons_apart(inspect: Inspect) -> None:
    tools = inspect("tools/list", "--strict")["tools"]
    greeting = call(inspect, "greeting", "name=Ina")
    call(inspect, "memory_store", "key=food", "text=Ina avoids peanuts.")
    own = call(inspect, "memory_search", "query=peanuts")
    foreign = call(inspect, "memory_search", "query=peanuts", person="joe")

    assert {"greeting", "diary", "memory_store"} <= {tool["name"] for tool in tools}
    assert greeting["structuredContent"]["outputs"] == {"greeting": "Good morning, Ina!"}
    assert [each["text"] for each in own["structuredContent"]["memories"]] == [
        "Ina avoids peanuts."
    ]
    assert foreign["structuredContent"]["memories"] == []
    assert inspect("resources/list")["resources"] == []
