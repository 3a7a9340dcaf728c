"""How long one team waits while another floods the workers: `python -m bench.fairness [--json FILE]`.

Three floods by one team, one after the other: many quick runs, runs that wait for a slow HTTP server, and endless loops
in code nodes. The workers are frozen while the flood is queued, so that all of it waits at the beginning. Meanwhile another
team starts one run after the other, and its waits are measured from the start of each run: until its first node began, and
until its first code node ended. The workers are real processes with their own event loops and pools of runners.
"""

import argparse
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from bench._common import Bar, compute_percentile, report
from bench._services import add_really_option, create_operator, run_temporary_services


BAR_SECONDS: Final = 2.0
PROBE_TIMEOUT: Final = 200.0
LOOP: Final = "def main():\n    while True: pass\n"
ADD: Final = 'def main():\n    return {"result": "1"}\n'


@dataclass(frozen=True)
class Flood:
    """A kind of flood: the document that the team runs, and how often."""

    name: str
    count: int
    document: dict[str, Any]


@dataclass(frozen=True)
class Probe:
    """The waits of one run of the other team, in seconds."""

    first_node: float
    code_node: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", type=int, default=600, help="quick runs")
    parser.add_argument("--http", type=int, default=150, help="runs that wait for a slow server")
    parser.add_argument("--http-seconds", type=float, default=25.0, help="its delay")
    parser.add_argument("--loops", type=int, default=40, help="endless loops")
    parser.add_argument("--probes", type=int, default=20, help="runs of the other team, per flood")
    parser.add_argument("--workers", type=int, default=1, help="worker processes")
    parser.add_argument("--threads", type=int, default=64, help="concurrent runs per worker")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    add_really_option(parser)
    options = parser.parse_args()
    with (
        run_temporary_services(really=options.really),
        run_slow_server(options.http_seconds) as address,
        ExitStack() as stack,
    ):
        workers = start_workers(stack, options.workers, options.threads, address)
        greedy, modest = create_operator(), create_operator()
        probe = import_workflow(modest, "Probe", build_document(_template(), _code(ADD)))
        floods = [
            Flood("quick", options.quick, build_document(_template())),
            Flood("http", options.http, build_document(_http(f"http://{address}/"))),
            Flood("loops", options.loops, build_document(_code(LOOP))),
        ]
        measure_probe(modest, probe)  # fills the caches, as the first run after a deployment does
        results = {
            flood.name: measure_flood(flood, workers, greedy, modest, probe, options.probes)
            for flood in floods
            if flood.count
        }
    return report(list_bars(results), summarize(options, results), options.json)


def measure_flood(
    flood: Flood, workers: list[Any], greedy: Any, modest: Any, probe: Any, probes: int
) -> list[Probe]:
    """Queue the flood, and return the waits of the other team's runs while it lasts; at least three."""
    workflow = import_workflow(greedy, flood.name, flood.document)
    for worker in workers:
        worker.send_signal(signal.SIGSTOP)
    run_ids = [start(greedy, workflow).pk for _ in range(flood.count)]
    for worker in workers:
        worker.send_signal(signal.SIGCONT)
    started_at = time.monotonic()
    waits: list[Probe] = []
    time.sleep(0.5)
    while len(waits) < 3 or (len(waits) < probes and count_unfinished(greedy, run_ids)):
        waits.append(measure_probe(modest, probe))
        time.sleep(0.1)
    unfinished_count = count_unfinished(greedy, run_ids)
    print(
        f"{flood.name}: {len(waits)} probes in {time.monotonic() - started_at:.1f} s, "
        f"{unfinished_count} of {flood.count} runs of the flood left",
        flush=True,
    )
    cancel_all(greedy, run_ids)
    return waits


def measure_probe(modest: Any, workflow: Any) -> Probe:
    from accounts.tenancy import tenant
    from workflows.models import Run, Step

    asked_at = time.time()
    run = start(modest, workflow)
    deadline = time.monotonic() + PROBE_TIMEOUT
    while time.monotonic() < deadline:
        with tenant([run.team_id]):
            row = Run.objects.unscoped().get(pk=run.pk)
            if row.has_ended:
                steps = list(Step.objects.unscoped().filter(run=row))
                break
        time.sleep(0.05)
    else:
        return Probe(PROBE_TIMEOUT, PROBE_TIMEOUT)
    if row.status != "succeeded":
        raise RuntimeError(f"the probe failed: {row.error}")
    (code,) = [step for step in steps if step.kind == "code"]
    began_at = min(step.started_at for step in steps)
    return Probe(began_at - asked_at, code.started_at + code.waited + code.elapsed - asked_at)


def start(operator: Any, workflow: Any) -> Any:
    from accounts.principals import load_user_principal
    from workflows.services.runs.runs import start_run

    return start_run(load_user_principal(operator[0]), workflow=workflow)


def count_unfinished(operator: Any, run_ids: list[UUID]) -> int:
    from accounts.tenancy import tenant
    from workflows.models import ActiveRun

    with tenant([operator[1].pk]):
        return ActiveRun.objects.unscoped().filter(pk__in=run_ids).count()


def cancel_all(operator: Any, run_ids: list[UUID]) -> None:
    """Cancel what is left of a flood, and wait until it has ended."""
    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from workflows.models import ActiveRun, Run
    from workflows.services.runs.runs import cancel_run

    principal = load_user_principal(operator[0])
    with tenant([operator[1].pk]):
        unfinished = (
            ActiveRun.objects.unscoped().filter(pk__in=run_ids).values_list("pk", flat=True)
        )
        rows = list(Run.objects.unscoped().filter(pk__in=list(unfinished)).order_by("-queued_at"))
    for run in rows:
        cancel_run(principal, run)
    deadline = time.monotonic() + 60
    while count_unfinished(operator, run_ids) and time.monotonic() < deadline:
        time.sleep(0.2)


def import_workflow(operator: Any, name: str, document: dict[str, Any]) -> Any:
    from accounts.principals import load_user_principal
    from workflows.services.catalog.importing import import_document

    principal = load_user_principal(operator[0])
    return import_document(principal, team_id=operator[1].pk, source=document, name=name).workflow


def start_workers(stack: ExitStack, count: int, threads: int, address: str) -> list[Any]:
    from workflows.services.runs.durable_backend import ChildWorker

    workers = [ChildWorker(threads, {"NET_ALLOW": address}) for _ in range(count)]
    for worker in workers:
        stack.callback(worker.stop)
        worker.start()
    return workers


@contextmanager
def run_slow_server(seconds: float) -> Iterator[str]:
    """Run an HTTP server that answers after so many seconds, and provide its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(seconds)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *_: object) -> None:
            pass  # a cancelled run has closed its connection

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def build_document(*nodes: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a chain of these nodes."""
    chain = [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
        *({"id": f"n{number}", "data": data} for number, data in enumerate(nodes)),
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}},
    ]
    edges = [
        {"id": f"e{number}", "source": source["id"], "target": target["id"]}
        for number, (source, target) in enumerate(pairwise(chain))
    ]
    return {"version": "0.1.0", "nodes": chain, "edges": edges}


def _template() -> dict[str, Any]:
    return {"type": "template-transform", "title": "T", "template": "{{ 1 + 1 }}", "variables": []}


def _code(source: str) -> dict[str, Any]:
    outputs = {"result": {"type": "string"}}
    return {
        "type": "code", "title": "Code", "code_language": "python3", "code": source, "variables": [],
        "outputs": outputs,
    }  # fmt: skip


def _http(url: str) -> dict[str, Any]:
    return {
        "type": "http-request", "title": "HTTP", "method": "get", "url": url,
        "timeout": {"connect": 10, "read": 60, "write": 10},
    }  # fmt: skip


def list_bars(results: dict[str, list[Probe]]) -> list[Bar]:
    names: dict[str, Callable[[Probe], float]] = {
        "first node": lambda probe: probe.first_node,
        "first code node": lambda probe: probe.code_node,
    }
    return [
        Bar(
            f"{flood}: {name}, p95",
            compute_percentile([read(probe) for probe in probes], 95),
            BAR_SECONDS,
            " s",
        )
        for flood, probes in results.items()
        for name, read in names.items()
    ]


def summarize(options: argparse.Namespace, results: dict[str, list[Probe]]) -> dict[str, object]:
    sizes = {
        name: getattr(options, name) for name in ("quick", "http", "loops", "workers", "threads")
    }
    waits = {
        flood: [[round(probe.first_node, 3), round(probe.code_node, 3)] for probe in probes]
        for flood, probes in results.items()
    }
    return {**sizes, "seconds until the first and the code node": waits}


if __name__ == "__main__":
    raise SystemExit(main())
