"""The description of the API is good enough to generate a client that parses every answer, and errors too."""

import json
from pathlib import Path
from typing import Any

import pytest

from config.api import api
from tests.clients.environments import find_python, run_script
from tests.clients.mcp.documents import DIARY
from tests.clients.mcp.team import make_connection
from tests.support.stack import LiveStack


SCRIPT = Path(__file__).with_name("play_client.py")


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("description") / "openapi.json"
    path.write_text(json.dumps(api.get_openapi_schema(), default=str), encoding="utf-8")
    return path


def test_generated_client_parses_answers_pages_and_errors(
    live_stack: LiveStack, schema: Path
) -> None:
    find_python("openapi-python-client")
    connection = make_connection(live_stack, Diary=DIARY, Second=DIARY)

    story: dict[str, Any] = run_script(
        "openapi-python-client", SCRIPT, url=live_stack.url, key=connection.key, schema=str(schema)
    )

    assert sorted(story["workflows"]) == ["Diary", "Second"]
    assert story["started"] == ["RunDetailOut", "RunDetailOut"]
    assert (story["status"], story["query"]) == ("succeeded", "I am allergic to peanuts.")
    assert (story["runs"], story["kinds"] > 20) == (2, True)
    assert [(error["status"], error["type"]) for error in story["errors"]] == [
        (422, "InputRejected"),
        (404, "NotFound"),
        (403, "NotAllowed"),
        (401, "NotSignedIn"),
    ]
    assert {error["shape"] for error in story["errors"]} == {"ApiErrorOut"}
    assert story["errors"][0]["problems"] == ["town"]
