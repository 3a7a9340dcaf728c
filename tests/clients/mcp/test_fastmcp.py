"""fastmcp's client, unmodified, in an environment of its own."""

from pathlib import Path

from tests.clients.environments import find_python, run_script
from tests.clients.mcp.documents import DIARY, GREETING
from tests.clients.mcp.team import make_connection
from tests.support.stack import LiveStack


def test_fastmcp_calls_a_workflow_and_keeps_persons_apart(live_stack: LiveStack) -> None:
    find_python("fastmcp")
    connection = make_connection(live_stack, Greeting=GREETING, Diary=DIARY)

    script = Path(__file__).with_name("fastmcp_session.py")
    said = run_script("fastmcp", script, url=connection.url, key=connection.key)

    assert {"greeting", "diary", "memory_store"} <= set(said["tools"])
    assert said["greeting"] == {"greeting": "Good morning, Fay!"}
    assert "Greet" in said["told"]
    assert said["known"] == ["Fay avoids peanuts."]
    assert said["known_of_other"] == said["known_afterwards"] == []
    assert said["refused"] == "name: is required"
