"""Labels for the details of audit entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.services.trail import AuditLine, FieldChange


# Labels of the details of actions; names without a label are shown unchanged.
NAMES: Final[Mapping[str, str | Promise]] = {
    "bytes": _("Bytes"),
    "category": _("Category"),
    "count": _("Count"),
    "entries": _("Entries"),
    "entry": pgettext_lazy("of memory", "Entry"),
    "error": _("Error"),
    "format": _("Format"),
    "found": _("Results"),
    "ingress": _("Content filter action"),
    "key": _("Key"),
    "keys": pgettext_lazy("of memory", "Keys"),
    "kind": _("Kind"),
    "minutes": pgettext_lazy("of memory", "Duration (minutes)"),
    "namespace": _("Namespace"),
    "node": _("Node"),
    "op": _("Attempted action"),
    "overwritten": _("Overwritten"),
    "provider": _("Provider"),
    "query": _("Query"),
    "reason": _("Reason"),
    "reasons": _("Content filter findings"),
    "role": _("Role"),
    "run": _("Run"),
    "scope": _("Scope"),
    "tier": _("Tier"),
    "ttl": _("Expires after (seconds)"),
    "until": _("Until"),
    "why": _("Reason"),
}


# Labels of the values that the memory gateway records.
VALUES: Final[Mapping[str, Mapping[str, str | Promise]]] = {
    "ingress": {
        "admit": _("accepted"),
        "merge": _("counted as evidence for an existing memory"),
        "quarantine": _("held for review"),
        "refuse": _("rejected"),
    },
    "reasons": {
        "too_short": _("too short to mean anything"),
        "duplicate": _("duplicate of an existing memory"),
        "secret": _("contained a secret, which was removed"),
        "too_large": _("too large for a memory"),
        "gives_orders": _("looks like a prompt injection"),
        "rejected_before": _("rejected before"),
        "from_outside": _("from an external source"),
    },
}


@dataclass(frozen=True, slots=True)
class DetailRow:
    """A detail with its raw ``name`` and its ``label``."""

    name: str
    label: str | Promise
    value: str


@dataclass(frozen=True, slots=True)
class DisplayedLine:
    line: AuditLine
    changes: Sequence[tuple[str | Promise, str, str]]
    rest: Sequence[DetailRow]


def present_line(line: AuditLine) -> DisplayedLine:
    """Present a line: a change between revisions is one row, and changed fields form a table."""
    steps = [change for change in line.changes if _is_revision(line, change)]
    changes = [
        (NAMES.get(change.field, change.field), change.was, change.now)
        for change in line.changes
        if change not in steps
    ]
    rest = [DetailRow("", _("Revision"), f"{change.was} → {change.now}") for change in steps]
    rest += [
        DetailRow(name, NAMES.get(name, name), _format_detail(line, name, value))
        for name, value in line.rest.items()
    ]
    return DisplayedLine(line, changes, rest)


def _format_detail(line: AuditLine, name: str, value: str) -> str:
    """Return the value; words of a closed list, or lists of such words, are replaced by their labels."""
    words, raw_value = VALUES.get(name), line.entry.detail.get(name)
    if words is None or raw_value is None:
        return value
    values = raw_value if isinstance(raw_value, list) else [raw_value]
    return ", ".join(str(words.get(str(item), item)) for item in values) or "–"


def _is_revision(line: AuditLine, change: FieldChange) -> bool:
    """Return whether a change is a revision number: only memory's gateway records those before and after."""
    numbers = {change.was, change.now} - {"–"}
    is_memory = not change.field and line.entry.action.startswith("memory.")
    return is_memory and all(map(str.isdecimal, numbers))
