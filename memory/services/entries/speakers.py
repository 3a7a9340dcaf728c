"""Who told memory that people share what it knows: what one of them says about themselves is not about the others."""

from collections.abc import Sequence
from uuid import UUID

from memory.core.records import MemoryEntry
from memory.core.scope_kinds import SeenBy
from memory.host import get_host
from memory.services.gateway.namespace_access import NamespaceAccess


def find_of_others(access: NamespaceAccess, entries: Sequence[MemoryEntry]) -> frozenset[str]:
    """Return the ids of the entries that runs for somebody else stored. Of entries without a run nobody can tell."""
    person = str(access.caller.identity.get("user_id") or "")
    is_shared = access.external is None and access.target.parsed.seen_by is not SeenBy.PERSON
    return list_of_others(access.caller.team_id, person, entries) if is_shared else frozenset()


def list_of_others(team_id: UUID, person: str, entries: Sequence[MemoryEntry]) -> frozenset[str]:
    run_ids = {entry.source.run_id for entry in entries if entry.source.run_id}
    if not run_ids or not person:
        return frozenset()
    subjects = get_host().list_subjects(team_id, run_ids)
    return frozenset(
        entry.id for entry in entries if subjects.get(entry.source.run_id, person) != person
    )
