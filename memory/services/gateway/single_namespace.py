"""Finds the one namespace that several entries are in."""

from collections.abc import Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from memory.core.errors import InvalidInput, NotFound
from memory.models import Entry
from memory.services.gateway.caller import MemoryCaller


def get_shared_namespace(caller: MemoryCaller, entry_ids: Sequence[UUID | str]) -> str:
    """Return the namespace by one query for all entries. Whether the caller may see it is checked by the gateway
    afterwards.
    """
    try:
        ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    except ValueError:
        raise NotFound(_("Memory not found.")) from None
    with tenant([caller.team_id]):
        entries = Entry.objects.unscoped().filter(team_id=caller.team_id, pk__in=ids)
        namespaces = list(entries.values_list("namespace__text", flat=True))
    if len(namespaces) != len(ids):
        raise NotFound(_("Memory not found."))
    if len(set(namespaces)) != 1:
        raise InvalidInput("entries: must all be in one namespace.")
    return namespaces[0]
