"""The one namespace that several entries are in."""

from collections.abc import Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from memory.core.errors import InvalidInput, NotFound
from memory.models import Entry
from memory.services.caller import MemoryCaller


def shared_place(caller: MemoryCaller, entry_ids: Sequence[UUID | str]) -> str:
    """By one question, however many they are. Whether the caller may know is the door's next one."""
    try:
        wanted = {UUID(str(one)) for one in entry_ids}
    except ValueError:
        raise NotFound(_("There is no such memory.")) from None
    with tenant([caller.team_id]):
        known = Entry.objects.unscoped().filter(team_id=caller.team_id, pk__in=wanted)
        places = list(known.values_list("namespace__text", flat=True))
    if len(places) != len(wanted):
        raise NotFound(_("There is no such memory."))
    if len(set(places)) != 1:
        raise InvalidInput("entries: all must be in one namespace.")
    return places[0]
