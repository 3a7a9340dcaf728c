"""Connections of a team to an MCP server that wants a sign-in."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from tests.fakes.mcp_sign_in import SignInServer, serve_sign_in
from tests.support.cast import Cast, Person
from workflows.engine.tool_calls import ToolResult
from workflows.models import SignInAttempt, ToolConnection, ToolSignIn
from workflows.services import tools
from workflows.services.tools.signing_in import Answer
from workflows.tools import connections
from workflows.tools.signed_in.installation import Installation


SESSION = "a session"
HERE = Installation(
    base_url="https://mnemoflow.example",
    metadata_url="https://mnemoflow.example/tools/sign-in/client.json",
    redirect_uri="https://mnemoflow.example/tools/sign-in/",
)


@pytest.fixture
def server() -> Iterator[SignInServer]:
    with serve_sign_in() as server:
        yield server


@pytest.fixture
def connection(cast: Cast, loopback: None, server: SignInServer) -> ToolConnection:
    """The connection of team A, to which nobody has signed in yet."""
    return connect(cast, server)


@pytest.fixture
def signed_in(cast: Cast, connection: ToolConnection, server: SignInServer) -> ToolConnection:
    """The connection of team A, to which Ada has signed in."""
    sign_in(cast.ada, connection, server)
    return reload(connection)


def connect(cast: Cast, server: SignInServer) -> ToolConnection:
    return tools.connect_mcp(
        cast.ada.principal, team_id=cast.team_a.pk, name="Desk", url=server.url
    )


def begin(person: Person, connection: ToolConnection, **options: Any) -> str:
    """Begin a sign-in, and return the address to which the person goes."""
    values = {"session_key": SESSION, "installation": HERE, **options}
    return tools.start_sign_in(person.principal, connection=connection, **values).url


def come_back(person: Person, parameters: Any, session_key: str = SESSION) -> None:
    attempt = tools.take_attempt(
        person.principal, session_key=session_key, state=parameters.get("state", "")
    )
    answer = Answer(
        code=parameters.get("code", ""),
        issuer=parameters.get("iss"),
        error=parameters.get("error", ""),
        error_description=parameters.get("error_description", ""),
    )
    tools.finish_sign_in(person.principal, attempt=attempt, answer=answer)


def sign_in(person: Person, connection: ToolConnection, server: SignInServer) -> None:
    come_back(person, server.sign_in(begin(person, connection)))


def reload(connection: ToolConnection) -> ToolConnection:
    with tenant([connection.team_id]):
        rows = ToolConnection.objects.unscoped().select_related("credential", "sign_in")
        return rows.get(pk=connection.pk)


def change_sign_in(connection: ToolConnection, **values: Any) -> None:
    with tenant([connection.team_id]):
        ToolSignIn.objects.unscoped().filter(connection=connection).update(**values)


def read_sealed(connection: ToolConnection) -> tuple[bytes, bytes]:
    """Return the tokens as they are stored."""
    row = reload(connection).sign_in
    return bytes(row.access_token or b""), bytes(row.refresh_token or b"")


def read_tokens(connection: ToolConnection) -> tuple[str, str]:
    access_token, refresh_token = read_sealed(connection)
    return decrypt(access_token), decrypt(refresh_token)


def count_attempts(connection: ToolConnection) -> int:
    with tenant([connection.team_id]):
        return SignInAttempt.objects.unscoped().filter(connection=connection).count()


def call(connection: ToolConnection, name: str = "add", **arguments: Any) -> ToolResult:
    """Call a tool as a run does: the connection is read again."""
    target = connections.find_connection(connection.team_id, connection.slug)
    (tool,) = [tool for tool in connections.list_tools(target) if tool.reference.name == name]
    return async_to_sync(connections.call_connection_tool)(target, tool, arguments, "key")


def refuse(status: int, error: str = "", description: str = "") -> Callable[[], Any]:
    """Return what a server answers instead."""
    from starlette.responses import JSONResponse

    fields = {"error": error, "error_description": description}
    content = {name: text for name, text in fields.items() if text}
    return lambda: JSONResponse(content, status_code=status)
