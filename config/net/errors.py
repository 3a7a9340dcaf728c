"""Errors of requests that the application's guard stopped.

They are httpx transport errors, so that code that catches those errors also catches these. No message ever contains a
resolved address or data from the server.
"""

import httpx


class NetFault(httpx.TransportError):
    """The request was not made."""

    retryable = False

    def __init__(self, message: str = "", *, request: httpx.Request | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip(), request=request)


class AddressRefused(NetFault):
    """The address is blocked."""


class RedirectRefused(NetFault):
    """The redirect would have carried the request's body to another site."""


class HeadersTooLarge(NetFault):
    """The answer's headers are too large."""


class BodyTooLarge(NetFault):
    """The answer is too large."""


class TimeIsUp(NetFault, httpx.ReadTimeout):
    """The answer took too long."""

    retryable = True
