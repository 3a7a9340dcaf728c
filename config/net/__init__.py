"""The guarded HTTP client. Only this package opens outbound connections whose target a user can influence.

It connects by http and https to public addresses on ports 80 and 443, and to those that the operator lists in NET_ALLOW.
A name is resolved once, every address is checked, and the connection goes to a checked address. The sizes of bodies and
headers, the number of redirects and the duration are limited.
"""

from config.net.allow import NetAllowInvalid, parse_allowed
from config.net.clients import build_client, build_sync_client
from config.net.errors import (
    AddressRefused,
    BodyTooLarge,
    HeadersTooLarge,
    NetFault,
    RedirectRefused,
    TimeIsUp,
)
from config.net.exchanges import ExchangeFailed, FormFile, describe_failure, send_request
from config.net.lasting_pools import reuse_connections
from config.net.own_calls import (
    ReceivedMarks,
    get_received_mark,
    mark_own_calls,
    receive_mark,
)
from config.net.retry_after import parse_retry_after
from config.net.transport import load_tls_contexts
from config.net.watching import replace_broken_body, watch_body


__all__ = [
    "AddressRefused",
    "BodyTooLarge",
    "ExchangeFailed",
    "FormFile",
    "HeadersTooLarge",
    "NetAllowInvalid",
    "NetFault",
    "ReceivedMarks",
    "RedirectRefused",
    "TimeIsUp",
    "build_client",
    "build_sync_client",
    "describe_failure",
    "get_received_mark",
    "load_tls_contexts",
    "mark_own_calls",
    "parse_allowed",
    "parse_retry_after",
    "receive_mark",
    "replace_broken_body",
    "reuse_connections",
    "send_request",
    "watch_body",
]
