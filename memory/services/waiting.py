"""How much waits for a person in the namespaces somebody may look into."""

from django.db.models import Q

from accounts.tenancy import tenant
from memory.core.records import Tier
from memory.logic.proposals import State
from memory.logic.tiers import Move
from memory.models import Entry, Namespace, Proposal
from memory.services.caller import MemoryCaller


# In quarantine, and nobody has decided about it.
HELD = Q(tier=Tier.QUARANTINE.value, deleted_at=None) & ~Q(metadata__review=str(Move.REJECT))


def count_waiting(caller: MemoryCaller) -> int:
    """Proposals, and memories in quarantine."""
    with tenant([caller.team_id]):
        seen = Namespace.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        ids = list(seen.values_list("id", flat=True))
        open_ones = Proposal.objects.unscoped().filter(namespace_id__in=ids, state=State.OPEN)
        held = Entry.objects.unscoped().filter(HELD, namespace_id__in=ids)
        return open_ones.count() + held.count()
