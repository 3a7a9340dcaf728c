"""The texts that were put before a run's models, and those it stored: what its curation must not take for news."""

from uuid import UUID

from accounts.tenancy import tenant
from memory.core.records import Tier
from memory.logic.entries.duplicates import NEVER_MERGED
from memory.logic.entries.texts import list_texts
from memory.models import Read, Revision
from memory.models.entries import Operation


def recalled_in(team_id: UUID, run_id: str) -> tuple[str, ...]:
    """As they were when they were read; what was forgotten or changed since is among them."""
    with tenant([team_id]):
        read = Read.objects.unscoped().filter(team_id=team_id, run_id=run_id).order_by("at", "id")
        pairs = list(dict.fromkeys(read.values_list("entry_id", "revision")))
        made = Revision.objects.unscoped().filter(
            team_id=team_id, entry_id__in={entry for entry, _number in pairs}
        )
        values = {
            (entry, number): value
            for entry, number, value in made.values_list("entry_id", "number", "value")
        }
    texts = [text for pair in pairs if pair in values for text in list_texts(values[pair])]
    return tuple(dict.fromkeys(texts))


def written_in(team_id: UUID, run_id: str, namespace: str) -> tuple[str, ...]:
    """What its nodes keep there for good, or put before a person there.

    Not what a chat says, which is kept as it is said, nor what is over tomorrow: that is to be learnt from.
    """
    with tenant([team_id]):
        made = Revision.objects.unscoped().filter(
            team_id=team_id,
            run_id=run_id,
            operation=Operation.STORE,
            entry__namespace__text=namespace,
            expires_at=None,
        )
        made = made.exclude(category__in=NEVER_MERGED).exclude(tier=Tier.WORKING)
        values = list(made.order_by("at", "id").values_list("value", flat=True))
    return tuple(dict.fromkeys(text for value in values for text in list_texts(value)))
