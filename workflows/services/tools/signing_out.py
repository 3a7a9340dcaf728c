"""Ends the sign-in of a connection: deletes its tokens, and asks their server to forget them."""

from asgiref.sync import async_to_sync

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.errors import ToolFailed
from workflows.errors import InvalidValue, TooManyCallsOutside
from workflows.models import ToolConnection, ToolSignIn
from workflows.services import audit_lines
from workflows.services.outside_calls import call_outside
from workflows.tools.connections import get_sign_in
from workflows.tools.signed_in.renewal import read_grant
from workflows.tools.signed_in.tokens import Grant


def sign_out(principal: Principal, *, connection: ToolConnection) -> bool:
    """Delete the tokens of the connection. Return whether their server says that nobody can use them any more.

    The connection, its choice of tools and its client at the authorization server stay for the next sign-in.
    """
    permissions.check_manage(principal, connection)
    with tenant([connection.team_id]):
        rows = ToolSignIn.objects.unscoped().select_for_update(of=("self",))
        sign_in = rows.select_related("connection").filter(connection_id=connection.pk).first()
        if sign_in is None:
            return True
        grant = read_grant(sign_in)
        sign_in.access_token = sign_in.refresh_token = sign_in.expires_at = None
        sign_in.renewed_until = sign_in.signed_in_at = sign_in.signed_in_by = None
        sign_in.error = sign_in.missing_scope = ""
        sign_in.save()
        connection.sign_in = sign_in
        audit_lines.record(principal, connection, "tool.signed_out")
    return revoke_tokens(principal, connection, grant)


def load_grant(connection: ToolConnection) -> Grant | None:
    """Return the tokens of the connection, or None if it has none."""
    sign_in = get_sign_in(connection)
    return read_grant(sign_in) if sign_in is not None and sign_in.access_token is not None else None


def revoke_tokens(principal: Principal, connection: ToolConnection, grant: Grant | None) -> bool:
    """Ask the authorization server to forget the tokens, which are deleted here already. Return whether it says that it did."""
    # Inline import: the package takes a third of a second to import, and few processes call MCP servers.
    from workflows.tools.mcp.sign_in.tokens import revoke  # noqa: PLC0415

    if grant is None or not grant.access_token:
        return True
    try:
        with call_outside(principal, connection.team_id):
            return async_to_sync(revoke)(grant)
    except (ToolFailed, InvalidValue, TooManyCallsOutside):
        return False
