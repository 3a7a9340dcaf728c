"""What an erasure and its preview count: a few lines for people, and the tables for operators."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from memory.services.erasure.memory_counts import SHOWN_TO_OTHERS


class ErasureLine(NamedTuple):
    """A line of a preview or a receipt. ``notes`` say more of what people read; ``name`` is that of a table."""

    label: str | Promise
    erased_count: int
    remaining_count: int
    name: str = ""
    notes: tuple[str, ...] = ()


# The labels of the tables, in the order of a receipt.
TABLE_LABELS: dict[str, str | Promise] = {
    "memory_entry": _("Memories"),
    "memory_revision": _("Revision history"),
    "memory_read": _("Recall log"),
    "memory_change": _("Bulk changes"),
    "memory_posting": _("Search index"),
    "memory_embedding": _("Embeddings"),
    "memory_group": _("Memory groups"),
    "memory_proposal": _("Proposals"),
    "memory_curation": _("Learned from runs"),
    "memory_emergencyaccess": _("Emergency access"),
    "memory_namespace": _("Namespaces"),
    "memory_wikijob": _("Upkeep of knowledge"),
    "memory_documentupload": _("Documents uploaded into knowledge bases"),
    "memory_entry_of_runs": _("Shared memories that runs for this person wrote"),
    "memory_runperson": _("Notes that these runs were for this person"),
    "memory_source": _("Sources of knowledge pages"),
    "memory_page": _("Knowledge pages without these sources"),
    "sharing": _("Shares with members"),
    "elsewhere": _("Stored by other providers"),
    "workflows_conversation": _("Conversations"),
    "workflows_message": _("Messages"),
    "workflows_task": _("Tasks"),
    "workflows_storedfile": _("Files"),
    "workflows_run": _("Runs"),
    "workflows_step": _("Run steps"),
    "workflows_runcommit": _("Run events"),
    "workflows_runpartial": _("Unfinished replies"),
    "workflows_steppart": _("Calls of agents"),
    "workflows_runwait": _("Questions to people"),
    "workflows_idempotencykey": _("Stored replies to API requests"),
    "workflows_wouldbe": _("Memory of dry runs"),
    "workflows_feedback": _("Feedback"),
    "workflows_datacase": _("Cases of datasets and tests"),
    "workflows_pin": _("Pinned outputs"),
    "workflows_trigger": _("Test calls of webhooks"),
    "accounts_auditperson": _("Audit trail pseudonyms"),
}

# What is kept because it belongs to others, by the tables of ``Host.count_kept``.
KEPT_LABELS: dict[str, str | Promise] = {
    "workflows_runwait": _("Answers to questions of other people’s runs"),
    "workflows_comment": _("Comments for the team"),
    "workflows_run": _("Runs for others that their runs started by calling this installation"),
    SHOWN_TO_OTHERS: _("Runs for others that were shown these memories"),
}

# The lines for people: the label, and the tables whose rows a person would count as one of these things.
_SUMMARY: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    (_("Memories"), ("memory_entry", "elsewhere")),
    (_("Memories that others see, too"), ("memory_entry_of_runs",)),
    (_("Conversations"), ("workflows_conversation",)),
    (_("Runs"), ("workflows_run",)),
    (_("Questions to people"), ("workflows_runwait",)),
    (_("Tasks"), ("workflows_task",)),
    (_("Files"), ("workflows_storedfile", "memory_documentupload")),
)

# What the memories are, by the fields of ``MemoryCounts``; the current ones need no note.
_MEMORY_NOTES = (
    ("forgotten", ngettext_lazy("%(count)d of them forgotten", "%(count)d of them forgotten", "count")),
    ("of_test_users", ngettext_lazy("%(count)d of test users", "%(count)d of test users", "count")),
    (
        "of_conversations",
        ngettext_lazy("%(count)d of conversations and runs", "%(count)d of conversations and runs", "count"),
    ),
)  # fmt: skip
_MESSAGES = ngettext_lazy("%(count)d message", "%(count)d messages", "count")


def list_tables(tables: Mapping[str, int], remaining: Mapping[str, int]) -> list[ErasureLine]:
    """Return a line for each table with its numbers of erased and remaining rows."""
    names = [*TABLE_LABELS, *sorted(set(tables) - set(TABLE_LABELS))]
    return [
        ErasureLine(TABLE_LABELS.get(name, name), tables[name], remaining.get(name, 0), name)
        for name in names
        if name in tables
    ]


def list_kept(counts: Mapping[str, int]) -> list[tuple[str | Promise, int]]:
    """Return the labels and numbers of what the person wrote that belongs to others."""
    return [(label, counts[name]) for name, label in KEPT_LABELS.items() if counts.get(name)]


def summarize(
    tables: Mapping[str, int], remaining: Mapping[str, int], memories: Mapping[str, int]
) -> list[ErasureLine]:
    """Return the lines for people, without those that count nothing; ``memories`` has fields of ``MemoryCounts``."""
    notes = {
        "memory_entry": _list_notes(memories),
        "workflows_conversation": _note(_MESSAGES, tables.get("workflows_message", 0)),
    }
    lines = (
        ErasureLine(
            label,
            sum(tables.get(name, 0) for name in names),
            sum(remaining.get(name, 0) for name in names),
            notes=notes.get(names[0], ()),
        )
        for label, names in _SUMMARY
    )
    return [line for line in lines if line.erased_count or line.remaining_count]


def _list_notes(memories: Mapping[str, int]) -> tuple[str, ...]:
    return sum((_note(text, memories.get(name, 0)) for name, text in _MEMORY_NOTES), ())


def _note(
    text: Any, count: int
) -> tuple[str, ...]:  # Any: Django's type of lazy plurals has no ``%``
    return (text % {"count": count},) if count else ()
