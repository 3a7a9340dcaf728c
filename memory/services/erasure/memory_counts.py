"""Count the memories of an erasure by what they are to the person."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final
from uuid import UUID

from django.db.models import Count, Q

from memory.host import get_host
from memory.models import Entry, Read
from memory.models.namespaces import ScopeChoice


SHOWN_TO_OTHERS: Final = "memory_read_by_others"  # among what is kept


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


def count_runs_shown_to(
    team_id: UUID, erased_ids: Sequence[UUID], entries: Iterable[Entry], own_run_ids: Iterable[str]
) -> int:
    """Count the runs for others that recalled what is erased. Their steps keep what they were shown as long as they exist."""
    erased = Q(entry__namespace__in=list(erased_ids)) | Q(entry__in=[row.pk for row in entries])
    reads = Read.objects.unscoped().filter(erased, team_id=team_id).exclude(run_id="")
    run_ids = set(reads.order_by().values_list("run_id", flat=True)).difference(own_run_ids)
    return len(get_host().list_subjects(team_id, sorted(run_ids)))
