"""Calls of models, servers and pages that a person waits for: without a database connection, and only a few at once.

Whoever answers may take a minute, or never answer. So a person and a team wait for a limited number of them at a time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.core.cache import cache
from django.core.exceptions import ObjectDoesNotExist

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.request_transaction import without_connection
from accounts.tenancy import TenantModel
from config.ids import uuid7
from workflows.errors import TooManyCallsOutside


PERSON_CALLS: Final = 3
TEAM_CALLS: Final = 10
# A place is free again then, if the process that took it has died. No call takes longer.
PLACE_SECONDS: Final = 180


@contextmanager
def call_outside(principal: Principal, team_id: UUID) -> Iterator[None]:
    """Give the connection back until the block ends. Raise TooManyCallsOutside if the person or the team has no place left.

    What the request did before is committed, and rows that it read may have been changed at the end of the block.
    """
    with take_places(principal, team_id), without_connection():
        yield


@contextmanager
def take_places(principal: Principal, team_id: UUID) -> Iterator[None]:
    """Take a place of the person and one of the team until the block ends. Raise TooManyCallsOutside if there is none."""
    with (
        _take_place(f"{team_id}:{principal.actor}", PERSON_CALLS),
        _take_place(str(team_id), TEAM_CALLS),
    ):
        yield


def lock_row(row: TenantModel) -> None:
    """Lock a row until the transaction ends, and read its values again: others may have changed them during a call.

    The rows that it refers to stay those that were read before. Raise NotFound if the row was deleted meanwhile.
    """
    rows = type(row).objects.unscoped().select_for_update(of=("self",), no_key=True)
    names = [field.attname for field in row._meta.concrete_fields if not field.is_relation]
    try:
        row.refresh_from_db(fields=names, from_queryset=rows)
    except ObjectDoesNotExist:
        raise NotFound from None


@contextmanager
def _take_place(owner: str, places: int) -> Iterator[None]:
    """Take one of the places of an owner in the cache, which all web processes share."""
    token = str(uuid7())
    keys = [f"outside:{owner}:{number}" for number in range(places)]
    own_key = next((key for key in keys if cache.add(key, token, PLACE_SECONDS)), None)
    if own_key is None:
        raise TooManyCallsOutside
    try:
        yield
    finally:
        if cache.get(own_key) == token:  # it may have expired, and be somebody else's now
            cache.delete(own_key)
