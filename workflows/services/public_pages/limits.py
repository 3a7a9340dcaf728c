"""Limits of what visitors of a public page send: of each visitor, each network, and all visitors of the page together.

The counts are in the cache, as those of the API are; without it, nothing is limited. Budgets of the team and of the page's
key are checked apart, when a run starts.
"""

import math
import time
from collections.abc import Iterator
from typing import Final

from django.core.cache import cache

from accounts.http.throttles import count_request
from workflows.errors import TooManyVisits
from workflows.models import PublicPage


READS_PER_NETWORK: Final = 600  # a minute, as the others
WRITES_PER_VISITOR: Final = 40
WRITES_PER_NETWORK: Final = 120
WRITES_PER_PAGE: Final = 1_200
PASSWORD_SECONDS: Final = 900
PASSWORDS_PER_NETWORK: Final = 10  # wrong passwords in PASSWORD_SECONDS
PASSWORDS_PER_PAGE: Final = 200


def check_read(page: PublicPage, network: str) -> None:
    """Count a request that changes nothing. Raise TooManyVisits above the limit."""
    _count(f"page:{page.pk}:reads:{network}", READS_PER_NETWORK)


def check_write(page: PublicPage, network: str, visitor_id: str) -> None:
    """Count a message, an upload or another change. Raise TooManyVisits above one of the limits."""
    of_page = page.api_key.requests_per_minute or WRITES_PER_PAGE
    _count(f"page:{page.pk}:visitor:{visitor_id}", WRITES_PER_VISITOR)
    _count(f"page:{page.pk}:writes:{network}", WRITES_PER_NETWORK)
    _count(f"page:{page.pk}:writes", of_page)


def check_password_attempts(page: PublicPage, network: str) -> None:
    """Raise TooManyVisits if too many wrong passwords were sent lately from the network, or to the page."""
    for key, limit in _list_password_counts(page, network):
        if int(cache.get(key) or 0) >= limit:
            raise TooManyVisits(retry_after=PASSWORD_SECONDS)


def note_wrong_password(page: PublicPage, network: str) -> None:
    for key, _limit in _list_password_counts(page, network):
        if cache.add(key, 1, timeout=PASSWORD_SECONDS):
            continue
        try:
            cache.incr(key)
        except ValueError:  # it has just expired
            continue


def _list_password_counts(page: PublicPage, network: str) -> Iterator[tuple[str, int]]:
    yield f"page:{page.pk}:passwords:{network}", PASSWORDS_PER_NETWORK
    yield f"page:{page.pk}:passwords", PASSWORDS_PER_PAGE


def _count(name: str, limit: int) -> None:
    state = count_request(name, limit, time.time())
    if state.is_exceeded:
        raise TooManyVisits(retry_after=max(1, math.ceil(state.seconds)))
