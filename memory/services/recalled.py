"""The texts that were put before a run's models: what its curation must not take for news."""

from uuid import UUID

from accounts.tenancy import tenant
from memory.logic.texts import texts_in
from memory.models import Read, Revision


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
    texts = [text for pair in pairs if pair in values for text in texts_in(values[pair])]
    return tuple(dict.fromkeys(texts))
