"""Count the entries that other providers have, which the counts in PostgreSQL leave out."""

from collections.abc import Iterable
from typing import Final

from django.utils.translation import gettext as _

from memory.core.errors import MemoryFault
from memory.core.policy import NO_LIMITS
from memory.core.scopes import parse_namespace
from memory.models import Namespace
from memory.routing import find_external_provider


MAX_COUNTED: Final = 100  # namespaces, each of which is a call of its provider


def add_external_usage(rows: Iterable[Namespace]) -> str:
    """Set the counts of those namespaces that another provider has. Return why some aren't counted, or an empty string.

    The caller may view the namespaces. Nothing is saved.
    """
    for row in rows:
        external = find_external_provider(row.team_id, parse_namespace(row.text), NO_LIMITS)
        if external is None:
            continue
        try:
            usage = external.provider.measure(row.text)
        except MemoryFault:
            message = _("%(name)s doesn't answer, so that not all entries in it are counted.")
            return message % {"name": external.name}
        row.entry_count, row.byte_count = usage.entries, usage.size or 0
    return ""
