"""Rows and objects of looking into runs: pauses, steps, pins, tried-out memory, and running from the editor."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _node(person: Person, canary: str) -> Any:
    return "end"  # every workflow of the matrix has one


def _pinned(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_workflow
    from workflows.services.debugging.pins import pin_node

    workflow = make_workflow(person, canary)
    pin_node(person.principal, workflow=workflow, node="end", outputs={"text": canary})
    return workflow.pk


def _paused(person: Person, canary: str, **given: Any) -> Any:
    from accounts.tenancy import tenant
    from tests.factories.workflows import make_journal, make_run, make_workflow
    from workflows.models import DryRunChange

    workflow = make_workflow(person, canary)
    run = make_run(
        person,
        workflow,
        status="paused",
        debug={"memory": "sandbox"},
        pause={"nodes": ["end"], "at": 0},
        inputs={"text": canary},
        **given,
    )
    make_journal(run, canary)
    with tenant([run.team_id]):
        DryRunChange.objects.create(
            team_id=run.team_id,
            run=run,
            number=1,
            node_key="end",
            origin_key="k",
            operation="store",
            scope="user",
            namespace=f"user:{canary}",
            key=canary,
            entry={"value": canary},
        )
    return run.pk


def _paused_for_ada(person: Person, canary: str) -> Any:
    from accounts.models import User
    from accounts.tenancy import tenant

    with tenant([person.team.pk]):
        ada = User.objects.filter(name="Ada", memberships__team=person.team).first()
    return _paused(person, canary, **({"subject": str(ada.pk), "subject_user": ada} if ada else {}))


OBJECTS: dict[str, Maker] = {
    "node": _node,
    "pinned workflow": _pinned,
    "paused run": _paused,
    "paused run for ada": _paused_for_ada,
}

RUN = {"run_id": "paused run"}
ADA = {"run_id": "paused run for ada"}
PINNED = {"workflow_id": "pinned workflow"}
NODE = {"node": "node"}
NODE_KEY = {"node_key": "node"}
OUTPUTS = {"outputs": {"text": "x"}}
STEP = "runs/<uuid:run_id>/steps/<str:node_key>"
API_STEP = "api/v1/runs/<uuid:run_id>/steps/<path:node>"
API_PARTS = "api/v1/runs/<uuid:run_id>/steps/<str:node>/parts"
API_PIN = "api/v1/workflows/<uuid:workflow_id>/pins/<path:node>"
NO_ENTRY = "00000000-0000-0000-0000-000000000000"
PAGE = "workflows/<uuid:workflow_id>"


def only_the_run(outcome: int) -> dict[str, int]:
    """The name of a node is nobody's: naming another team's is naming one's own."""
    return {"run_id": 404, "workflow_id": 404, "node": outcome, "node_key": outcome}


# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("POST", "api/v1/runs/<uuid:run_id>/resume", "- 404 404 404 404 404", RUN, {"mode": "step"}),
    Row("POST", "api/v1/runs/<uuid:run_id>/resume", "- 404 404 404 200 404", ADA, {"mode": "step"}),
    Row("GET", API_STEP, "- 404 404 404 404 404", {**RUN, **NODE}),
    Row("GET", API_STEP, "- 404 404 404 200 404", {**ADA, **NODE}, foreign=only_the_run(200)),
    Row("GET", API_PARTS, "- 404 404 404 404 404", {**RUN, **NODE}),
    Row("GET", API_PARTS, "- 404 404 404 200 404", {**ADA, **NODE}, foreign=only_the_run(200)),
    Row("PATCH", API_STEP, "- 404 404 404 404 404", {**RUN, **NODE}, OUTPUTS),
    Row("PATCH", API_STEP, "- 404 404 404 200 404", {**ADA, **NODE}, OUTPUTS, foreign=only_the_run(200)),
    Row("GET", "api/v1/runs/<uuid:run_id>/memory", "- 404 404 404 404 404", RUN),
    Row("GET", "api/v1/runs/<uuid:run_id>/memory", "- 404 404 404 200 404", ADA),
    Row("GET", "api/v1/runs/<uuid:run_id>/metadata", "- 404 404 404 404 404", RUN),
    Row("GET", "api/v1/runs/<uuid:run_id>/metadata", "- 404 404 404 200 404", ADA),
    Row("POST", "api/v1/runs/<uuid:run_id>/memory/drop", "- 404 404 404 404 404", RUN, {}),
    Row("POST", "api/v1/runs/<uuid:run_id>/memory/drop", "- 404 404 404 200 404", ADA, {}),
    Row("POST", "api/v1/runs/<uuid:run_id>/memory/keep", "- 404 404 404 404 404", RUN, {"numbers": []}),
    Row("POST", "api/v1/runs/<uuid:run_id>/memory/keep", "- 404 404 404 200 404", ADA, {"numbers": []}),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/pins", "- 404 200 200 200 404", PINNED),
    Row("PUT", API_PIN, "- 404 403 200 200 404", {**PINNED, **NODE}, OUTPUTS, foreign=only_the_run(200)),
    Row("DELETE", API_PIN, "- 404 403 204 204 404", {**PINNED, **NODE}, foreign=only_the_run(204)),
    # Pages
    Row("POST", f"{PAGE}/try/", "- 404 403 201 201 -", PINNED, {}),
    Row("GET", f"{PAGE}/run-list/", "- 404 200 200 200 -", PINNED),
    Row("GET", f"{PAGE}/memory/", "- 404 200 200 200 -", PINNED),
    Row("POST", f"{PAGE}/memory/", "- 404 404 404 404 -", PINNED, {"act": "forget", "entry": NO_ENTRY}),
    Row("GET", f"{PAGE}/nodes/<str:node_key>/last/", "- 404 200 200 200 -", {**PINNED, **NODE_KEY}, foreign=only_the_run(200)),
    Row("POST", f"{PAGE}/nodes/<str:node_key>/pin/", "- 404 403 200 200 -", {**PINNED, **NODE_KEY}, {"outputs": "{}"}, foreign=only_the_run(200)),
    Row("POST", "runs/<uuid:run_id>/resume/", "- 404 404 404 404 -", RUN, {"mode": "step"}),
    Row("POST", "runs/<uuid:run_id>/resume/", "- 404 404 404 200 -", ADA, {"mode": "step"}),
    Row("GET", "runs/<uuid:run_id>/rounds/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/rounds/", "- 404 404 404 200 -", ADA),
    Row("GET", "runs/<uuid:run_id>/metadata/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/metadata/", "- 404 404 404 200 -", ADA),
    Row("GET", "runs/<uuid:run_id>/previews/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/previews/", "- 404 404 404 200 -", ADA),
    Row("GET", "runs/<uuid:run_id>/memory/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/memory/", "- 404 404 404 200 -", ADA),
    Row("GET", "runs/<uuid:run_id>/learnt/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/learnt/", "- 404 404 404 200 -", ADA),
    # Nothing failed that could be tried again
    Row("POST", "runs/<uuid:run_id>/learnt/again/", "- 404 404 404 404 -", RUN, {}),
    Row("POST", "runs/<uuid:run_id>/learnt/again/", "- 404 404 404 404 -", ADA, {}),
    Row("POST", "runs/<uuid:run_id>/memory/decide/", "- 404 404 404 404 -", RUN, {"drop": "all"}),
    Row("POST", "runs/<uuid:run_id>/memory/decide/", "- 404 404 404 200 -", ADA, {"drop": "all"}),
    Row("POST", "runs/<uuid:run_id>/memory/undo/", "- 404 404 404 404 -", RUN, {}),
    Row("POST", "runs/<uuid:run_id>/memory/undo/", "- 404 404 404 200 -", ADA, {}),
    Row("GET", f"{STEP}/value/", "- 404 404 404 404 -", {**RUN, **NODE_KEY}),
    Row("GET", f"{STEP}/value/", "- 404 404 404 200 -", {**ADA, **NODE_KEY}, foreign=only_the_run(200)),
    Row("POST", f"{STEP}/edit/", "- 404 404 404 404 -", {**RUN, **NODE_KEY}, {"outputs": "{}"}),
    Row("POST", f"{STEP}/edit/", "- 404 404 404 200 -", {**ADA, **NODE_KEY}, {"outputs": "{}"}, foreign=only_the_run(200)),
]  # fmt: skip
