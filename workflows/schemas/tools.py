"""Request and response schemas of tool connections. No secret is returned."""

import datetime as dt
from typing import Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example
from workflows.models import ToolConnection
from workflows.models.tools.connection import MAX_CALL_SECONDS, MIN_CALL_SECONDS
from workflows.tools.connections import get_sign_in


ConnectionKind = Literal["openapi", "mcp_http", "mcp_stdio"]
SignIn = Literal["none", "needed", "signed_in", "again"]
Authentication = Literal["", "none", "bearer", "basic", "header", "query"]


class ConnectionIn(Body):
    """An API or an MCP server to connect. Which fields are used depends on ``kind``."""

    model_config = with_example(kind="openapi", document_url="https://api.example.com/openapi.json")

    kind: ConnectionKind
    name: str = Field("", max_length=255, description="Empty: the title of the API or server.")
    slug: str = Field(
        "", max_length=64, description="Identifies it in documents; empty: made from the name."
    )
    document: str = Field("", description="OpenAPI: the document as JSON or YAML text.")
    document_url: str = Field("", max_length=2048, description="OpenAPI: the URL of the document.")
    url: str = Field(
        "",
        max_length=2048,
        description="The base URL of the API (empty: that of the document) or the URL of the MCP server.",
    )
    command: str = Field(
        "", max_length=64, description="mcp_stdio: the name of an allowed command."
    )
    secret: str = Field(
        "", max_length=4096, description="The key or token. It is never shown again."
    )
    authentication: Authentication = Field(
        "", description="How the secret is sent; empty: as the document says, or as a bearer token."
    )
    authentication_name: str = Field(
        "", max_length=100, description="The header, query parameter or environment variable."
    )


class OperationsIn(Body):
    model_config = with_example(enabled_operations=["list_books"], approval_operations=[])

    enabled_operations: list[str] = Field(max_length=500)
    approval_operations: list[str] = Field(
        max_length=500, description="Operations of which a person must approve each call."
    )
    call_seconds: int | None = Field(
        None,
        ge=MIN_CALL_SECONDS,
        le=MAX_CALL_SECONDS,
        description="How long a call of an MCP server may take. Leave it out to keep what is set.",
    )


class RefreshIn(Body):
    model_config = with_example(document="")

    document: str = Field("", description="The new document, if it has no URL.")


class TryIn(Body):
    model_config = with_example(operation="list_books", arguments={"author": "Keller"})

    operation: str = Field(max_length=64)
    arguments: dict[str, Any] = Field(default_factory=dict)  # Any: the operation's schema checks it


class OperationOut(Schema):
    name: str
    description: str = Field(description="Text of the API or server, which is not to be trusted.")
    parameters: dict[str, Any]


class ConnectionOut(Schema):
    id: UUID
    slug: str
    name: str
    kind: ConnectionKind
    url: str
    document_url: str
    operations: list[OperationOut]
    total_operations: int = Field(
        description="Operations listed, including those beyond the limit."
    )
    enabled_operations: list[str]
    approval_operations: list[str]
    call_seconds: int = Field(description="How long a call of an MCP server may take.")
    revision: str = Field(
        description="The revision of MCP that the server spoke at the last check, or nothing."
    )
    has_secret: bool
    hint: str = Field(description="The last characters of the secret.")
    sign_in: SignIn = Field(
        description="Of an MCP server: whether a person has signed in. none: it was never needed."
    )
    checked_at: dt.datetime | None
    check_error: str
    check_note: str = Field(description="What is odd about the server, though the check succeeded.")

    @staticmethod
    def resolve_has_secret(connection: ToolConnection) -> bool:
        return connection.credential_id is not None

    @staticmethod
    def resolve_hint(connection: ToolConnection) -> str:
        return connection.credential.hint if connection.credential else ""

    @staticmethod
    def resolve_sign_in(connection: ToolConnection) -> str:
        sign_in = get_sign_in(connection)
        return sign_in.status.value if sign_in is not None else "none"


class RefreshOut(Schema):
    changed: list[str] = Field(description="New and changed operations, which are disabled now.")
    connection: ConnectionOut


class ToolResultOut(Schema):
    text: str = Field(description="Text of the API or server, which is not to be trusted.")
    data: list[Any]
    is_error: bool
