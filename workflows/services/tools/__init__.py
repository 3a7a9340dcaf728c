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
from workflows.services.tools.signing_in import finish_sign_in, start_sign_in, take_attempt
from workflows.services.tools.signing_out import sign_out


__all__ = [
    "choose_operations",
    "connect_mcp",
    "connect_openapi",
    "connect_process",
    "connect_service",
    "disconnect",
    "finish_sign_in",
    "refresh_connection",
    "remove_secret",
    "replace_secret",
    "sign_out",
    "start_sign_in",
    "take_attempt",
]
