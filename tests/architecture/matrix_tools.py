"""Rows of tool connections: pages and API, for people who manage credentials, and never for a key."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

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


def _sign_in(person: Person, canary: str) -> Any:
    """Somebody has signed in to its server, which nobody reaches, and has begun to do so again."""
    from datetime import timedelta

    from django.utils import timezone

    from accounts.tenancy import tenant
    from config.encryption.crypto import encrypt
    from workflows.models import ConnectionKind, SignInAttempt, ToolConnection, ToolSignIn

    origin = "http://127.0.0.1:9"
    endpoints = {
        f"{name}_endpoint": f"{origin}/{name}" for name in ("authorization", "token", "revocation")
    }
    sealed = encrypt(canary)
    values: dict[str, Any] = {
        "team_id": person.team.pk,
        "server": {"issuer": origin, **endpoints},
        "client": {"client_id": canary},
        "client_secret": sealed,
        "resource": f"{origin}/mcp",
        "scope": canary,
    }
    later = timezone.now() + timedelta(minutes=10)
    with tenant([person.team.pk]):
        connection = ToolConnection.objects.create(
            team_id=person.team.pk,
            slug=f"sign-in-{uuid4()}",
            name=canary,
            kind=ConnectionKind.MCP_HTTP,
            url=f"{origin}/mcp",
        )
        ToolSignIn.objects.create(
            **values,
            connection=connection,
            access_token=sealed,
            refresh_token=sealed,
            expires_at=later,
            signed_in_by=person.user,
            signed_in_at=timezone.now(),
        )
        SignInAttempt.objects.create(
            **values,
            connection=connection,
            user=person.user,
            state_hash=uuid4().hex,
            session_hash=uuid4().hex,
            code_verifier=sealed,
            redirect_uri=f"{origin}/",
            expires_at=later,
        )
    return connection.pk


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
    "connection with a sign-in": _sign_in,
    "connection kind": _name("openapi"),
    "source of tools": _name("builtin"),
    "built-in tool": _name("calculator"),
    "workflow that is a tool": _workflow_tool,
    "operation": _name("x"),
}

CONNECTION = {"connection_id": "connection"}
SIGN_IN = {"connection_id": "connection with a sign-in"}
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
    Row("DELETE", f"{ONE}/sign-in", "- 404 403 403 204 404", SIGN_IN),
    Row("POST", f"{PAGE}sign-in/", "- 404 403 403 422 -", SIGN_IN, {}),
    Row("POST", f"{PAGE}sign-out/", "- 404 403 403 302 -", SIGN_IN, {}),
    Row("GET", "tools/sign-in/", "- 404 404 404 404 -", foreign=404),
    Row("GET", "tools/sign-in/client.json", "200 200 200 200 200 200"),
    Row("POST", f"{PAGE}delete/", "- 404 403 403 302 -", CONNECTION, {}),
]
