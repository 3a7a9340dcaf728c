"""The connections of a team as tools: finds them, and calls an operation through its API or MCP server."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import (
    Tool,
    ToolAsks,
    ToolReference,
    ToolReply,
    ToolResult,
    ToolSource,
    ToolSpec,
)
from workflows.models import ConnectionKind, ToolConnection, ToolSignIn
from workflows.tools import threads
from workflows.tools.call_limits import CallLimit, build_call_limit
from workflows.tools.challenges import SignInEnded, SignInNeeded
from workflows.tools.echoed_secrets import (
    Cleaner,
    build_cleaner,
    clean_fault,
    clean_question,
    clean_result,
)
from workflows.tools.mcp.commands import STDIO_SCHEME
from workflows.tools.openapi.calls import call_operation
from workflows.tools.openapi.security import Security
from workflows.tools.operations import Operation, read_operations
from workflows.tools.signed_in.calling import call_signed_in
from workflows.tools.signed_in.renewal import SignInReference, read_token
from workflows.tools.threads import RunInThread


# The relations that have what is secret about a connection.
SECRETS: Final = ("credential", "sign_in")
_SOURCES: Final[Mapping[str, ToolSource]] = {
    ConnectionKind.OPENAPI: "openapi",
    ConnectionKind.MCP_HTTP: "mcp",
    ConnectionKind.MCP_STDIO: "mcp",
    ConnectionKind.WEB: "builtin",  # it has no operations of its own
}


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection as it is called: apart from the database, and with its secret if it may be sent to the URL."""

    slug: str
    kind: str
    url: str
    operations: Mapping[str, Operation]
    enabled: frozenset[str]
    approvals: frozenset[str]
    security: Security
    secret: str | None = None
    # Of the credential or the sign-in: which one it is, and when its secret was replaced.
    account: str = ""
    # Its access token is the secret, or has to be renewed first if there is none.
    sign_in: SignInReference | None = None
    limit: CallLimit = field(default_factory=build_call_limit)


def find_connection(team_id: UUID, slug: str) -> Connection:
    """Return a connection of the team. Raise ``ToolFailed`` if there is none of this name."""
    with tenant([team_id]):
        rows = ToolConnection.objects.unscoped().filter(team_id=team_id, slug=slug)
        row = rows.select_related(*SECRETS).first()
    if row is None:
        raise ToolFailed(f"There is no tool connection {slug[:100]!r} in this team")
    return read_connection(row)


def read_connection(row: ToolConnection) -> Connection:
    """Return the connection of a row whose ``SECRETS`` are loaded."""
    return replace(describe_connection(row), secret=read_secret(row), sign_in=find_sign_in(row))


def describe_connection(row: ToolConnection) -> Connection:
    """Return the connection of a row whose ``SECRETS`` are loaded, without its secret: it can't be called."""
    return Connection(
        slug=row.slug,
        kind=row.kind,
        url=row.url,
        operations={operation.name: operation for operation in read_operations(row.operations)},
        enabled=frozenset(row.enabled_operations),
        approvals=frozenset(row.approval_operations),
        security=Security(**row.authentication),
        account=describe_account(row),
        limit=build_call_limit(row.call_seconds),
    )


def describe_account(row: ToolConnection) -> str:
    """Return which credential or sign-in the connection has, and when its secret was replaced."""
    sign_in = get_sign_in(row)
    if sign_in is not None and sign_in.signed_in_at is not None:
        return f"{sign_in.pk} {sign_in.signed_in_at}"
    return f"{row.credential.pk} {row.credential.rotated_at}" if row.credential else ""


def get_sign_in(row: ToolConnection) -> ToolSignIn | None:
    """Return the sign-in of a connection, or None if it was never needed."""
    return getattr(row, "sign_in", None)


def find_sign_in(row: ToolConnection) -> SignInReference | None:
    """Return the sign-in whose token is the secret of the connection, or None if another secret is."""
    sign_in = get_sign_in(row)
    if sign_in is None or (sign_in.signed_in_at is None and row.credential_id is not None):
        return None
    return SignInReference(row.team_id, sign_in.pk, row.name)


def list_connection_tools(team_id: UUID, slug: str) -> Sequence[Tool]:
    """Return the tools that the connection of this name offers. Raise ``ToolFailed`` if there is none."""
    return list_tools(find_connection(team_id, slug))


def list_tools(connection: Connection) -> Sequence[Tool]:
    """Return the operations of the connection that are enabled, in the order of the document or the server."""
    return [
        build_tool(connection, operation)
        for name, operation in connection.operations.items()
        if name in connection.enabled
    ]


def build_tool(connection: Connection, operation: Operation) -> Tool:
    return Tool(
        reference=ToolReference(_SOURCES[connection.kind], operation.name, connection.slug),
        spec=ToolSpec(operation.name, operation.description, operation.parameters),
        needs_approval=operation.name in connection.approvals,
        is_untrusted=True,
        version=_build_version(connection, operation),
    )


def check_version(connection: Connection, tool: Tool) -> None:
    """Raise ``ToolFailed`` if the connection was changed after a person allowed the call of the tool."""
    operation = connection.operations.get(tool.reference.name)
    if operation is None or not tool.needs_approval:
        return
    if tool.version != _build_version(connection, operation):
        raise ToolFailed(
            f"The connection {connection.slug!r} was changed after a person allowed this call",
            retryable=True,
        )


def _build_version(connection: Connection, operation: Operation) -> str:
    """Return a text that differs as soon as a call of the operation goes elsewhere or is another request."""
    parts = [
        connection.kind,
        connection.url,
        connection.account,
        asdict(connection.security),
        [operation.name, operation.parameters, operation.call],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


async def call_connection_tool(
    connection: Connection,
    tool: Tool,
    arguments: Mapping[str, Json],
    idempotency_key: str,
    run_in_thread: RunInThread = threads.run_in_thread,
) -> ToolResult:
    """Call an enabled operation. Raise ``ToolFailed`` if it isn't one, or if its server can't be reached.

    ``run_in_thread`` is for the tokens of a sign-in, which may have to be renewed.
    """
    name = tool.reference.name
    operation = connection.operations.get(name)
    if operation is None or name not in connection.enabled:
        raise ToolFailed(
            f"The connection {connection.slug!r} doesn't offer the tool {name[:100]!r}"
        )

    async def call(secret: str | None) -> ToolResult:
        return await _call(connection, operation, secret, arguments, idempotency_key, tool.reply)

    if connection.sign_in is not None:
        return await call_signed_in(connection.sign_in, connection.secret, call, run_in_thread)
    try:
        return await call(connection.secret)
    except SignInNeeded:
        raise SignInEnded(_describe_refusal(connection)) from None


def _describe_refusal(connection: Connection) -> str:
    if connection.secret is not None:
        return f"The MCP server refuses the key of the connection {connection.slug!r}"
    return f"The connection {connection.slug!r} needs a sign-in: an admin signs in on its page under Tools"


async def _call(
    connection: Connection,
    operation: Operation,
    secret: str | None,
    arguments: Mapping[str, Json],
    idempotency_key: str,
    reply: ToolReply | None,
) -> ToolResult:
    clean = build_cleaner(secret, connection.security)
    try:
        if connection.kind == ConnectionKind.OPENAPI:
            result = await call_operation(
                operation,
                arguments,
                base_url=connection.url,
                security=connection.security,
                secret=secret,
                idempotency_key=idempotency_key,
                clean=clean,
            )
        else:
            server = replace(
                build_server(connection.url, connection.security, secret, connection.limit),
                name=connection.slug,
            )
            result = await _call_mcp(server, operation, arguments, idempotency_key, reply, clean)
    except SignInNeeded:
        raise
    except ToolFailed as fault:
        raise clean_fault(fault, clean) from None
    except ToolAsks as asked:
        raise clean_question(asked, clean) from None
    return await asyncio.to_thread(clean_result, result, clean)


async def _call_mcp(
    server: Any,  # mcp.servers.Server
    operation: Operation,
    arguments: Mapping[str, Json],
    idempotency_key: str,
    reply: ToolReply | None,
    clean: Cleaner,
) -> ToolResult:
    # Inline import: the package takes a third of a second to import, and few processes call MCP servers.
    from workflows.tools.mcp import session  # noqa: PLC0415

    return await session.call_tool(
        server, operation, arguments, idempotency_key=idempotency_key, reply=reply, clean=clean
    )


def build_server(
    url: str, security: Security, secret: str | None, limit: CallLimit | None = None
) -> Any:  # mcp.servers.Server
    """Return the server at a URL, with the secret as a header, or as a variable if it is a process."""
    # Inline import: as in _call_mcp.
    from workflows.tools.mcp.servers import Server  # noqa: PLC0415

    limit = limit or build_call_limit()
    if not secret:
        return Server(url, limit=limit)
    if url.startswith(STDIO_SCHEME):
        variable = (security.name, secret) if security.name else None
        return Server(url, variable=variable, limit=limit)
    return Server(url, header=security.build_header(secret), limit=limit)


def read_secret(row: ToolConnection) -> str | None:
    """Return the secret, unless the credential may not be sent to the URL, which may have been changed.

    That of a connection with a sign-in is its access token, unless that has to be renewed.
    """
    sign_in = get_sign_in(row)
    if sign_in is not None and sign_in.signed_in_at is not None:
        return read_token(sign_in)
    credential = row.credential
    if credential is None or not credential.may_be_sent_to(row.url):
        return None
    return decrypt(bytes(credential.secret))
