"""Count the memories of an erasure by what they are to the person."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from django.db.models import Count, Q

from memory.models import Entry
from memory.models.namespaces import ScopeChoice


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """The numbers of a person's memories; each memory is counted once.

    ``current`` are those that Memory lists. The other ones are forgotten, are of the person's test users, or belong to
    conversations and runs.
    """

    current: int = 0
    forgotten: int = 0
    of_test_users: int = 0
    of_conversations: int = 0

    @property
    def total(self) -> int:
        return sum(asdict(self).values())


def count_memories(namespace_ids: Sequence[UUID]) -> MemoryCounts:
    """Count the memories in these namespaces of one person."""
    is_present = Q(deleted_at=None)
    is_of_test_user = Q(namespace__persona_of__isnull=False)
    is_of_person = Q(namespace__scope=ScopeChoice.USER)
    entries = Entry.objects.unscoped().filter(namespace__in=namespace_ids)
    counts = entries.aggregate(
        current=Count("pk", filter=is_present & is_of_person & ~is_of_test_user),
        forgotten=Count("pk", filter=~is_present),
        of_test_users=Count("pk", filter=is_present & is_of_test_user),
        of_conversations=Count("pk", filter=is_present & ~is_of_person & ~is_of_test_user),
    )
    return MemoryCounts(**counts)
