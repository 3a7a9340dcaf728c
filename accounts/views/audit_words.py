"""What stands in an entry of the audit trail, under names that people read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.services.trail import Change, Line


# What actions write down beside themselves; a name that isn't here is shown as it was written.
NAMES: Final[Mapping[str, str | Promise]] = {
    "bytes": _("Bytes"),
    "category": _("Category"),
    "count": _("How many"),
    "entries": _("Entries"),
    "entry": pgettext_lazy("of memory", "Entry"),
    "error": _("Error"),
    "format": _("Format"),
    "found": _("Found"),
    "ingress": _("What the gate did"),
    "key": _("Key"),
    "keys": pgettext_lazy("of memory", "Keys"),
    "kind": _("Kind"),
    "minutes": pgettext_lazy("of memory", "Minutes"),
    "namespace": _("Namespace"),
    "node": _("Node"),
    "op": _("What was tried"),
    "overwritten": _("Overwritten"),
    "provider": _("Provider"),
    "query": _("Question"),
    "reason": _("Reason"),
    "reasons": _("What the gate found"),
    "role": _("Role"),
    "run": _("Run"),
    "scope": _("Scope"),
    "tier": _("Tier"),
    "ttl": _("Seconds until it ends"),
    "until": _("Until"),
    "why": _("Why"),
}


# What memory's gate writes down as words of its own.
VALUES: Final[Mapping[str, Mapping[str, str | Promise]]] = {
    "ingress": {
        "admit": _("let in"),
        "merge": _("taken as one more proof of what is there"),
        "quarantine": _("held for a person"),
        "refuse": _("refused"),
    },
    "reasons": {
        "too_short": _("too short to mean anything"),
        "duplicate": _("says what is there already"),
        "secret": _("held a secret, which was taken out"),
        "too_large": _("larger than a memory should be"),
        "gives_orders": _("reads like an order to the assistant"),
        "rejected_before": _("was rejected before"),
        "from_outside": _("comes from outside"),
    },
}


@dataclass(frozen=True, slots=True)
class Named:
    """``name`` as it was written, ``label`` as it is read."""

    name: str
    label: str | Promise
    value: str


@dataclass(frozen=True, slots=True)
class Shown:
    line: Line
    changes: Sequence[tuple[str | Promise, str, str]]
    rest: Sequence[Named]


def shown(line: Line) -> Shown:
    """A step from one revision to the next is one fact; what was changed field by field, a table."""
    steps = [one for one in line.changes if _is_revision(line, one)]
    changes = [
        (NAMES.get(one.field, one.field), one.was, one.now)
        for one in line.changes
        if one not in steps
    ]
    rest = [Named("", _("Revision"), f"{one.was} → {one.now}") for one in steps]
    rest += [
        Named(name, NAMES.get(name, name), _in_words(line, name, value))
        for name, value in line.rest.items()
    ]
    return Shown(line, changes, rest)


def _in_words(line: Line, name: str, value: str) -> str:
    """As it was written, but for what is one word of a few, or a list of such."""
    words, written = VALUES.get(name), line.entry.detail.get(name)
    if words is None or written is None:
        return value
    told = written if isinstance(written, list) else [written]
    return ", ".join(str(words.get(str(one), one)) for one in told) or "–"


def _is_revision(line: Line, change: Change) -> bool:
    """Memory's doors write the numbers of revisions before and after, and nothing else there."""
    numbers = {change.was, change.now} - {"–"}
    is_memory = not change.field and line.entry.action.startswith("memory.")
    return is_memory and all(map(str.isdecimal, numbers))
