"""What servers answer is cleaned of the secret before it is cut to size, and beside the event loop."""

import threading
from typing import Any

import pytest
from mcp import types

from tests.fakes.http_server import FakeHttp, Reply
from tests.workflows.tools.encodings import SECRET
from workflows.tools import connections
from workflows.tools.echoed_secrets import REDACTED, build_cleaner
from workflows.tools.mcp.results import build_result
from workflows.tools.mcp.servers import Server
from workflows.tools.mcp.session import _Call
from workflows.tools.openapi.security import Security
from workflows.tools.operations import Operation
from workflows.tools.results import MAX_TEXT
from workflows.tools.secret_finder import SecretFinder


CLEAN = build_cleaner(SECRET, Security("bearer"))
OPERATION = Operation(
    "find",
    "",
    {"type": "object", "properties": {}},
    {"method": "GET", "path": "/", "arguments": {}, "body_type": "", "name": "find"},
)


def answer(text: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], **more)


@pytest.mark.parametrize("shown", [4, 12, len(SECRET) - 1])
def test_answer_of_an_mcp_server_is_cut_after_it_was_cleaned(shown: int) -> None:
    before = "y" * (MAX_TEXT - shown - 1)

    result = build_result(answer(f"{before} {SECRET} and more"), CLEAN)

    assert result.text.startswith(before)
    assert SECRET[:shown] not in result.text


def test_links_and_data_of_an_mcp_server_are_cut_after_they_were_cleaned() -> None:
    link = types.ResourceLink(type="resource_link", name="a", uri=f"https://x.test/{'a' * 270}{SECRET}")  # fmt: skip
    data = {"bytes": list(SECRET.encode()), "halves": [SECRET[:9], SECRET[9:]]}

    result = build_result(
        types.CallToolResult(content=[link], structured_content=data, is_error=True), CLEAN
    )

    assert SECRET[:6] not in result.text
    assert list(result.data) == [{"bytes": REDACTED, "halves": [REDACTED, REDACTED]}]


@pytest.fixture
def cleaning_threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads in which answers were cleaned."""
    threads = set[int]()
    replace = SecretFinder.replace

    def note(self: SecretFinder, text: str, mask: str) -> str:
        threads.add(threading.get_ident())
        return replace(self, text, mask)

    monkeypatch.setattr(SecretFinder, "replace", note)
    return threads


async def test_answer_of_an_mcp_server_is_cleaned_beside_the_event_loop(
    cleaning_threads: set[int],
) -> None:
    call = _Call(Server("https://x.test"), OPERATION, {}, "", None, CLEAN)

    result = await call._build_result(answer(f"a {SECRET}"))

    assert result.text == f"a {REDACTED}"
    assert cleaning_threads
    assert threading.get_ident() not in cleaning_threads


@pytest.mark.usefixtures("loopback")
async def test_answer_of_an_api_is_cleaned_beside_the_event_loop(
    cleaning_threads: set[int],
) -> None:
    with FakeHttp() as server:
        server.answers(Reply(200, f'{{"echo": "{SECRET}"}}'.encode()))
        connection = connections.Connection(
            "api", "openapi", server.base_url, {"find": OPERATION}, frozenset({"find"}), frozenset(),
            Security("bearer"), SECRET,
        )  # fmt: skip
        tool = connections.build_tool(connection, OPERATION)

        result = await connections.call_connection_tool(connection, tool, {}, "key")

    assert result.text == f'{{"echo": "{REDACTED}"}}'
    assert threading.get_ident() not in cleaning_threads
