"""Each kind, with the example of the reference, does in a worker with the database what it does in this process."""

import asyncio
from typing import Any

import pytest

from tests.durability.backend import child_worker, durable
from tests.support.documents import document, end, inside, node, start
from workflows.engine.kind_examples import build_example_data
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, Mode
from workflows.engine.nodes import build_kinds
from workflows.engine.testing.backends import Outcome, Request
from workflows.management.backends import ShellBackend
from workflows.services.runs.durable_backend import DurableBackend


__all__ = ["child_worker", "durable"]

KINDS = build_kinds()
# Run by other tests: with their containers by the tables, and with another workflow by those of sub-workflows.
ELSEWHERE = {
    "loop-end",
    "sub-workflow",
    *(name for name, kind in KINDS.items() if kind.execution is Execution.ENTRY),
}

# To examples that lack another workflow or a variable, or would wait for too long.
CHANGES: dict[str, dict[str, Any]] = {
    "agent": {"merge": []},
    "delay": {"amount": 0},
    "knowledge-retrieval": {"query_variable_selector": ["start", "q"]},
    "knowledge-write": {"pages_selector": ["start", "q"]},
}


NAMES = sorted(set(KINDS) - ELSEWHERE)
AT_ONCE = 10


@pytest.mark.parametrize(
    "names",
    [NAMES[first : first + AT_ONCE] for first in range(0, len(NAMES), AT_ONCE)],
    ids=lambda names: f"from {names[0]} to {names[-1]}",
)
async def test_kinds_do_the_same_in_a_worker(names: list[str], durable: DurableBackend) -> None:
    """Their runs go on at the same time, each of another person."""
    requests = {name: build_request(name) for name in names}
    expected = {name: await run_here(request) for name, request in requests.items()}

    outcomes = await asyncio.gather(*(durable.run(request) for request in requests.values()))

    assert {
        name: summarize(outcome) for name, outcome in zip(names, outcomes, strict=True)
    } == expected


def build_request(name: str) -> Request:
    return Request(
        build_document(KINDS[name]),
        inputs={"q": "hello"},
        system={"query": "hello", "user_id": f"ana-{name}", "conversation_id": f"c-{name}"},
        offline=True,
    )


async def run_here(request: Request) -> dict[str, Any]:
    here = ShellBackend(offline=True)
    try:
        return summarize(await here.run(request))
    finally:
        await here.close()


def build_document(kind: AnyKind) -> Document:
    example = build_example_data(kind) | CHANGES.get(kind.name, {})
    data = {key: value for key, value in example.items() if key != "type"}
    mode = Mode.CHAT if kind.mode is Mode.CHAT else Mode.WORKFLOW
    if kind.execution is Execution.ROOT:
        return document([start("q"), end(q=["start", "q"])], ["start -> end"], mode=mode)
    subject = node("x", kind.name, **data)
    last = node("last", "template-transform", template="done", variables=[])
    nodes = [start("q"), subject, last, end(o=["last", "output"])]
    if kind.execution is Execution.CONTAINER:
        nodes[1:2] = inside(subject, node("body", "template-transform", template="b", variables=[]))
    return document(nodes, ["start -> x", "x -> last", "last -> end"], mode=mode)


def summarize(outcome: Outcome) -> dict[str, Any]:
    """Return how a run ended, and the status and the names of the outputs of each step."""
    steps = [
        (str(step.key.node_id), tuple(step.key.rounds), str(step.status), sorted(step.outputs))
        for step in outcome.steps
    ]
    return {
        "status": outcome.status,
        "outputs": {name: value for name, value in outcome.outputs.items() if name != "files"},
        "error": (outcome.error_node, outcome.error),
        "steps": sorted(steps),
    }
