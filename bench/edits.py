"""Round trips of edits through the whole product: `python -m bench.edits [--json FILE]`.

The server as `make run` starts it, one signed-in client over HTTP with keep-alive, one gesture at a
time: move, set, connect and disconnect, add and delete, undo. Each answer holds the HTML of what was
touched. An edit must cost what it touches: the larger draft may not be slower by much.
"""

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any
from urllib.parse import urlsplit

from bench._common import ROOT, Bar, report
from bench.graphs import document


Json = dict[str, Any]

SIZES = ((500, 700), (2000, 3000))
PORT = 8793
PATIENCE = 180  # seconds, for a server that starts on a busy machine
WARM = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=60, help="of each gesture")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, _server(home) as start:
        client = Client(start)
        measured = {nodes: _measure(client, nodes, edges, options.times) for nodes, edges in SIZES}
    bars = [
        Bar(f"{nodes} nodes: p95 of all edits", taken["all"]["p95"], 50, " ms")
        for nodes, taken in measured.items()
    ]
    small, large = (measured[nodes]["all"]["p50"] for nodes, _edges in SIZES)
    bars.append(Bar("2,000 nodes / 500 nodes, p50", large / small, 1.5))
    for nodes, taken in measured.items():
        for name, spans in taken.items():
            told = ", ".join(f"{q} {ms:.1f} ms" for q, ms in spans.items())
            sys.stdout.write(f"     {nodes} nodes, {name}: {told}\n")
    return report(bars, {str(nodes): taken for nodes, taken in measured.items()}, options.json)


class Client:
    """A signed-in browser without the browser."""

    def __init__(self, start: str) -> None:
        address = urlsplit(start)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port)
        self._cookies: dict[str, str] = {}
        self.ask("GET", address.path)
        page = self.ask("GET", "/samples/")[1]
        found = re.search(r'X-CSRFToken&quot;: ?&quot;(\w+)|X-CSRFToken": ?"(\w+)', page)
        self._token = (found[1] or found[2]) if found else ""

    def ask(self, method: str, path: str, body: Json | None = None) -> tuple[int, str]:
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self._cookies.items())}
        if body is not None:
            headers |= {"Content-Type": "application/json", "X-CSRFToken": self._token}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        return answer.status, text

    def tell(self, method: str, path: str, body: Json) -> Json:
        status, text = self.ask(method, path, body)
        if status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {status} {text[:500]}")
        return json.loads(text)  # type: ignore[no-any-return]


def _measure(client: Client, nodes: int, edges: int, times: int) -> dict[str, dict[str, float]]:
    person = Person(client, nodes, edges)
    gestures: dict[str, Callable[[], float]] = {
        "move": person.move,
        "set": person.change,
        "add and connect": person.add,
        "delete and heal": person.delete,
        "undo": person.undo,
    }
    for _ in range(WARM):
        for gesture in gestures.values():
            gesture()
    spans = {name: [gesture() for _ in range(times)] for name, gesture in gestures.items()}
    spans["all"] = [took for taken in spans.values() for took in taken]
    return {name: _summary(taken) for name, taken in spans.items()}


class Person:
    """Edits one workflow; every gesture answers how long its round trip took."""

    def __init__(self, client: Client, nodes: int, edges: int) -> None:
        made = client.tell("POST", "/api/v1/workflows", {"document": document(nodes, edges)})
        self._client, self._nodes = client, nodes
        self._address = f"/workflows/{made['workflow']['id']}"
        self._base = made["workflow"]["revision"]
        self._count = 0
        self._dice = random.Random(5)

    def move(self) -> float:
        return self._edit({"op": "move", "id": self._any(), **_place(self._dice)})

    def change(self) -> float:
        words = f"Say {self._dice.random()}"
        return self._edit({"op": "set", "id": self._any(), "path": ["desc"], "value": words})

    def add(self) -> float:
        new = {"id": f"new{self._count}", "kind": "llm", **_place(self._dice)}
        source = f"n{self._nodes - 1 - self._dice.randrange(20)}"
        edge = {"source": source, "target": new["id"]}
        return self._edit({"op": "add", "node": new}, {"op": "connect", "edge": edge})

    def delete(self) -> float:
        gone = f"n{self._count % (self._nodes - 40) + 1}"
        took = self._edit({"op": "delete", "id": gone, "heal": True})
        self._send("POST", "undo")  # so that the draft stays as large
        return took

    def undo(self) -> float:
        self.move()
        return self._send("POST", "undo")

    def _any(self) -> str:
        return f"n{self._dice.randrange(1, self._nodes)}"

    def _edit(self, *ops: Json) -> float:
        return self._send("PATCH", "draft", ops=list(ops), label="Bench")

    def _send(self, method: str, path: str, **more: Any) -> float:
        self._count += 1
        body = {"base": self._base, "key": f"k{self._count}", "client": "bench", **more}
        begun = time.perf_counter()
        answer = self._client.tell(method, f"{self._address}/{path}/", body)
        took = time.perf_counter() - begun
        self._base = answer["revision"]
        return took


def _place(dice: random.Random) -> Json:
    return {"x": dice.randrange(5000), "y": dice.randrange(3000)}


def _summary(spans: list[float]) -> dict[str, float]:
    cuts = quantiles(spans, n=100)
    return {"p50": cuts[49] * 1000, "p95": cuts[94] * 1000, "best": min(spans) * 1000}


@contextmanager
def _server(home: str) -> Iterator[str]:
    """The product in a folder of its own; gives its one-time address."""
    log = Path(home) / "up.log"
    environment = {**os.environ, "MNEMOFLOW_HOME": str(Path(home) / "home")}
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(PORT)]
    with log.open("w") as out:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        yield _start_address(log, server)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def _start_address(log: Path, server: "subprocess.Popen[bytes]") -> str:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        if found := re.search(r"http://\S+/start/\S+", log.read_text()):
            return found[0]
        time.sleep(0.2)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
