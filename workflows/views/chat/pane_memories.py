"""The memories under the ended turns of the chat pane; a live turn gets them from its events."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.functional import Promise

from accounts.principals import Principal
from workflows import memory_app
from workflows.engine.runtime.events import (
    MemoryEnded,
    MemoryKeptOut,
    MemoryRecalled,
    MemoryWritten,
)
from workflows.models import Run, RunEvent
from workflows.services.chat.wishes_to_forget import WISH_EVENTS, takes_out
from workflows.services.runs.descendants import list_descendants
from workflows.views.request_context import parse_id_or_none
from workflows.views.runs.memory.context import Pauses, find_pauses
from workflows.views.runs.memory.recalled import (
    find_reason,
    is_always,
    is_recent,
    list_profile_ids,
    read_valid_until,
    set_reason,
)
from workflows.views.value_text import format_entry


_MEMORY_EVENTS = (
    MemoryRecalled.name,
    MemoryWritten.name,
    MemoryEnded.name,
    MemoryKeptOut.name,
)


@dataclass(frozen=True, slots=True)
class PaneMemory:
    """A memory of a turn; ``percent`` is how well it matched the query, if there was one."""

    text: str
    entry_id: UUID | None
    percent: int | None = None
    reason: str | Promise = ""  # why it was recalled, unless it matches the query
    valid_until: datetime | None = None


@dataclass(slots=True)
class PaneMemories:
    """The memories that a turn recalled, each once, those that it stored, and those that no longer hold since."""

    recalled: dict[str, PaneMemory] = field(default_factory=dict)
    stored: list[PaneMemory] = field(default_factory=list)
    ended: list[PaneMemory] = field(default_factory=list)
    wishes: list[RunEvent] = field(default_factory=list)  # of what was taken out of memory
    profile_ids: set[str] = field(default_factory=set)
    events: list[RunEvent] = field(default_factory=list)  # that may say that memory was paused

    @property
    def is_empty(self) -> bool:
        """Return whether the turn recalled and remembered nothing, so that there is nothing to explain."""
        return not (self.recalled or self.stored or self.ended)

    @property
    def pauses(self) -> Pauses | None:
        return find_pauses(self.events)


def load_pane_memories(principal: Principal, runs: Sequence[Run]) -> dict[UUID, PaneMemories]:
    """Load the memories of all ended runs and their sub-workflows in one query; the caller may see the runs."""
    ended = [run for run in runs if run.has_ended]
    if not ended or not memory_app.is_on():
        return {}
    roots = {each.run.pk: each.root for each in list_descendants(principal, ended)}
    events = RunEvent.objects.visible_to(principal).filter(
        run__in=[*(run.pk for run in ended), *roots], name__in=(*_MEMORY_EVENTS, *WISH_EVENTS)
    )
    memories: dict[UUID, PaneMemories] = defaultdict(PaneMemories)
    for event in events.order_by("run_id", "seq"):
        if event.name not in WISH_EVENTS or event.run_id not in roots:
            _add_event(memories[roots.get(event.run_id, event.run_id)], event)
    return memories


def _add_event(memories: PaneMemories, event: RunEvent) -> None:
    if takes_out(event):
        memories.wishes.append(event)
    if event.name in WISH_EVENTS:
        return
    if event.name == MemoryWritten.name:
        if event.data.get("scope") == "run":  # a note, which is deleted when the run ends
            return
        memories.stored.append(_build_memory(event.data["entry"], event))
        return
    if event.name == MemoryEnded.name:
        memories.ended += [_build_memory(entry, event) for entry in event.data["entries"]]
        return
    memories.events.append(event)
    memories.profile_ids |= list_profile_ids([event])
    for recalled in event.data.get("entries", ()):
        entry = set_reason(recalled, memories.profile_ids)
        memory = _build_memory(entry, event)
        earlier = memories.recalled.get(str(entry.get("id")))
        if earlier is None or earlier.percent is None or is_always(entry):
            memories.recalled[str(entry.get("id") or len(memories.recalled))] = memory


def _build_memory(entry: Mapping[str, Any], event: RunEvent) -> PaneMemory:  # Any: JSON
    score = entry.get("score")
    return PaneMemory(
        format_entry(entry, memory_app.format_value),
        parse_id_or_none(entry.get("id")),
        None if score is None else round(score * 100),
        find_reason(entry, is_recent=is_recent(entry, event)),
        valid_until=read_valid_until(entry),
    )
