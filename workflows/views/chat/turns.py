"""The turns of a conversation for its person: the answer, and the memories that it used and stored."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from workflows import memory_app, selectors
from workflows.engine.runtime.events import MemoryKeptOut, MemoryRecalled, MemoryWritten
from workflows.models import Conversation, Run, RunEvent, Workflow
from workflows.views.chat.failure_texts import (
    describe_failure,
    list_failure_texts,
    load_failed_titles,
)
from workflows.views.request_context import parse_id_or_none, parse_valid_ids


MAX_TURNS: Final = 50
MAX_USED: Final = 8
MEMORY_EVENTS: Final = (MemoryRecalled.name, MemoryWritten.name, MemoryKeptOut.name)

# Memory of the conversation or of the run is not reported to its person.
CONVERSATION_SCOPES: Final = frozenset({"conversation", "run", "run_metadata"})

SHARED_LABELS: Final[Mapping[str, Promise]] = {
    "global": _("from shared memory"),
    "workflow": _("from this workflow's group memory"),
}


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A memory that was used; ``stated_at`` and ``url`` say when and in which conversation it was stated."""

    text: str
    stated_at: datetime | None = None
    url: str = ""
    shared: str | Promise = ""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory that was stored; ``current`` is its current state, if the person can forget it."""

    text: str
    current: "memory_app.PersonalEntry | None" = None
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A turn; ``ends`` are the texts for the end of a live one."""

    run_id: UUID
    query: str
    answer: str
    is_live: bool
    failed: bool
    ends: Mapping[str, str]
    group: str = ""
    used: tuple[UsedMemory, ...] = ()
    stored: tuple[StoredMemory, ...] = ()
    not_recalled: bool = False
    not_remembered: bool = False


@dataclass(slots=True)
class _MemoryEvents:
    """The memory events of a run."""

    recalled: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)  # scope, entry
    stores: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    is_recall_paused: bool = False
    is_store_paused: bool = False


def list_turns(
    principal: Principal, workflow: Workflow, conversation: Conversation
) -> list[ChatTurn]:
    """Return the turns from the runs, since a pending run has no message yet.

    A failed turn that was retried is left out.
    """
    rows = Run.objects.visible_to(principal).filter(conversation=conversation)
    runs = list(rows.order_by("-created_at", "-id")[:MAX_TURNS])[::-1]
    last_numbers = {_get_query(run): number for number, run in enumerate(runs)}
    visible_runs = [
        run
        for at, run in enumerate(runs)
        if not (_has_failed(run) and last_numbers[_get_query(run)] > at)
    ]
    return build_turns(principal, workflow, visible_runs)


def build_turns(principal: Principal, workflow: Workflow, runs: Sequence[Run]) -> list[ChatTurn]:
    ends, titles = list_failure_texts(can_edit=False), load_failed_titles(principal, runs)
    events = _load_memory_events(principal, runs) if memory_app.is_on() else {}
    lookup = _MemoryLookup(principal, workflow, events.values())
    turns = []
    for run in runs:
        memory, has_failed = events.get(run.pk, _MemoryEvents()), _has_failed(run)
        answer = str((run.outputs or {}).get("answer", ""))
        turns.append(
            ChatTurn(
                run_id=run.pk,
                query=_get_query(run),
                answer=describe_failure(run, can_edit=False, titles=titles)
                if has_failed
                else answer,
                is_live=not run.has_ended,
                failed=has_failed,
                ends=ends,
                group=str(run.system.get("group_id", "")),
                used=lookup.list_used(memory),
                stored=lookup.list_stored(memory),
                not_recalled=memory.is_recall_paused,
                not_remembered=memory.is_store_paused,
            )
        )
    return turns


def _get_query(run: Run) -> str:
    return str(run.system.get("query", ""))


def _has_failed(run: Run) -> bool:
    return run.has_ended and bool(run.error)


def _load_memory_events(principal: Principal, runs: Sequence[Run]) -> dict[UUID, _MemoryEvents]:
    """Load the events of all turns in one query; the caller may see the runs."""
    events = RunEvent.objects.visible_to(principal).filter(
        run__in=[run.pk for run in runs], name__in=MEMORY_EVENTS
    )
    events_by_run: dict[UUID, _MemoryEvents] = defaultdict(_MemoryEvents)
    for event in events.order_by("run_id", "seq"):
        _add_event(events_by_run[event.run_id], event)
    return events_by_run


def _add_event(memory: _MemoryEvents, event: RunEvent) -> None:
    data = event.data
    scope = str(data.get("scope", ""))
    if event.name == MemoryKeptOut.name:
        memory.is_store_paused |= "paused" in data.get("reasons", ())
    elif event.name == MemoryRecalled.name:
        memory.is_recall_paused |= data.get("withheld") == "paused"
        if scope not in CONVERSATION_SCOPES:
            memory.recalled += [(scope, entry) for entry in data.get("entries", ())]
    elif scope not in CONVERSATION_SCOPES:
        memory.stores.append((scope, data["entry"]))


class _MemoryLookup:
    """The source runs and current states of the memories of all turns, loaded once."""

    def __init__(self, principal: Principal, workflow: Workflow, memories: Any) -> None:
        self._workflow = workflow
        memories = list(memories)
        runs = parse_valid_ids(
            entry.get("run") for memory in memories for _scope, entry in memory.recalled
        )
        entries = parse_valid_ids(
            entry.get("id") for memory in memories for _scope, entry in memory.stores
        )
        source_runs = selectors.list_runs(principal).filter(pk__in=runs) if runs else ()
        self._source_runs = {
            str(run.pk): (run.created_at, run.conversation_id, run.workflow_id)
            for run in source_runs
        }
        self._keys = dict(
            Conversation.objects.visible_to(principal)
            .filter(
                pk__in={
                    conversation_id
                    for _at, conversation_id, _workflow_id in self._source_runs.values()
                    if conversation_id
                }
            )
            .values_list("pk", "key")
            if self._source_runs
            else ()
        )
        caller = memory_app.MemoryCaller(principal, workflow.team_id) if entries else None
        self._current_memories: Mapping[UUID, memory_app.PersonalEntry] = (
            memory_app.load_personal_entries(caller, ids=sorted(entries)) if caller else {}
        )

    def list_used(self, memory: _MemoryEvents) -> tuple[UsedMemory, ...]:
        used: dict[str, UsedMemory] = {}
        for scope, entry in memory.recalled:
            used.setdefault(str(entry.get("id") or len(used)), self._build_used(scope, entry))
        return tuple(used.values())[:MAX_USED]

    def list_stored(self, memory: _MemoryEvents) -> tuple[StoredMemory, ...]:
        stored: dict[str, StoredMemory] = {}
        for scope, entry in memory.stores:
            text = memory_app.format_value(entry.get("value"))
            is_own = scope == "user"
            current = (
                self._current_memories.get(parse_id_or_none(entry.get("id")) or UUID(int=0))
                if is_own
                else None
            )
            stored[str(entry.get("id") or len(stored))] = StoredMemory(
                text, current, is_shared=not is_own
            )
        return tuple(stored.values())

    def _build_used(self, scope: str, entry: Mapping[str, Any]) -> UsedMemory:
        text = memory_app.format_value(entry.get("value"))
        if scope != "user":
            return UsedMemory(text, shared=SHARED_LABELS.get(scope, scope))
        at, conversation_id, workflow_id = self._source_runs.get(
            str(entry.get("run") or ""), (None, None, None)
        )
        key = (
            self._keys.get(conversation_id)
            if conversation_id and workflow_id == self._workflow.pk
            else None
        )
        return UsedMemory(text, at, f"?conversation={key}" if key else "")
