"""Rows and objects of workflows.

How to fill it: a maker in OBJECTS for every id that appears in a path or body, and, so that the row-level-security
test has something to leak, for every table with a team (a maker may fill several). A maker gets a person who owns
a team and a canary; it puts the canary into whatever can be read of the object and returns its id. Then a Row for
every route and method; see matrix_accounts.py for examples. A route without a row fails the build with its name.
"""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _workflow(person: Person, canary: str) -> Any:
    from tests.factories.workflows import document, make_workflow

    source = document(canary) | {
        "environment_variables": [{"name": "KEY", "value_type": "secret", "value": canary}],
        "conversation_variables": [{"name": "seen", "type": "string", "default": canary}],
    }
    return make_workflow(person, canary, source).pk


def _published(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_version, make_workflow

    workflow = make_workflow(person, canary)
    make_version(person, workflow, note=canary)
    return workflow.pk


def _number(person: Person, canary: str) -> Any:
    """Numbers begin anew in each workflow: what tells teams apart is the workflow before it."""
    return 1 if canary.endswith("7") else 2


def _sample(person: Person, canary: str) -> Any:
    return "chatbot"  # belongs to nobody


def _run(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_journal, make_run, make_workflow

    workflow = make_workflow(person, canary)
    run = make_run(person, workflow, inputs={"text": canary}, outputs={"text": canary})
    make_journal(run, canary)
    return run.pk


def _conversation(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_message, make_workflow

    return make_message(person, make_workflow(person, canary), query=canary).conversation.key


def _provider(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_provider

    return make_provider(person, name=canary).pk


def _credential(person: Person, canary: str) -> Any:
    from workflows.services.credentials import create_credential

    made = create_credential(
        person.principal, team_id=person.team.pk, name=f"{canary} key", secret="sk-0123456789abcdef"
    )
    return made.pk


OBJECTS: dict[str, Maker] = {
    "workflow": _workflow,
    "published workflow": _published,
    "version number": _number,
    "sample": _sample,
    "run": _run,
    "conversation": _conversation,
    "provider": _provider,
    "credential": _credential,
}

WORKFLOW = {"workflow_id": "workflow"}
PUBLISHED = {"workflow_id": "published workflow"}
VERSION = {**PUBLISHED, "number": "version number"}
PROVIDER = {"provider_id": "provider"}
CREDENTIAL = {"credential_id": "credential"}
DOCUMENT = {
    "document": {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start"}},
            {"id": "end", "data": {"type": "end"}},
        ],
        "edges": [{"source": "start", "target": "end"}],
    }
}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    # Workflows over the API; an outsider and a key act in their own team where no id is named
    Row("GET", "api/v1/workflows", "- 200 200 200 200 200"),
    Row("POST", "api/v1/workflows", "- 201 403 201 201 201", body=DOCUMENT),
    Row("POST", "api/v1/workflows/validate", "- 200 200 200 200 200", body=DOCUMENT),
    Row("GET", "api/v1/workflows/samples", "- 200 200 200 200 200"),
    Row("POST", "api/v1/workflows/samples/<slug:slug>/copy", "- 201 403 201 201 201", {"slug": "sample"}, {}, foreign=201),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>", "- 404 200 200 200 404", WORKFLOW),
    Row("PATCH", "api/v1/workflows/<uuid:workflow_id>", "- 404 403 200 200 404", WORKFLOW, {"name": "x"}),
    Row("DELETE", "api/v1/workflows/<uuid:workflow_id>", "- 404 403 204 204 404", WORKFLOW),
    Row("PUT", "api/v1/workflows/<uuid:workflow_id>/draft", "- 404 403 200 200 404", WORKFLOW, DOCUMENT),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/export", "- 404 200 200 200 404", WORKFLOW),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/validate", "- 404 200 200 200 404", WORKFLOW, {}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/duplicate", "- 404 403 201 201 404", WORKFLOW, {}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/publish", "- 404 403 201 201 404", WORKFLOW, {}),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/versions", "- 404 200 200 200 404", PUBLISHED),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/versions/<int:number>", "- 404 200 200 200 404", VERSION),
    # Model providers and credentials: people who manage them, and never a key
    Row("GET", "api/v1/providers", "- 200 403 200 200 403"),
    Row("POST", "api/v1/providers", "- 201 403 403 201 403", body={"name": "mine", "kind": "offline"}),
    Row("GET", "api/v1/providers/<uuid:provider_id>", "- 404 403 200 200 404", PROVIDER),
    Row("PATCH", "api/v1/providers/<uuid:provider_id>", "- 404 403 403 200 404", PROVIDER, {"enabled": False}),
    Row("DELETE", "api/v1/providers/<uuid:provider_id>", "- 404 403 403 204 404", PROVIDER),
    Row("GET", "api/v1/credentials", "- 200 403 200 200 403"),
    Row("POST", "api/v1/credentials", "- 201 403 403 201 403", body={"name": "mine", "secret": "s"}),
    Row("PUT", "api/v1/credentials/<uuid:credential_id>/secret", "- 404 403 403 200 404", CREDENTIAL, {"secret": "s"}),
    Row("DELETE", "api/v1/credentials/<uuid:credential_id>", "- 404 403 403 204 404", CREDENTIAL),
]  # fmt: skip
