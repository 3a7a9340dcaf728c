"""Makes all postings anew: after a change of the tokenizer, or when somebody has lost trust in them."""

from uuid import UUID

from django.db import connection

from accounts.tenancy import tenant
from memory.models import Namespace
from memory.providers.postgres.rebuilding import rebuild


def reindex_team(team_id: UUID) -> int:
    """A namespace a transaction, under its lock; safe to stop, and to run while people work."""
    with tenant([team_id]):
        namespaces = list(
            Namespace.objects.unscoped()
            .filter(team_id=team_id)
            .order_by("id")
            .values_list("id", flat=True)
        )
    return sum(_reindex(team_id, namespace_id) for namespace_id in namespaces)


def _reindex(team_id: UUID, namespace_id: UUID) -> int:
    with tenant([team_id]):
        return rebuild(connection, team_id, namespace_id)
