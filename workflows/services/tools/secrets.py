"""The credential of a connection: encrypted, and bound to the host of the connection."""

from urllib.parse import urlsplit

from accounts.access import Principal
from workflows.models import Credential, ToolConnection
from workflows.services import credentials


def create_secret(principal: Principal, connection: ToolConnection, secret: str) -> Credential:
    """Create the credential of a connection, which may be sent to the connection's host alone."""
    return credentials.create_credential(
        principal,
        team_id=connection.team_id,
        name=f"{connection.name[:180]} ({connection.pk})",
        secret=secret,
        kind=credentials.TOOL_KIND,
        hosts=urlsplit(connection.url).hostname or "",
    )
