"""The turns of a conversation as the one who talks reads them: the answer, what it used, what it remembered."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from workflows import memory_app, selectors
from workflows.models import Conversation, Run, RunEvent, Workflow
from workflows.views.chat.failure_texts import sentences, titles_of, told


TURNS_SHOWN: Final = 50
MOST_USED: Final = 8
EVENTS: Final = ("memory_recalled", "memory_written", "memory_kept_out")

# What belongs to the conversation or the run itself is no news to whoever is in it.
OWN_TALK: Final = frozenset({"conversation", "run", "run_metadata"})

SHARED: Final[Mapping[str, Promise]] = {
    "global": _("from shared memory"),
    "workflow": _("from this workflow's group memory"),
}


@dataclass(frozen=True, slots=True)
class Used:
    """``told_at`` and ``url``: when and in which conversation the person said it."""

    text: str
    told_at: datetime | None = None
    url: str = ""
    shared: str | Promise = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """``one``: as memory has it now, if it is the person's to forget."""

    text: str
    one: "memory_app.PersonalEntry | None" = None
    is_shared: bool = False

    @property
    def has_changed(self) -> bool:
        return self.one is not None and not self.one.row.is_forgotten and self.one.text != self.text


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """``ends``: what the page says of a live one's end. ``paused``: what was left off of memory in it."""

    run_id: UUID
    query: str
    answer: str
    is_live: bool
    failed: bool
    ends: Mapping[str, str]
    group: str = ""
    used: tuple[Used, ...] = ()
    kept: tuple[Kept, ...] = ()
    not_recalled: bool = False
    not_remembered: bool = False


@dataclass(slots=True)
class _Heard:
    """The events of memory in one run."""

    recalled: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)  # scope, entry
    written: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    withheld: bool = False
    refused: bool = False


def turns_of(
    principal: Principal, workflow: Workflow, conversation: Conversation
) -> list[ChatTurn]:
    """From the runs: one under way has no message yet. What was tried again with success is told once."""
    found = Run.objects.visible_to(principal).filter(conversation=conversation)
    runs = list(found.order_by("-created_at", "-id")[:TURNS_SHOWN])[::-1]
    later = {_query(run): number for number, run in enumerate(runs)}
    left = [run for at, run in enumerate(runs) if not (_failed(run) and later[_query(run)] > at)]
    return turns_from(principal, workflow, left)


def turns_from(principal: Principal, workflow: Workflow, runs: Sequence[Run]) -> list[ChatTurn]:
    ends, titles = sentences(can_edit=False), titles_of(principal, runs)
    heard = _heard(principal, runs) if memory_app.is_on() else {}
    words = _Words(principal, workflow, heard.values())
    made = []
    for run in runs:
        memory = heard.get(run.pk, _Heard())
        answer = str((run.outputs or {}).get("answer", ""))
        made.append(
            ChatTurn(
                run_id=run.pk,
                query=_query(run),
                answer=told(run, can_edit=False, titles=titles) if _failed(run) else answer,
                is_live=not run.has_ended,
                failed=_failed(run),
                ends=ends,
                group=str(run.system.get("group_id", "")),
                used=words.used(memory),
                kept=words.kept(memory),
                not_recalled=memory.withheld,
                not_remembered=memory.refused,
            )
        )
    return made


def _query(run: Run) -> str:
    return str(run.system.get("query", ""))


def _failed(run: Run) -> bool:
    return run.has_ended and bool(run.error)


def _heard(principal: Principal, runs: Sequence[Run]) -> dict[UUID, _Heard]:
    """In one query for all turns; the runs were admitted before."""
    events = RunEvent.objects.visible_to(principal).filter(
        run__in=[run.pk for run in runs], name__in=EVENTS
    )
    found: dict[UUID, _Heard] = defaultdict(_Heard)
    for event in events.order_by("run_id", "seq"):
        _note(found[event.run_id], event)
    return found


def _note(heard: _Heard, event: RunEvent) -> None:
    data = event.data
    scope = str(data.get("scope", ""))
    if event.name == "memory_kept_out":
        heard.refused |= "paused" in data.get("reasons", ())
    elif event.name == "memory_recalled":
        heard.withheld |= data.get("withheld") == "paused"
        if scope not in OWN_TALK:
            heard.recalled += [(scope, entry) for entry in data.get("entries", ())]
    elif scope not in OWN_TALK:
        heard.written.append((scope, data["entry"]))


class _Words:
    """What stands behind the entries of a page's turns, asked for once."""

    def __init__(self, principal: Principal, workflow: Workflow, heard: Any) -> None:
        self._workflow = workflow
        heard = list(heard)
        runs = _ids(entry.get("run") for one in heard for _scope, entry in one.recalled)
        entries = _ids(entry.get("id") for one in heard for _scope, entry in one.written)
        found = selectors.runs_for(principal).filter(pk__in=runs) if runs else ()
        self._said = {
            str(run.pk): (run.created_at, run.conversation_id, run.workflow_id) for run in found
        }
        self._keys = dict(
            Conversation.objects.visible_to(principal)
            .filter(pk__in={talk for _at, talk, _of in self._said.values() if talk})
            .values_list("pk", "key")
            if self._said
            else ()
        )
        caller = memory_app.MemoryCaller(principal, workflow.team_id) if entries else None
        self._now: Mapping[UUID, memory_app.PersonalEntry] = (
            memory_app.load_personal_entries(caller, ids=sorted(entries)) if caller else {}
        )

    def used(self, heard: _Heard) -> tuple[Used, ...]:
        made: dict[str, Used] = {}
        for scope, entry in heard.recalled:
            made.setdefault(str(entry.get("id") or len(made)), self._used(scope, entry))
        return tuple(made.values())[:MOST_USED]

    def kept(self, heard: _Heard) -> tuple[Kept, ...]:
        made: dict[str, Kept] = {}
        for scope, entry in heard.written:
            text = memory_app.format_value(entry.get("value"))
            mine = scope == "user"
            one = self._now.get(_id(entry.get("id")) or UUID(int=0)) if mine else None
            made[str(entry.get("id") or len(made))] = Kept(text, one, is_shared=not mine)
        return tuple(made.values())

    def _used(self, scope: str, entry: Mapping[str, Any]) -> Used:
        text = memory_app.format_value(entry.get("value"))
        if scope != "user":
            return Used(text, shared=SHARED.get(scope, scope))
        at, talk, workflow_id = self._said.get(str(entry.get("run") or ""), (None, None, None))
        key = self._keys.get(talk) if talk and workflow_id == self._workflow.pk else None
        return Used(text, at, f"?conversation={key}" if key else "")


def _ids(texts: Iterable[Any]) -> set[UUID]:
    return {one for text in texts if (one := _id(text)) is not None}


def _id(text: Any) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None
