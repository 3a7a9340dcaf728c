"""The round trips of edits through the whole product: `python -m bench.edits [--json FILE]`.

One signed-in client sends one edit at a time, over HTTP with keep-alive, to a server that runs as with `make run`: move,
set, add and connect, delete, undo. Each response contains the HTML of the changes. The duration must depend on the edit:
in a larger draft, edits may not be much slower.
"""

import argparse
import http.client
import json
import random
import re
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from statistics import quantiles
from typing import Any
from urllib.parse import urlsplit

from bench._common import Bar, report
from bench._services import make_scratch_folder, run_server
from bench.graphs import build_document


Json = dict[str, Any]

SIZES = ((500, 700), (2000, 3000))
PORT = 8793
WARM_UPS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=60, help="repetitions of each edit")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with make_scratch_folder() as home, run_server(home, PORT) as start_url:
        client = Client(start_url)
        measured = {nodes: _measure(client, nodes, edges, options.times) for nodes, edges in SIZES}
    bars = [
        Bar(f"{nodes} nodes: p95 of all edits", edits["all"]["p95"], 50, " ms")
        for nodes, edits in measured.items()
    ]
    small, large = (measured[nodes]["all"]["p50"] for nodes, _edges in SIZES)
    bars.append(Bar("2,000 nodes / 500 nodes, p50", large / small, 1.5))
    for nodes, edits in measured.items():
        for name, summary in edits.items():
            text = ", ".join(f"{quantile} {ms:.1f} ms" for quantile, ms in summary.items())
            sys.stdout.write(f"     {nodes} nodes, {name}: {text}\n")
    return report(bars, {str(nodes): edits for nodes, edits in measured.items()}, options.json)


class Client:
    """A signed-in HTTP client with the cookies and the CSRF token of a browser."""

    def __init__(self, start_url: str) -> None:
        address = urlsplit(start_url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port)
        self._cookies: dict[str, str] = {}
        self.request("GET", address.path)
        page = self.request("GET", "/samples/")[1]
        match = re.search(r'X-CSRFToken&quot;: ?&quot;(\w+)|X-CSRFToken": ?"(\w+)', page)
        self._token = (match[1] or match[2]) if match else ""

    def request(self, method: str, path: str, body: Json | None = None) -> tuple[int, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        headers = {"Cookie": cookies}
        if body is not None:
            headers |= {"Content-Type": "application/json", "X-CSRFToken": self._token}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        text = response.read().decode()
        for cookie in response.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        return response.status, text

    def send_json(self, method: str, path: str, body: Json) -> Json:
        """Send the body and return the JSON of the response, which must be successful."""
        status, text = self.request(method, path, body)
        if status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {status} {text[:500]}")
        return json.loads(text)  # type: ignore[no-any-return]


def _measure(client: Client, nodes: int, edges: int, times: int) -> dict[str, dict[str, float]]:
    """Return the latencies of each kind of edit in a workflow of this size, and of all edits as ``all``."""
    author = Author(client, nodes, edges)
    operations: dict[str, Callable[[], float]] = {
        "move": author.move,
        "set": author.change,
        "add and connect": author.add,
        "delete and heal": author.delete,
        "undo": author.undo,
    }
    for _ in range(WARM_UPS):
        for edit in operations.values():
            edit()
    seconds = {name: [edit() for _ in range(times)] for name, edit in operations.items()}
    seconds["all"] = list(chain.from_iterable(seconds.values()))
    return {name: _summarize(values) for name, values in seconds.items()}


class Author:
    """Edits one workflow; every method returns the seconds of its round trip."""

    def __init__(self, client: Client, nodes: int, edges: int) -> None:
        document = build_document(nodes, edges)
        workflow = client.send_json("POST", "/api/v1/workflows", {"document": document})["workflow"]
        self._client, self._nodes = client, nodes
        self._address = f"/workflows/{workflow['id']}"
        self._revision = workflow["revision"]
        self._count = 0
        self._random = random.Random(5)

    def move(self) -> float:
        return self._edit(
            {"op": "move", "id": self._choose_node_id(), **_make_position(self._random)}
        )

    def change(self) -> float:
        text = f"Say {self._random.random()}"
        node_id = self._choose_node_id()
        return self._edit({"op": "set", "id": node_id, "path": ["desc"], "value": text})

    def add(self) -> float:
        node = {"id": f"new{self._count}", "kind": "llm", **_make_position(self._random)}
        source = f"n{self._nodes - 1 - self._random.randrange(20)}"
        edge = {"source": source, "target": node["id"]}
        return self._edit({"op": "add", "node": node}, {"op": "connect", "edge": edge})

    def delete(self) -> float:
        node_id = f"n{self._count % (self._nodes - 40) + 1}"
        seconds = self._edit({"op": "delete", "id": node_id, "heal": True})
        self._send("POST", "undo")  # so that the draft keeps its size
        return seconds

    def undo(self) -> float:
        self.move()
        return self._send("POST", "undo")

    def _choose_node_id(self) -> str:
        return f"n{self._random.randrange(1, self._nodes)}"

    def _edit(self, *operations: Json) -> float:
        return self._send("PATCH", "draft", ops=list(operations), label="Bench")

    def _send(self, method: str, path: str, **fields: Any) -> float:
        self._count += 1
        body = {"base": self._revision, "key": f"k{self._count}", "client": "bench", **fields}
        start = time.perf_counter()
        response = self._client.send_json(method, f"{self._address}/{path}/", body)
        seconds = time.perf_counter() - start
        self._revision = response["revision"]
        return seconds


def _make_position(generator: random.Random) -> Json:
    return {"x": generator.randrange(5000), "y": generator.randrange(3000)}


def _summarize(seconds: list[float]) -> dict[str, float]:
    cuts = quantiles(seconds, n=100)
    return {"p50": cuts[49] * 1000, "p95": cuts[94] * 1000, "best": min(seconds) * 1000}


if __name__ == "__main__":
    sys.exit(main())
