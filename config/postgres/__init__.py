"""Django's PostgreSQL backend, which notices within a second that the server is away."""

from typing import Final


# A pool without a free connection is either busy or can't reach the server; after this many seconds, it is found out.
POOL_WAIT: Final = 0.5
