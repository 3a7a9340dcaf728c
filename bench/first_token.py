"""The time that each API adds to the first token of a model: `python -m bench.first_token [--json FILE]`.

A real small model answers (that of `bench.real_model`) behind a relay that notes when it got a request and when it sent the
first token. A client asks it directly, and through each API of the product, one after the other: what passes between the
client's request and the first text, less the time of the model itself, is what the product adds. The direct call is
measured in the same way and is subtracted as well. MCP sends no tokens, so that its whole answer is measured.
"""

import argparse
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any, Final
from unittest.mock import patch
from urllib.request import urlopen

import httpx2

from bench._common import Bar, compute_percentile, report
from bench._services import make_scratch_folder, run_server
from bench.real_model import KEY, MODEL, install_server, run_model_server


PORT: Final = 8795
BAR_MS: Final = 15.0
WARM_UP: Final = 5
QUESTION: Final = "What is the capital of France?"
PARAMETERS: Final = {"temperature": 0, "max_tokens": 12}
SYSTEM: Final = "You answer in one short sentence."
TEXT: Final = re.compile(rb'"content":"[^"]')  # in a piece of the model server's stream


@dataclass
class Relay:
    """Passes requests on to a model server, and notes when it got the last one, and sent its first and its last piece."""

    upstream: str
    address: str = ""
    got_at: float = 0.0
    first_at: float = 0.0
    ended_at: float = 0.0


@dataclass(frozen=True)
class Times:
    """The milliseconds of a call before the model got its request, and after it began to answer."""

    before: float
    after: float

    @property
    def added(self) -> float:
        return self.before + self.after


@dataclass(frozen=True)
class Target:
    """The product as a program sees it."""

    url: str
    workflow: str
    name: str
    client: httpx2.Client
    key: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=60, help="calls of each API")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    with (
        run_model_server(install_server()) as model_port,
        run_relay(f"http://127.0.0.1:{model_port}") as relay,
        make_scratch_folder() as scratch,
        patch.dict(os.environ, {"NET_ALLOW": relay.address}),
        run_server(scratch, PORT) as start_url,
        httpx2.Client(timeout=120, trust_env=False) as client,
    ):
        urlopen(start_url).close()
        target = set_up(str(Path(scratch) / "home"), relay, client)
        results = measure(target, relay, options.calls)
    return report(list_bars(results), summarize(results), options.json)


def measure(target: Target, relay: Relay, calls: int) -> dict[str, list[Times]]:
    """Return the times of each call besides the model, by API. The calls of all take turns."""
    asking: dict[str, Callable[[Target, Relay], Times]] = {
        "direct": ask_directly,
        "own API": ask_own_api,
        "OpenAI API": ask_like_openai,
        "Dify API": ask_like_dify,
        "MCP, whole answer": ask_over_mcp,
    }
    results: dict[str, list[Times]] = {name: [] for name in asking}
    for number in range(WARM_UP + calls):
        for name, ask in asking.items():
            times = ask(target, relay)
            if number >= WARM_UP:
                results[name].append(times)
    return results


def list_bars(results: dict[str, list[Times]]) -> list[Bar]:
    """Return the 95th percentiles over that of the direct call, and print what they consist of."""
    direct = compute_percentile([times.added for times in results["direct"]], 95)
    bars = []
    for name, calls in results.items():
        p95 = compute_percentile([times.added for times in calls], 95)
        before, after = (
            median(times.before for times in calls),
            median(times.after for times in calls),
        )
        print(
            f"{name:18} median {before:6.1f} ms before the model + {after:5.1f} ms after it   p95 {p95:6.1f} ms"
        )
        if name != "direct":
            bars.append(Bar(f"{name}: added to the first token, p95", p95 - direct, BAR_MS, " ms"))
    return bars


def summarize(results: dict[str, list[Times]]) -> dict[str, object]:
    rows = {name: [asdict(times) for times in calls] for name, calls in results.items()}
    return {"milliseconds before and after the model": rows}


def ask_directly(target: Target, relay: Relay) -> Times:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    body = {"model": MODEL, "messages": messages, "stream": True, **PARAMETERS}
    url, headers = f"http://{relay.address}/v1/chat/completions", {"Authorization": f"Bearer {KEY}"}
    return stream(target.client, relay, url, headers, body, has_openai_text)


def ask_like_openai(target: Target, relay: Relay) -> Times:
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": target.name, "messages": messages, "stream": True, "user": "ana"}
    url = f"{target.url}/openai/v1/chat/completions"
    return stream(target.client, relay, url, target.headers, body, has_openai_text)


def ask_like_dify(target: Target, relay: Relay) -> Times:
    body = {"query": QUESTION, "inputs": {}, "user": "ana", "response_mode": "streaming"}
    url = f"{target.url}/v1/chat-messages"
    return stream(target.client, relay, url, target.headers, body, has_dify_text)


def ask_own_api(target: Target, relay: Relay) -> Times:
    """Start a run and read its events, which are two requests."""
    api, started_at = f"{target.url}/api/v1", time.perf_counter()
    url, body = f"{api}/workflows/{target.workflow}/runs", {"query": QUESTION, "user": "ana"}
    run = target.client.post(url, headers=target.headers, json=body).raise_for_status().json()
    events = target.client.stream("GET", f"{api}/runs/{run['id']}/events", headers=target.headers)
    with events as response:
        first_at = read_first(response, has_own_text)
    return split(started_at, relay, relay.first_at, first_at)


def ask_over_mcp(target: Target, relay: Relay) -> Times:
    params = {"name": target.name, "arguments": {"query": QUESTION}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    accept = {"Accept": "application/json, text/event-stream"}
    url, started_at = f"{target.url}/mcp/", time.perf_counter()
    answer = target.client.post(url, headers={**target.headers, **accept}, json=body)
    ended_at = time.perf_counter()
    assert '"isError":true' not in answer.raise_for_status().text.replace(" ", ""), answer.text
    return split(started_at, relay, relay.ended_at, ended_at)


def split(started_at: float, relay: Relay, sent_at: float, arrived_at: float) -> Times:
    return Times((relay.got_at - started_at) * 1000, (arrived_at - sent_at) * 1000)


def stream(
    client: httpx2.Client,
    relay: Relay,
    url: str,
    headers: dict[str, str],
    body: dict[str, Any],
    has_text: Callable[[dict[str, Any]], bool],
) -> Times:
    """Send a request, and read its answer to the end."""
    started_at = time.perf_counter()
    with client.stream("POST", url, headers=headers, json=body) as response:
        first_at = read_first(response, has_text)
    return split(started_at, relay, relay.first_at, first_at)


def read_first(response: httpx2.Response, has_text: Callable[[dict[str, Any]], bool]) -> float:
    """Return the time of the first event with text, and read the answer to its end. Raises RuntimeError without one."""
    first_at, lines = 0.0, []
    for line in response.raise_for_status().iter_lines():
        lines.append(line)
        if not first_at and line.startswith("data: {") and has_text(json.loads(line[6:])):
            first_at = time.perf_counter()
    if not first_at:
        raise RuntimeError("an answer without text:\n" + "\n".join(lines)[-2000:])
    return first_at


def has_openai_text(event: dict[str, Any]) -> bool:
    return any(choice["delta"].get("content") for choice in event.get("choices", ()))


def has_dify_text(event: dict[str, Any]) -> bool:
    return event.get("event") == "message" and bool(event.get("answer"))


def has_own_text(event: dict[str, Any]) -> bool:
    return "offset" in event and bool(event.get("text"))


@contextmanager
def run_relay(upstream: str) -> Iterator[Relay]:
    relay = Relay(upstream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on("GET", b"")

        def do_POST(self) -> None:
            self._pass_on("POST", self.rfile.read(int(self.headers["Content-Length"])))

        def _pass_on(self, method: str, body: bytes) -> None:
            relay.got_at, first_at = time.perf_counter(), 0.0
            names = ("Authorization", "Content-Type")
            headers = {name: self.headers[name] for name in names if name in self.headers}
            with httpx2.stream(
                method,
                upstream + self.path,
                headers=headers,
                content=body,
                timeout=60,
                trust_env=False,
            ) as answer:
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in answer.iter_bytes():
                    if not first_at and TEXT.search(piece):
                        relay.first_at = first_at = time.perf_counter()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")
                relay.ended_at = time.perf_counter()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # the connections that clients keep end with them

    server = Server(("127.0.0.1", 0), Handler)
    relay.address = f"127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield relay
    finally:
        server.shutdown()


def set_up(home: str, relay: Relay, client: httpx2.Client) -> Target:
    """Connect the model, publish a chat that asks it, and issue a key for it."""
    environment = {"MNEMOFLOW_HOME": home, "DJANGO_SETTINGS_MODULE": "config.settings"}
    with patch.dict(os.environ, environment):
        import django

        django.setup()
        from accounts.principals import load_user_principal
        from accounts.roles import SCOPES
        from accounts.services import issue_key
        from accounts.tenancy import tenant
        from bench._services import create_operator
        from workflows.openai_api.models import list_models, serialize_model
        from workflows.services import publishing
        from workflows.services.catalog.importing import import_document
        from workflows.services.models.connecting import connect_provider

        user, team = create_operator()
        principal = load_user_principal(user)
        _provider, tested = connect_provider(
            principal,
            team_id=team.pk,
            name="openai",
            base_url=f"http://{relay.address}/v1",
            secret=KEY,
            default_model=MODEL,
        )
        assert not tested.error, tested.error
        workflow = import_document(
            principal, team_id=team.pk, source=build_document(), name="Capital"
        ).workflow
        publishing.publish(principal, workflow=workflow)
        scopes = {scope for scope in SCOPES if not scope.startswith("team")}
        _key, secret = issue_key(
            principal=principal, team=team, name="Bench", scopes=scopes, workflow_id=workflow.pk
        )
        with tenant([team.pk]):
            (model,) = list_models(principal, team.pk)
        name = serialize_model(model)["id"]
    return Target(f"http://127.0.0.1:{PORT}", str(workflow.pk), name, client, secret)


def build_document() -> dict[str, Any]:
    """Return a chat of one LLM node whose text is the answer."""
    nodes = [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
        {
            "id": "llm",
            "data": {
                "type": "llm",
                "title": "Answer",
                "model": {
                    "provider": "openai",
                    "name": MODEL,
                    "completion_params": dict(PARAMETERS),
                },
                "prompt_template": [
                    {"role": "system", "text": SYSTEM},
                    {"role": "user", "text": "{{#sys.query#}}"},
                ],
            },
        },
        {"id": "answer", "data": {"type": "answer", "title": "Reply", "answer": "{{#llm.text#}}"}},
    ]
    edges = [
        {"id": "e1", "source": "start", "target": "llm"},
        {"id": "e2", "source": "llm", "target": "answer"},
    ]
    return {"version": "0.1.0", "mode": "chat", "nodes": nodes, "edges": edges}


if __name__ == "__main__":
    raise SystemExit(main())
