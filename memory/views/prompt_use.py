"""Set whether an entry enters prompts, from the pages that show it."""

from django.utils.translation import gettext as _

from memory import services
from memory.core.errors import AlreadyExists, NotFound
from memory.core.records import PromptUse
from memory.models import Entry
from memory.personal import CHOSEN_REASON
from memory.services.gateway.caller import MemoryCaller
from memory.templatetags.memory_prompt_use import CHOICES


def set_prompt_use(caller: MemoryCaller, row: Entry, text: str) -> str:
    """Set it to the choice that was sent, and return what is wrong, or an empty text."""
    choice = next((use for use in CHOICES if use == text), None)
    if choice is None:
        return _("use: Choose always, only when relevant, or never.")
    if row.is_forgotten:
        return _("This memory was forgotten.")
    if PromptUse(row.prompt_use) is choice:
        return ""
    try:
        services.edit(
            caller,
            entry_id=row.pk,
            if_revision=row.revision,
            prompt_use=choice,
            reason=CHOSEN_REASON,
        )
    except AlreadyExists:
        return _("This memory was changed in the meantime. This is the current version.")
    except NotFound as fault:
        return str(fault)
    return ""
