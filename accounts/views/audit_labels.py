"""Adds readable labels to the details of audit entries, for the page of the audit trail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.services.trail import AuditLine, FieldChange


# Labels of the details of actions; names without a label are shown unchanged.
DETAIL_LABELS: Final[Mapping[str, str | Promise]] = {
    "bytes": _("Bytes"),
    "category": _("Category"),
    "count": _("Count"),
    "entries": _("Entries"),
    "entry": pgettext_lazy("of memory", "Entry"),
    "error": _("Error"),
    "format": _("Format"),
    "found": _("Results"),
    "has_reason": _("Reason given"),
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
VALUE_LABELS: Final[Mapping[str, Mapping[str, str | Promise]]] = {
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
    """A detail of an entry: its name in the database, its label for the page, and its value."""

    name: str
    label: str | Promise
    value: str


@dataclass(frozen=True, slots=True)
class DisplayedLine:
    """A line with its changes (label, value before, value after) and its other details."""

    line: AuditLine
    changes: Sequence[tuple[str | Promise, str, str]]
    rest: Sequence[DetailRow]


def present_line(line: AuditLine) -> DisplayedLine:
    """Sort the details of a line into changed fields, which form a table, and rows, such as a new revision number."""
    revisions = [change for change in line.changes if _is_revision(line, change)]
    changes = [
        (DETAIL_LABELS.get(change.field, change.field), change.was, change.now)
        for change in line.changes
        if change not in revisions
    ]
    rest = [DetailRow("", _("Revision"), f"{change.was} → {change.now}") for change in revisions]
    rest += [
        DetailRow(name, DETAIL_LABELS.get(name, name), _format_detail(line, name, value))
        for name, value in line.rest.items()
    ]
    return DisplayedLine(line, changes, rest)


def _format_detail(line: AuditLine, name: str, value: str) -> str:
    """Return a detail's value. If VALUE_LABELS has labels for it, they replace the raw value or the items of a list."""
    labels, raw_value = VALUE_LABELS.get(name), line.entry.detail.get(name)
    if labels is None or raw_value is None:
        return value
    items = raw_value if isinstance(raw_value, list) else [raw_value]
    return ", ".join(str(labels.get(str(item), item)) for item in items) or "–"


def _is_revision(line: AuditLine, change: FieldChange) -> bool:
    """Return whether a change is that of a revision number, which only actions on memories record without a field."""
    numbers = {change.was, change.now} - {"–"}
    is_memory = not change.field and line.entry.action.startswith("memory.")
    return is_memory and all(map(str.isdecimal, numbers))
