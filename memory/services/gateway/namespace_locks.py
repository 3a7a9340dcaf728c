"""Several namespaces for whoever is going to write to them one after the other in one transaction of theirs."""

from collections.abc import Iterable
from uuid import UUID

from accounts.tenancy import tenant
from memory.providers.postgres import rows


def hold(team_id: UUID, namespaces: Iterable[str]) -> None:
    """Locked now and in the one order, whatever order they are written in. Nothing is told of them."""
    with tenant([team_id]):
        rows.lock_namespaces(team_id, namespaces)
