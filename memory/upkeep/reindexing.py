"""Rebuilds the search index of a team, after a change of the tokenizer or to repair the index."""

from uuid import UUID

from django.db import connection

from accounts.tenancy import tenant
from memory.models import Namespace
from memory.providers.postgres.rebuilding import rebuild_postings


def reindex_team(team_id: UUID) -> int:
    """Rebuild the index of each namespace in its own transaction, and return the number of entries."""
    with tenant([team_id]):
        rows = Namespace.objects.unscoped().filter(team_id=team_id).order_by("id")
        namespaces = list(rows.values_list("id", flat=True))
    return sum(_reindex(team_id, namespace_id) for namespace_id in namespaces)


def _reindex(team_id: UUID, namespace_id: UUID) -> int:
    with tenant([team_id]):
        return rebuild_postings(connection, team_id, namespace_id)
