"""Other effects of a run on memory: memories that it forgot, that no longer hold, and that the gate rejected or quarantined."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from workflows.engine.runtime.events import (
    MemoryEnded,
    MemoryForgetAsked,
    MemoryForgotten,
    MemoryKeptOut,
    MemoryWritten,
)
from workflows.models import Run, RunEvent
from workflows.views.runs.memory.context import load_step_titles
from workflows.views.runs.memory.recalled import SCOPE_LABELS, build_entry_url, name_key
from workflows.views.value_text import format_value


# Labels of the gate's reasons (memory.logic.entries.ingress), except the pause, which is shown elsewhere.
REASONS: Final[Mapping[str, Promise]] = {
    "too_short": _("Too short"),
    "duplicate": _("Already stored"),
    "secret": _("Contains a secret"),
    "too_large": _("Too large"),
    "gives_orders": _("Looks like instructions"),
    "rejected_before": _("Previously rejected"),
    "from_outside": _("From the web or a tool"),
}
PAUSED: Final = "paused"
_WISHES: Final = (MemoryForgotten.name, MemoryForgetAsked.name)


@dataclass(frozen=True, slots=True)
class ForgottenMemory:
    """Memories that a run forgot; ``target`` is their key, the metadata filter, or what they said."""

    title: str
    scope_label: str | Promise
    target: str
    count: int


@dataclass(frozen=True, slots=True)
class FormerMemory:
    """A memory that no longer holds since a run; ``successor`` took its place, if anything did."""

    title: str
    scope_label: str | Promise
    value: str
    successor: str
    url: str


@dataclass(frozen=True, slots=True)
class RejectedMemory:
    """A memory that the gate did not accept; ``url`` is its page if it is in quarantine."""

    title: str
    scope_label: str | Promise
    key: str
    reasons: tuple[str | Promise, ...]
    url: str

    @property
    def name(self) -> str:
        return name_key(self.key)


def build_other_changes(
    principal: Principal, run: Run, events: Iterable[RunEvent]
) -> dict[str, Any]:
    """Build the context of forgotten, former and rejected memories; titles are loaded only if there are any."""
    changes = [
        event
        for event in events
        if event.name in (*_WISHES, MemoryKeptOut.name, MemoryEnded.name)
        or event.data.get("replaced")
    ]
    titles = load_step_titles(principal, run) if changes else {}
    forgotten = [
        _build_forgotten(event.data, titles)
        for event in changes
        if event.name == MemoryForgotten.name and event.data.get("count")
    ]
    suggestions = [
        _build_forgotten({**event.data, "count": len(event.data.get("entries") or ())}, titles)
        for event in changes
        if event.name == MemoryForgetAsked.name
    ]
    rejected = [
        _build_rejected(event.data, titles)
        for event in changes
        if event.name == MemoryKeptOut.name and PAUSED not in event.data.get("reasons", ())
    ]
    former = [row for event in changes for row in _list_former(event, titles)]
    return {
        "forgotten": forgotten,
        "to_forget": suggestions,
        "former": former,
        "rejected": rejected,
    }


def _list_former(event: RunEvent, titles: Mapping[str, str]) -> Iterator[FormerMemory]:
    data = event.data
    is_write = event.name == MemoryWritten.name
    entries = data.get("replaced") if is_write else data.get("entries")
    successor = format_value(data["entry"].get("value")) if is_write else ""
    for entry in entries or () if event.name in (MemoryWritten.name, MemoryEnded.name) else ():
        yield FormerMemory(
            _get_title(data, titles), _get_scope_label(data), format_value(entry.get("value")),
            successor, build_entry_url(str(entry.get("id") or "")),
        )  # fmt: skip


def _build_forgotten(data: Mapping[str, Any], titles: Mapping[str, str]) -> ForgottenMemory:
    values = [format_value(entry.get("value")) for entry in data.get("entries") or ()]
    filter_text = format_value(data["filter"]) if data.get("filter") else ""
    target = data.get("key") or filter_text or " · ".join(values)
    return ForgottenMemory(
        _get_title(data, titles), _get_scope_label(data), str(target), int(data["count"])
    )


def _build_rejected(data: Mapping[str, Any], titles: Mapping[str, str]) -> RejectedMemory:
    reasons = tuple(REASONS.get(reason, reason) for reason in data.get("reasons", ()))
    url = build_entry_url(str(data.get("entry") or ""))
    return RejectedMemory(
        _get_title(data, titles), _get_scope_label(data), str(data.get("key", "")), reasons, url
    )


def _get_title(data: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    node = str(data.get("node", ""))
    return titles.get(node) or node


def _get_scope_label(data: Mapping[str, Any]) -> str | Promise:
    scope = str(data.get("scope", ""))
    return SCOPE_LABELS.get(scope, scope)
