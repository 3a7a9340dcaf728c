"""Case 02: a person's text in the JSON body of a request arrives letter for letter, and changes nothing else."""

import json
from collections.abc import Iterator

import pytest

from tests.engine.nodes.http.hostile import TEXTS
from tests.fakes.http_server import FakeHttp, Reply
from tests.spec.cases.documents import build, end, http, start
from workflows.engine.language.dsl import load_document
from workflows.engine.testing.backends import InProcessBackend, Request
from workflows.execution.ports.http import GuardedHttp


@pytest.fixture(scope="module")
def server() -> Iterator[FakeHttp]:
    with FakeHttp() as fake:
        yield fake


@pytest.mark.parametrize("text", TEXTS)
async def test_02_server_receives_the_text_and_the_author_s_members(
    server: FakeHttp, text: str
) -> None:
    server.answers(Reply())
    body = '{"note": "{{#start.note#}}", "role": "reader"}'
    tree = build(
        "Send a note",
        [start("note"), http("send", f"{server.base_url}/notes", body), end(status=["send", "status_code"])],
        ["start>send", "send>end"],
    )  # fmt: skip
    backend = InProcessBackend(http=GuardedHttp(allow=(server.address,)))

    outcome = await backend.run(Request(load_document(tree).document, inputs={"note": text}))

    (request,) = server.requests
    assert outcome.status == "succeeded"
    assert json.loads(request.body) == {"note": text, "role": "reader"}
    assert "body_note" not in outcome.steps[1].inputs
