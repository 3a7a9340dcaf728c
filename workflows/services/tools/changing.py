"""Changes a connection: lists its operations again, chooses those that are offered, replaces its secret, deletes it."""

from collections.abc import Collection

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import ConnectionKind, Credential, ToolConnection
from workflows.models.tools.connection import MAX_CALL_SECONDS, MIN_CALL_SECONDS
from workflows.services import audit_lines, credentials
from workflows.services.outside_calls import lock_row
from workflows.services.tools.listing import Listing, check_listing, list_server, read_api
from workflows.services.tools.secrets import create_secret
from workflows.services.tools.signing_out import load_grant, revoke_tokens
from workflows.tools.challenges import SignInNeeded
from workflows.tools.connections import find_sign_in, get_sign_in, read_secret
from workflows.tools.openapi.security import Security


def refresh_connection(
    principal: Principal, *, connection: ToolConnection, document: str = ""
) -> list[str]:
    """List the operations again, and return the names of those that are new or changed.

    These are switched off until a person enables them: a server could otherwise turn an approved tool into another one.
    The result of the check is stored, whether it succeeds or not. Raise ``InvalidValue`` if it fails.
    """
    permissions.check_manage(principal, connection)
    try:
        listing = _list_again(principal, connection, document)
    except InvalidValue as error:
        _save_check(principal, connection, error=str(error))
        raise
    return _save_listing(principal, connection, listing)


def choose_operations(
    principal: Principal,
    *,
    connection: ToolConnection,
    enabled: Collection[str],
    approvals: Collection[str],
    call_seconds: int | None = None,
) -> ToolConnection:
    """Set which operations are offered as tools, and which of them need the approval of a person for each call.

    ``call_seconds`` are how long a call of an MCP server may take; None leaves that as it is.
    """
    permissions.check_manage(principal, connection)
    names = [str(row["name"]) for row in connection.operations]
    if unknown := sorted((set(enabled) | set(approvals)) - set(names)):
        sentence = _("There is no operation %(name)s.")
        raise InvalidValue(sentence % {"name": unknown[0][:100]}, field="operations")
    if call_seconds is not None:
        connection.call_seconds = _check_call_seconds(call_seconds)
    with tenant([connection.team_id]):
        connection.enabled_operations = [name for name in names if name in enabled]
        connection.approval_operations = [name for name in names if name in approvals]
        connection.save(
            update_fields=[
                *("enabled_operations", "approval_operations", "call_seconds"),
                "updated_at",
            ]
        )
        audit_lines.record(
            principal,
            connection,
            "tool.changed",
            enabled=len(connection.enabled_operations),
            approvals=len(connection.approval_operations),
            **({} if call_seconds is None else {"call_seconds": call_seconds}),
        )
    return connection


def _check_call_seconds(seconds: int) -> int:
    if not MIN_CALL_SECONDS <= seconds <= MAX_CALL_SECONDS:
        sentence = _("A call may take %(min)d to %(max)d seconds.")
        limits = {"min": MIN_CALL_SECONDS, "max": MAX_CALL_SECONDS}
        raise InvalidValue(sentence % limits, field="call_seconds")
    return seconds


def replace_secret(
    principal: Principal, *, connection: ToolConnection, secret: str
) -> ToolConnection:
    """Replace the secret of the connection, or give it one. It may be sent to the connection's host alone."""
    permissions.check_manage(principal, connection)
    sign_in = get_sign_in(connection)
    if sign_in is not None and sign_in.signed_in_at is not None:
        raise InvalidValue(_("This connection has a sign-in. Disconnect it first."), field="secret")
    with tenant([connection.team_id]):
        if connection.credential:
            credentials.replace_secret(principal, credential=connection.credential, secret=secret)
        else:
            connection.credential = create_secret(principal, connection, secret)
            connection.save(update_fields=["credential", "updated_at"])
        audit_lines.record(principal, connection, "tool.changed", secret_replaced=True)
    return connection


def remove_secret(principal: Principal, *, connection: ToolConnection) -> None:
    """Delete the secret of the connection."""
    permissions.check_manage(principal, connection)
    with tenant([connection.team_id]):
        credential, connection.credential = connection.credential, None
        connection.save(update_fields=["credential", "updated_at"])
        delete_credential(principal, credential)
        audit_lines.record(principal, connection, "tool.changed", secret_withdrawn=True)


def list_at_first(principal: Principal, connection: ToolConnection) -> None:
    """List the operations of a connection that has none yet. They are enabled, and each call of one needs approval.

    Raise ``InvalidValue`` if that fails.
    """
    refresh_connection(principal, connection=connection)
    names = [str(row["name"]) for row in connection.operations]
    choose_operations(principal, connection=connection, enabled=names, approvals=names)


def disconnect(principal: Principal, *, connection: ToolConnection) -> None:
    """Delete the connection with its secret or its sign-in. Workflows that use its tools fail with an error that names it."""
    permissions.check_manage(principal, connection)
    grant = load_grant(connection)
    with tenant([connection.team_id]):
        ToolConnection.objects.unscoped().filter(pk=connection.pk).delete()
        delete_credential(principal, connection.credential)
        audit_lines.record(principal, connection, "tool.disconnected", name=connection.name)
    revoke_tokens(principal, connection, grant)


def _list_again(principal: Principal, connection: ToolConnection, document: str) -> Listing:
    if connection.kind == ConnectionKind.WEB:
        raise InvalidValue(_("The tools of a web service are built in."))
    if connection.kind != ConnectionKind.OPENAPI:
        security = Security(**connection.authentication)
        try:
            return list_server(
                principal,
                connection.team_id,
                connection.url,
                security,
                read_secret(connection),
                find_sign_in(connection),
            )
        except SignInNeeded:
            raise InvalidValue(_("The MCP server wants a sign-in.")) from None
    api = read_api(principal, connection.team_id, document, connection.document_url)
    return check_listing(Listing(api.title, api.operations, api.total))


def _save_listing(principal: Principal, connection: ToolConnection, listing: Listing) -> list[str]:
    rows = {operation.name: operation.to_json() for operation in listing.operations}
    with tenant([connection.team_id]):
        lock_row(connection)
        earlier = {str(row["name"]): row for row in connection.operations}
        changed = [name for name, row in rows.items() if row != earlier.get(name)]
        connection.operations = list(rows.values())
        connection.total_operations = listing.total
        connection.revision, connection.check_note = listing.revision, listing.note[:1000]
        kept_names = rows.keys() - set(changed)
        connection.enabled_operations = [
            name for name in connection.enabled_operations if name in kept_names
        ]
        connection.approval_operations = [
            name for name in rows if name in connection.approval_operations or name in changed
        ]
        connection.save(
            update_fields=[
                *("operations", "total_operations", "enabled_operations", "approval_operations"),
                *("revision", "check_note"),
                "updated_at",
            ]
        )
        _save_check(principal, connection, changed=len(changed), operations=len(rows))
    return changed


def _save_check(
    principal: Principal, connection: ToolConnection, *, error: str = "", **detail: int
) -> None:
    with tenant([connection.team_id]):
        lock_row(connection)
        connection.checked_at = timezone.now()
        connection.check_error = error[:1000]
        connection.save(update_fields=["checked_at", "check_error", "updated_at"])
        result = {"failed": True} if error else detail
        audit_lines.record(principal, connection, "tool.refreshed", **result)


def delete_credential(principal: Principal, credential: Credential | None) -> None:
    """Delete the credential, unless another connection or a provider uses it."""
    if credential is None:
        return
    if not (credential.tool_connections.exists() or credential.providers.exists()):
        credentials.delete_credential(principal, credential=credential)
