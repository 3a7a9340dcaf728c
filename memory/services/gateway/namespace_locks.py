"""Locks namespaces for callers that write to several in one transaction."""

from collections.abc import Iterable
from uuid import UUID

from accounts.tenancy import tenant
from memory.providers.postgres import rows


def lock_namespaces(team_id: UUID, namespaces: Iterable[str]) -> None:
    """Lock the namespaces in id order, whatever the order of the writes, so that two writers cannot deadlock."""
    with tenant([team_id]):
        rows.lock_namespaces(team_id, namespaces)
