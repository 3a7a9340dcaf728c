"""Errors of requests that the guarded client stopped.

They are transport errors of httpx2, so that code that handles those handles these as well. No message contains a resolved
address or data from the server.
"""

import httpx2


class NetFault(httpx2.TransportError):
    """The request was not made."""

    retryable = False

    def __init__(self, message: str = "", *, request: httpx2.Request | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip(), request=request)


class AddressRefused(NetFault):
    """The address is blocked."""


class RedirectRefused(NetFault):
    """The redirect would have carried the request's body to another site."""


class HeadersTooLarge(NetFault):
    """The answer's headers are too large."""


class BodyTooLarge(NetFault):
    """The answer is too large."""


class TimeIsUp(NetFault, httpx2.ReadTimeout):
    """The answer took too long."""

    retryable = True
