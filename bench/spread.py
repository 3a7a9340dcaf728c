"""The rounds of an iteration in one worker and spread over two: `python -m bench.spread [--rounds 200] [--json]`.

Each case is a run of an iteration with that many rounds, in parallel mode in the run's own worker, and with *Spread over
workers* on one and on two worker processes. ``wait`` rounds wait 50 ms, ``engine`` rounds are 20 templates each, whose cost
is the worker's own processor time, and ``code`` rounds compute for about 50 ms in the sandbox. The time is the run's own, by
the database's clock. Worker processes are real Celery workers.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final

from bench._common import ROOT
from bench._services import add_really_option, run_temporary_services


LIMIT: Final = 10  # rounds at a time
KINDS: Final = ("wait", "engine", "code")
TEMPLATES: Final = 20  # of an ``engine`` round
COMPUTE: Final = "def main(n):\n    total = 0\n    for i in range(400000):\n        total += i * n\n    return {'o': str(total)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--json", action="store_true")
    add_really_option(parser)
    options = parser.parse_args()
    with run_temporary_services(really=options.really):
        report = _measure(options)
    print(json.dumps(report) if options.json else _format(report))


def _measure(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the median seconds of each case, by the way in which its rounds run."""
    from workflows.services.runs.shell import get_or_create_operator

    operator = get_or_create_operator()
    report: dict[str, dict[str, float]] = {kind: {} for kind in options.kinds}
    for workers in (1, 2):
        with _run_workers(workers):
            for kind, times in report.items():
                for way, distributed in (("local", False), (f"spread, {workers} workers", True)):
                    if not distributed and workers == 2:
                        continue
                    document = _build_document(kind, options.rounds, options.limit, distributed)
                    _run(operator, document)  # fills caches
                    seconds = [_run(operator, document) for _ in range(options.repeat)]
                    times[way] = round(statistics.median(seconds), 2)
                    print(f"{kind}, {way}: {times[way]} s", file=sys.stderr, flush=True)
    return report


@contextmanager
def _run_workers(count: int) -> Iterator[None]:
    from config.embedded.programs import build_worker
    from config.env import env

    program = build_worker(env())
    environment = {**os.environ, **program.environment, "RUN_MAX_STEPS": "100000"}
    processes = [
        subprocess.Popen(
            program.command, cwd=ROOT, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        for _ in range(count)
    ]  # fmt: skip
    try:
        _wait_for_workers(count)
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(timeout=30)


def _wait_for_workers(count: int) -> None:
    from workflows.models import Worker

    deadline = time.monotonic() + 120
    while Worker.objects.count() != count:
        if time.monotonic() > deadline:
            raise SystemExit("the workers did not start")
        time.sleep(0.1)


def _run(operator: Any, document: Any) -> float:
    from accounts.tenancy import tenant
    from workflows.engine.testing.backends import Request
    from workflows.models import Run
    from workflows.services.runs import shell

    run = shell.queue_request(operator, Request(document, checked=True))
    while True:
        with tenant([run.team_id]):
            row = Run.objects.unscoped().get(pk=run.pk)
        if row.has_ended:
            break
        time.sleep(0.02)
    if row.status != "succeeded":
        raise SystemExit(f"{row.status}: {row.error}")
    return float(row.elapsed or 0)


def _build_document(kind: str, rounds: int, limit: int, distributed: bool) -> Any:
    from workflows.engine.language.dsl import load_document

    body, result = _build_body(kind)
    ids = [node["id"] for node in body]
    path = ["begin", *ids]
    nodes = [
        {"id": "start", "data": {"type": "start", "title": "", "variables": []}},
        {"id": "it", "data": {
            "type": "iteration", "title": "", "start_node_id": "begin",
            "iterator_selector": ["conversation", "v"], "output_selector": [ids[-1], result],
            "is_parallel": True, "parallel_nums": limit, "distributed": distributed}},
        {"id": "begin", "parentId": "it", "data": {"type": "iteration-start", "title": ""}},
        *({**node, "parentId": "it"} for node in body),
        {"id": "end", "data": {"type": "end", "title": "", "outputs": [
            {"variable": "o", "value_selector": ["it", "output"]}]}},
    ]  # fmt: skip
    pairs = [("start", "it"), ("it", "end"), *pairwise(path)]
    edges = [{"id": f"{a}-{b}", "source": a, "target": b} for a, b in pairs]
    variable = {"name": "v", "type": "array[number]", "default": list(range(rounds))}
    tree = {
        "version": "0.1.0",
        "conversation_variables": [variable],
        "nodes": nodes,
        "edges": edges,
    }
    return load_document(tree).document


def _build_body(kind: str) -> tuple[list[dict[str, Any]], str]:
    """Return the nodes of a round, and the output that is its result."""
    if kind == "wait":
        data = {"type": "delay", "title": "", "amount": 0.05, "unit": "seconds"}
        return [{"id": "node", "data": data}], "until"
    if kind == "engine":
        data = {"type": "template-transform", "title": "", "template": "x", "variables": []}
        return [{"id": f"t{n}", "data": data} for n in range(TEMPLATES)], "output"
    data = {
        "type": "code", "title": "", "code_language": "python3", "code": COMPUTE,
        "variables": [{"variable": "n", "value_selector": ["it", "item"]}],
        "outputs": {"o": {"type": "string"}},
    }  # fmt: skip
    return [{"id": "node", "data": data}], "o"


def _format(report: dict[str, dict[str, float]]) -> str:
    lines = []
    for kind, times in report.items():
        lines += [
            f"{kind:7} {way:18} {seconds:7.2f} s  {times['local'] / seconds:5.2f} × local"
            for way, seconds in times.items()
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
