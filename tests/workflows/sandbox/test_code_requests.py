"""Code that sends HTTP requests by ``requests``: through the run's HTTP port, within limits, and only if that is on."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.code import CODE
from tests.support.documents import document, end, node, start
from tests.support.engine import ports
from workflows.engine.errors import HttpFailed
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.nodes.data.code import Code
from workflows.engine.ports import HttpRequest, HttpResponse
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunStart
from workflows.execution.ports.http import GuardedHttp
from workflows.sandbox.process import is_jailed


LANGUAGES = [
    "python3",
    pytest.param(
        "python-full", marks=pytest.mark.skipif(not is_jailed(), reason="needs bubblewrap")
    ),
]
HEAD = "import requests, json\nfrom requests.exceptions import RequestException\n"


class Http:
    """An HTTP port that answers every request and remembers it."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse] | None = None) -> None:
        self.requests: list[HttpRequest] = []
        self._answer = answer

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        if self._answer is not None:
            return self._answer(request)
        body = json.dumps({"n": len(self.requests), "url": request.url})
        return HttpResponse(200, {"content-type": "application/json"}, body.encode())


async def run(body: str, http: Any, language: str = "python3") -> Any:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    code = node("c", "code", code_language=language, code=f"{HEAD}def main():\n{lines}\n",
                outputs={"r": {"type": "any"}})  # fmt: skip
    plan = document([start(), code, end(r=["c", "r"])], ["start -> c", "c -> end"])
    compiled = compile_plan(plan, build_kinds())
    return await execute_plan(
        compiled, RunStart(run_id="run", inputs={}), ports(code=CODE, http=http), ListJournal()
    )


@pytest.mark.parametrize("language", LANGUAGES)
async def test_code_gets_the_responses_to_its_requests_in_order(language: str):
    http = Http()
    body = """first = requests.get("https://a.test/x", params={"q": [1, 2]}, timeout=3)
second = requests.post("https://a.test/y", json={"n": first.json()["n"]}, headers={"X-A": "b"})
second.raise_for_status()
return {"r": [first.status_code, first.ok, first.headers.get("Content-Type"), second.json()["n"]]}"""

    result = await run(body, http, language)

    assert result.outputs == {"r": [200, True, "application/json", 2]}
    get, post = http.requests
    assert (get.method, get.url, get.params) == (
        "GET",
        "https://a.test/x",
        [("q", "1"), ("q", "2")],
    )
    assert (get.timeout_seconds, get.headers, get.idempotency_key) == (3, [], None)
    assert (post.json_value, post.has_json, post.headers) == ({"n": 1}, True, [("X-A", "b")])
    assert post.idempotency_key is not None


async def test_form_and_text_and_a_session_are_sent_as_requests_sends_them():
    http = Http()
    body = """s = requests.Session()
s.headers["X-S"] = "1"
s.post("https://a.test", data={"a": "é", "b": 2}, auth=("me", "secret"))
s.put("https://a.test", data="text")
return {"r": 1}"""

    await run(body, http)

    form, text = http.requests
    assert form.content == b"a=%C3%A9&b=2"
    assert dict(form.headers) == {
        "X-S": "1",
        "Authorization": "Basic bWU6c2VjcmV0",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    assert (text.content, text.method) == (b"text", "PUT")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_failed_request_raises_what_the_code_may_catch(language: str):
    def refuse(_request: HttpRequest) -> HttpResponse:
        raise HttpFailed("The host is unknown")

    body = """try:
    requests.get("https://nowhere.test")
except RequestException as error:
    return {"r": str(error)}"""

    assert (await run(body, Http(refuse), language)).outputs == {"r": "The host is unknown"}


async def test_request_that_the_code_swallows_is_sent_all_the_same():
    body = """try:
    text = requests.get("https://a.test").text
except Exception:
    text = "swallowed"
return {"r": text}"""

    assert "a.test" in (await run(body, Http())).outputs["r"]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_bytes_of_a_response_arrive_as_they_are(language: str):
    http = Http(lambda _request: HttpResponse(200, {}, b"\xff\x00a"))

    result = await run("return {'r': requests.get('https://a.test').content.hex()}", http, language)

    assert result.outputs == {"r": "ff0061"}


async def test_requests_are_limited_in_number():
    http = Http()

    result = await run("while True:\n    requests.get('https://a.test')", http)

    assert result.error == "The code sends more than 10 HTTP requests"
    assert len(http.requests) == 10


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://169.254.169.254/latest/", "file:///etc/passwd"]
)
async def test_guard_of_http_nodes_refuses_addresses_of_code_too(url: str):
    body = f"""try:
    return {{"r": requests.get({url!r}).text}}
except Exception as error:
    return {{"r": "refused: " + str(error)}}"""

    result = await run(body, GuardedHttp(allow=()))

    assert result.outputs["r"].startswith("refused: ")


async def test_requests_of_code_are_refused_where_they_are_off(settings: Any):
    settings.CODE_HTTP = False
    http = Http()

    result = await run("return {'r': requests.get('https://a.test').text}", http)

    assert "CODE_HTTP" in str(result.error)
    assert http.requests == []


def test_outputs_of_code_that_may_send_requests_are_untrusted():
    def brings(code: str) -> bool:
        return Code().brings_untrusted_content(NodeSpec("c", "code", {"code": code}))

    assert brings("import json, requests\ndef main(): pass")
    assert brings("def main():\n    from requests import get")
    assert not brings("def main(requests): return {'r': requests}")
    assert not brings("")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "code",
    [
        "requests = __import__('requests')\ndef main():\n    return {'r': requests.get('http://x.test').text}",
        "def main():\n    if True: import requests\n    return {'r': requests.get('http://x.test').text}",
        "x = 1; import requests\ndef main():\n    return {'r': requests.get('http://x.test').text}",
        "import requests\ndef main():\n    return {'r': requests.get('http://x.test').text}",
    ],
)
async def test_response_marks_the_outputs_however_the_module_is_imported(language: str, code: str):
    http = Http()
    coded = node("c", "code", code_language=language, code=code, outputs={"r": {"type": "string"}})
    made = document([start(), coded, end(r=["c", "r"])], ["start -> c", "c -> end"])

    result = await execute_plan(
        compile_plan(made, build_kinds()),
        RunStart(run_id="run", inputs={}),
        ports(code=CODE, http=http),
        ListJournal(),
    )

    # The small interpreter knows no such imports, and then nothing is sent.
    assert http.requests or result.error
    assert result.has_untrusted_outputs or not http.requests
