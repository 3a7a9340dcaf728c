"""Workers with a fault of their own, and a workflow that has a bit of everything."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.durability.conftest import Cluster
from tests.fakes.openai_server import FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.catalog import importing


Import = Callable[[dict[str, Any]], Workflow]


def start_with_fault(cluster: Cluster, name: str, *, threads: int = 8, **fault: Any) -> None:
    """Start a worker that has the fault; those that are started later don't have it."""
    own = {"TEST_PLUGIN": "tests.durability.faults.plugin", "FAULT": json.dumps(fault)}
    before = dict(cluster.environment)
    cluster.environment |= own
    try:
        cluster.start(name, threads)
    finally:
        cluster.environment.clear()
        cluster.environment |= before


def ask_to_stop(cluster: Cluster, name: str, marker: Path) -> None:
    """Send SIGTERM to a worker that was started with ``stopping=marker``, and return when its runs know."""
    cluster.signal(signal.SIGTERM, name)
    cluster.until(marker.exists)


def until_dead(cluster: Cluster, name: str) -> None:
    cluster.until(lambda: cluster.processes[name].poll() is not None)


@pytest.fixture
def import_workflow(
    cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI, tmp_path: Path
) -> Import:
    """``workflow`` has set up the ledger's models."""

    def import_document(tree: dict[str, Any]) -> Workflow:
        return importing.import_document(
            cast.alice.principal, team_id=cast.team_a.pk, source=tree, name="faults"
        ).workflow

    return import_document


def node(name: str, kind: str, parent: str | None = None, **data: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"id": name, "data": {"type": kind, "title": name, **data}}
    return made | ({"parentId": parent} if parent else {})


def ask(name: str, prompt: str, parent: str | None = None) -> dict[str, Any]:
    """An LLM node; the ledger counts what it is asked."""
    return node(
        name, "llm", parent,
        model={"provider": "ledger", "name": "small", "mode": "chat"},
        prompt_template=[{"role": "user", "text": prompt}],
    )  # fmt: skip


def template(
    name: str, text: str, *values: tuple[str, list[str]], parent: str | None = None
) -> Any:
    variables = [
        {"variable": variable, "value_selector": selector} for variable, selector in values
    ]
    return node(name, "template-transform", parent, template=text, variables=variables)


def edges(*ends: str) -> list[dict[str, Any]]:
    """Of lines such as "a b" or "a:true b"."""
    made = []
    for number, each in enumerate(ends):
        source, target = each.split()
        source, _colon, handle = source.partition(":")
        more = {"sourceHandle": handle} if handle else {}
        made.append({"id": f"e{number}", "source": source, "target": target, **more})
    return made


def twelve_nodes() -> dict[str, Any]:
    """Branch, fan-out with a join, loop and memory; five model calls that the ledger counts."""
    condition = {
        "variable_selector": ["one", "text"], "comparison_operator": "contains", "value": "done",
    }  # fmt: skip
    tries = {
        "variable_selector": ["again", "tries"], "comparison_operator": "≥", "value": "2",
    }  # fmt: skip
    return {
        "version": "0.1.0",
        "nodes": [
            node("start", "start", variables=[]),
            ask("one", "one"),
            node("which", "if-else", cases=[
                {"case_id": "true", "logical_operator": "and", "conditions": [condition]}]),
            ask("left", "left"),
            ask("right", "right"),
            template("plain", "{{ text }}!", ("text", ["one", "text"])),
            ask("never", "never"),
            template("join", "{{ left }} {{ right }} {{ plain }}",
                     ("left", ["left", "text"]), ("right", ["right", "text"]),
                     ("plain", ["plain", "output"])),
            node("again", "loop", loop_count=5, start_node_id="begin", break_conditions=[tries],
                 loop_variables=[{"label": "tries", "var_type": "number",
                                  "value_type": "constant", "value": 0}]),
            node("begin", "loop-start", "again"),
            ask("inner", "inner {{#again.tries#}}", "again"),
            node("count", "assigner", "again", version="2", items=[
                {"variable_selector": ["again", "tries"], "input_type": "constant",
                 "operation": "+=", "value": 1}]),
            node("keep", "memory-store", scope="run", key="kept", value_selector=["join", "output"]),
            node("find", "memory-recall", scope="run", query="done"),
            node("end", "end", outputs=[
                {"variable": "joined", "value_selector": ["join", "output"]},
                {"variable": "found", "value_selector": ["find", "count"]},
                {"variable": "tries", "value_selector": ["again", "tries"]}]),
        ],
        "edges": edges(
            "start one", "one which", "which:true left", "which:true right", "which:true plain",
            "which:false never", "left join", "right join", "plain join", "join again",
            "begin inner", "inner count", "again keep", "keep find", "find end",
        ),
    }  # fmt: skip


TWELVE_OUTPUTS = {"joined": "done done done!", "found": 1, "tries": 2}
TWELVE_CALLS = ("one", "left", "right", "inner 0", "inner 1")
