"""A template tag that marks entries in lists that recall leaves out because they don't hold."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone

from memory.core.records import MemoryEntry
from memory.models import Entry


register = template.Library()


@register.inclusion_tag("memory/_validity_mark.html")
def validity_mark(entry: Entry | MemoryEntry, at: datetime | None = None) -> dict[str, Any]:
    """Show until when a former entry held, or from when on another will hold: now, or as seen at a moment."""
    moment = at or timezone.now()
    is_former = entry.valid_until is not None and entry.valid_until <= moment
    is_future = entry.valid_from is not None and entry.valid_from > moment
    return {
        "until": entry.valid_until if is_former else None,
        "since": entry.valid_from if is_future else None,
    }
