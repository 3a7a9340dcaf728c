"""Workflows that run other workflows, for the tests with real workers."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.durability.conftest import Cluster
from tests.support.cast import Cast, Person
from workflows.models import Run, Workflow
from workflows.services.catalog import importing
from workflows.services.publishing import publish
from workflows.services.runs import waits
from workflows.services.runs.runs import start_run


Make = Callable[..., Workflow]


def llm(name: str) -> dict[str, Any]:
    return {
        "type": "llm",
        "title": name,
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "prompt_template": [{"role": "user", "text": name}],
    }


def call(slug: str, output: str = "text", **settings: Any) -> dict[str, Any]:
    return {
        "type": "sub-workflow",
        "title": slug,
        "workflow": slug,
        "outputs": [{"variable": output, "value_type": "string"}],
        **settings,
    }


def line(
    *nodes: dict[str, Any], result: tuple[str, str] | None = None, **fields: str
) -> dict[str, Any]:
    """start → the nodes n1, n2, … → the end; its output ``text`` is that of the last node."""
    ids = [f"n{number}" for number in range(1, len(nodes) + 1)]
    variables = [{"variable": name, "type": type_} for name, type_ in fields.items()]
    outputs = [{"variable": "text", "value_selector": list(result or (ids[-1], "text"))}]
    path = ["start", *ids, "end"]
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": variables}},
            *({"id": id_, "data": data} for id_, data in zip(ids, nodes, strict=True)),
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": outputs}},
        ],
        "edges": [
            {"id": f"{source}-{target}", "source": source, "target": target}
            for source, target in pairwise(path)
        ],
    }


@pytest.fixture(name="make")
def make_workflow(cluster: Cluster, cast: Cast, models: None) -> Make:
    """A published workflow of alice's team; its models are the ledger's."""

    def build(name: str, document: dict[str, Any], *, person: Person = cast.alice) -> Workflow:
        team_id = next(iter(person.principal.team_ids))
        workflow = importing.import_document(
            person.principal, team_id=team_id, source=document, name=name
        ).workflow
        publish(person.principal, workflow=workflow)
        return workflow

    return build


def children(cluster: Cluster, parent: Any) -> list[Run]:
    rows = cluster.db.execute(
        "select id, team_id from workflows_run where parent_id = %s order by created_at, id",
        (getattr(parent, "pk", parent),),
    ).fetchall()
    return [Run(id=row[0], team_id=row[1]) for row in rows]


def only_child(cluster: Cluster, parent: Run) -> Run:
    (child,) = cluster.until(lambda: children(cluster, parent))
    return child


def ask() -> dict[str, Any]:
    return {
        "type": "human-input",
        "title": "Ask",
        "form_content": "Your name? {{#$output.name#}}",
        "inputs": [{"type": "text-input", "output_variable_name": "name"}],
        "user_actions": [{"id": "source", "title": "Send"}],
    }


def answer(cast: Cast, run: Run, **values: str) -> None:
    with tenant([run.team_id]):
        found = Run.objects.unscoped().get(pk=run.pk)
        wait = waits.list_waits(cast.alice.principal, found).get(answered_at=None)
        waits.answer_wait(
            cast.alice.principal, found, wait_id=wait.pk, values=values, action="source"
        )


def until_paused(cluster: Cluster, *runs: Run) -> None:
    for run in runs:
        cluster.until(lambda run=run: cluster.row(run)["status"] == "paused")


def beside(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """The document with a second branch."""
    document["nodes"].append({"id": "beside", "data": node})
    document["edges"] += [
        {"id": "in", "source": "start", "target": "beside"},
        {"id": "out", "source": "beside", "target": "end"},
    ]
    return document


def get_error(cluster: Cluster, person: Person, workflow: Workflow) -> str:
    row = cluster.until_ended(start_run(person.principal, workflow=workflow))
    assert row["status"] == "failed"
    return str(row["error"])


STORE = {
    "type": "memory-store",
    "title": "Remember",
    "scope": "user",
    "key": "drink",
    "value_selector": ["start", "drink"],
}
RECALL = {
    "type": "memory-recall",
    "title": "Recall",
    "scope": "user",
    "query_selector": ["start", "drink"],
}
