"""Operations on the tool connections of a team: connect, refresh, choose operations, disconnect."""

from workflows.services.tools.changing import (
    choose_operations,
    disconnect,
    refresh_connection,
    remove_secret,
    replace_secret,
)
from workflows.services.tools.connecting import (
    connect_mcp,
    connect_openapi,
    connect_process,
    connect_service,
)


__all__ = [
    "choose_operations",
    "connect_mcp",
    "connect_openapi",
    "connect_process",
    "connect_service",
    "disconnect",
    "refresh_connection",
    "remove_secret",
    "replace_secret",
]
