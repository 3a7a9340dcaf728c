"""Rows of tool connections: pages and API, for people who manage credentials, and never for a key."""

from __future__ import annotations

import json
from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


# Its server is an address that the guarded client refuses, so that nothing is called.
DOCUMENT = json.dumps(
    {
        "openapi": "3.0.0",
        "info": {"title": "Nowhere", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": {"/x": {"get": {"operationId": "x"}}},
    }
)


def _connection(person: Person, canary: str) -> Any:
    from workflows.services.tools import connect_openapi

    made = connect_openapi(person.principal, team_id=person.team.pk, name=canary, document=DOCUMENT)
    return made.pk


def _workflow_tool(person: Person, canary: str) -> Any:
    from workflows.services.catalog.importing import import_document
    from workflows.services.publishing import publish
    from workflows.services.tools.workflow_tools import change_tool_settings

    document = {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}},
        ],
        "edges": [{"id": "e", "source": "start", "target": "end"}],
    }
    made = import_document(
        person.principal, team_id=person.team.pk, source=document, name=canary
    ).workflow
    publish(person.principal, workflow=made)
    change_tool_settings(person.principal, workflow=made, is_tool=True)
    return made.pk


def _name(text: str) -> Maker:
    """The same word for everybody: a kind, or the name of a tool."""
    return lambda _person, _canary: text


OBJECTS: dict[str, Maker] = {
    "connection": _connection,
    "connection kind": _name("openapi"),
    "source of tools": _name("builtin"),
    "built-in tool": _name("calculator"),
    "workflow that is a tool": _workflow_tool,
    "operation": _name("x"),
}

CONNECTION = {"connection_id": "connection"}
API = "api/v1/tools/connections"
ONE = f"{API}/<uuid:connection_id>"
KIND = {"kind": "connection kind"}
BUILTIN = {"source": "source of tools", "name": "built-in tool"}
LOCAL = "tools/local/<slug:source>/<slug:name>/"
WORKFLOW_TOOL = {"workflow_id": "workflow that is a tool"}
OPERATION = {**CONNECTION, "name": "operation"}
# Another team's operation has the same name as one's own.
SAME_NAME = {"connection_id": 404, "name": 200}
PAGE = "tools/<uuid:connection_id>/"
TRY = f"{PAGE}try/<slug:name>/"
NEW = {"kind": "openapi", "document": DOCUMENT}
CHOICE = {"enabled_operations": ["x"], "approval_operations": []}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    Row("GET", API, "- 200 403 200 200 403"),
    Row("POST", API, "- 201 403 403 201 403", body=NEW),
    Row("GET", ONE, "- 404 403 200 200 404", CONNECTION),
    Row("PATCH", ONE, "- 404 403 403 200 404", CONNECTION, CHOICE),
    Row("DELETE", ONE, "- 404 403 403 204 404", CONNECTION),
    Row("POST", f"{ONE}/refresh", "- 404 403 403 200 404", CONNECTION, {"document": DOCUMENT}),
    Row("POST", f"{ONE}/try", "- 404 403 403 200 404", CONNECTION, {"operation": "x"}),
    Row("PUT", f"{ONE}/secret", "- 404 403 403 200 404", CONNECTION, {"secret": "sk-0123456789"}),
    Row("DELETE", f"{ONE}/secret", "- 404 403 403 204 404", CONNECTION),
    Row("GET", "tools/", "- 200 403 200 200 -"),
    Row("GET", "tools/local/", "- 200 403 403 200 -"),
    Row("GET", "tools/connect/<slug:kind>/", "- 200 403 403 200 -", KIND, foreign=200),
    Row(
        "POST",
        "tools/connect/<slug:kind>/",
        "- 302 403 403 302 -",
        KIND,
        {"document": DOCUMENT},
        302,
    ),
    Row("GET", LOCAL, "- 200 403 200 200 -", BUILTIN, foreign=200),
    Row("POST", LOCAL, "- 200 403 200 200 -", BUILTIN, {}, 200),
    Row("GET", "tools/workflow/<uuid:workflow_id>/", "- 404 200 200 200 -", WORKFLOW_TOOL),
    Row("POST", "tools/workflow/<uuid:workflow_id>/", "- 404 302 302 302 -", WORKFLOW_TOOL, {}),
    Row("GET", PAGE, "- 404 403 200 200 -", CONNECTION),
    Row("POST", f"{PAGE}operations/", "- 404 403 403 302 -", CONNECTION, {"enabled": "x"}),
    Row("POST", f"{PAGE}refresh/", "- 404 403 403 302 -", CONNECTION, {"document": DOCUMENT}),
    Row("POST", f"{PAGE}secret/", "- 404 403 403 302 -", CONNECTION, {"secret": "sk-0123456789"}),
    Row("GET", TRY, "- 404 403 403 200 -", OPERATION, foreign=SAME_NAME),
    Row("POST", TRY, "- 404 403 403 200 -", OPERATION, {}, SAME_NAME),
    Row("POST", f"{PAGE}delete/", "- 404 403 403 302 -", CONNECTION, {}),
]
