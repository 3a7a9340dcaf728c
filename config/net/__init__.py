"""The one guarded HTTP client; nothing else opens an outbound connection a user can influence.

http and https to public addresses on ports 80 and 443, plus what the operator lists in NET_ALLOW.
A name is resolved once, every answer is checked, and the connection goes to the address that was
checked. Bodies, headers, redirects and time are bounded.
"""

from config.net.allow import NetAllowInvalid, parse_allowed
from config.net.clients import client, sync_client
from config.net.errors import (
    AddressRefused,
    BodyTooLarge,
    HeadersTooLarge,
    NetFault,
    RedirectRefused,
    TimeIsUp,
)
from config.net.exchanges import ExchangeFailed, FormFile, exchange


__all__ = [
    "AddressRefused",
    "BodyTooLarge",
    "ExchangeFailed",
    "FormFile",
    "HeadersTooLarge",
    "NetAllowInvalid",
    "NetFault",
    "RedirectRefused",
    "TimeIsUp",
    "client",
    "exchange",
    "parse_allowed",
    "sync_client",
]
