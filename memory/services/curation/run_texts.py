"""The strings that a run recalled or stored, so that its curation doesn't treat them as new."""

from uuid import UUID

from accounts.tenancy import tenant
from memory.core.records import Tier
from memory.logic.entries.duplicates import NEVER_MERGED
from memory.logic.entries.texts import list_texts
from memory.models import Read, Revision
from memory.models.entries import Operation


def list_recalled_texts(team_id: UUID, run_id: str) -> tuple[str, ...]:
    """Return the texts as they were when the run read them, even if they were changed or forgotten since."""
    with tenant([team_id]):
        reads = Read.objects.unscoped().filter(team_id=team_id, run_id=run_id).order_by("at", "id")
        read_revisions = dict.fromkeys(reads.values_list("entry_id", "revision"))
        entry_ids = {entry_id for entry_id, _number in read_revisions}
        revisions = Revision.objects.unscoped().filter(team_id=team_id, entry_id__in=entry_ids)
        columns = revisions.values_list("entry_id", "number", "value")
        values = {(entry_id, number): value for entry_id, number, value in columns}
    texts = [text for pair in read_revisions if pair in values for text in list_texts(values[pair])]
    return tuple(dict.fromkeys(texts))


def list_stored_texts(team_id: UUID, run_id: str, namespace: str) -> tuple[str, ...]:
    """Return the texts that the run's nodes stored in the namespace without expiry.

    Messages of a conversation and texts that expire are left out, because the curation learns from them.
    """
    with tenant([team_id]):
        revisions = Revision.objects.unscoped().filter(
            team_id=team_id,
            run_id=run_id,
            operation=Operation.STORE,
            entry__namespace__text=namespace,
            expires_at=None,
        )
        revisions = revisions.exclude(category__in=NEVER_MERGED).exclude(tier=Tier.WORKING)
        values = list(revisions.order_by("at", "id").values_list("value", flat=True))
    return tuple(dict.fromkeys(text for value in values for text in list_texts(value)))
