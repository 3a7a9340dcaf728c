"""The history of a conversation: added to, read, cleared, and looked at with all that was folded of it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from config.again import tried_again
from config.ids import uuid7
from memory.core.errors import InvalidInput
from memory.core.records import Json
from memory.core.scopes import Scope
from memory.logic.conversation import BEGINNING, ConversationMemory, key_of
from memory.logic.folding import Fold, FoldedMessage, Folding
from memory.logic.messages import Message
from memory.logic.talking import Asked, Talk, asked, folding_of
from memory.logic.talking import converse as talk_with
from memory.models import Revision
from memory.permissions import Verb
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.forget import forget_chosen
from memory.services.recall import remember_reads
from memory.services.whole_talk import WholeTalk
from memory.services.within import WithinDoor, at_once


@dataclass(frozen=True, slots=True)
class FoldedText:
    """``content`` is the whole of what was said; its beginning, where even that was erased."""

    line: FoldedMessage
    content: str


@dataclass(frozen=True, slots=True)
class FoldView:
    fold: Fold
    texts: tuple[FoldedText, ...]


@dataclass(frozen=True, slots=True)
class HistoryView:
    """``folds``: newest first."""

    messages: tuple[Message, ...]
    summary: str
    folds: tuple[FoldView, ...]
    tokens: int
    budget: int | None


@tried_again
def converse(
    caller: MemoryCaller,
    *,
    action: str,
    messages: Sequence[Json] = (),
    rules: Mapping[str, Json] | None = None,
    namespace: str | None = None,
) -> Talk:
    """``append``, ``read`` or ``clear``; of the caller's own conversation, unless a namespace is given."""
    wanted = asked(action, messages, rules or {}, step=caller.origin.idempotency_key)
    verb, audited = _DOORS[wanted.action]
    with _opened(caller, verb, audited, namespace) as door:
        talk = _WORK[wanted.action](door, wanted)
        door.detail.update(keys=len(talk.entries) or talk.count, history=wanted.action)
        return talk


@tried_again
def look_back(
    caller: MemoryCaller, *, namespace: str, rules: Mapping[str, Json] | None = None
) -> HistoryView:
    """What is there, what stands in for the rest, and what was folded, word for word."""
    folding = folding_of(rules or {})
    with _opened(caller, "view", "memory.listed", namespace) as door:
        view = at_once(_memory(door, folding).view())
        texts = _texts(door, [line for fold in view.folds for line in fold.messages])
        folds = tuple(
            FoldView(fold, tuple(_told(line, texts) for line in fold.messages))
            for fold in view.folds
        )
        door.detail.update(keys=len(view.messages), folds=len(folds))
        return HistoryView(view.messages, view.summary, folds, view.tokens, view.budget)


_DOORS: dict[str, tuple[Verb, str]] = {
    "append": ("write", "memory.stored"),
    "read": ("view", "memory.recalled"),
    "clear": ("forget", "memory.cleared"),
    "summarise": ("write", "memory.stored"),
}


def _append(door: Door, wanted: Asked) -> Talk:
    door.claim()  # before the history is read: writers of one conversation wait for each other
    talk = _talk(door, wanted)
    door.detail.update(folded=talk.folded)
    if talk.held:
        door.detail["held"] = len(talk.held)
    return talk


def _read(door: Door, wanted: Asked) -> Talk:
    talk = _talk(door, wanted)
    if door.caller.origin.run_id and door.elsewhere is None:
        remember_reads(door, talk.entries, injected=False)
    return talk


def _clear(door: Door, wanted: Asked) -> Talk:
    """Undone as one; other memories of the conversation stay."""
    if door.elsewhere is not None:
        return _talk(door, wanted)
    there = at_once(_memory(door, wanted.folding).view())
    forgotten = forget_chosen(door, lambda found: found.filter(key__startswith=BEGINNING), "")
    return Talk(count=len(there.messages), folded=forgotten.count - len(there.messages))


_WORK = {"append": _append, "read": _read, "clear": _clear, "summarise": _append}


def _opened(
    caller: MemoryCaller, verb: Verb, audited: str, namespace: str | None
) -> AbstractContextManager[Door]:
    scope = None if namespace else str(Scope.CONVERSATION)
    return opened(caller, verb, audited, scope=scope, namespace=namespace)


def _talk(door: Door, wanted: Asked) -> Talk:
    within = WithinDoor(door, reason="history")
    work = talk_with(
        wanted,
        _session(door),
        within,
        new_id=_new_id,
        clock=lambda: door.now,
        source=door.caller.source,
    )
    return at_once(work)


def _memory(door: Door, folding: Folding) -> ConversationMemory:
    """To look at; nothing is written through it."""
    return ConversationMemory(
        _session(door), WholeTalk(door), new_id=_new_id, folding=folding, clock=lambda: door.now
    )


def _session(door: Door) -> str:
    if door.place.named.scope != Scope.CONVERSATION:
        raise InvalidInput(f"{door.text}: only a conversation has a history.")
    return door.place.named.ids[0]


def _texts(door: Door, lines: Iterable[FoldedMessage]) -> dict[str, str]:
    """By key the first value each had, before anything was cut."""
    keys = {key_of(line) for line in lines}
    if not keys or door.place.row is None or door.elsewhere is not None:
        return {}
    first = Revision.objects.unscoped().filter(
        entry__namespace=door.place.row, entry__key__in=keys, number=1
    )
    return {key: str(value) for key, value in first.values_list("entry__key", "value")}


def _told(line: FoldedMessage, texts: Mapping[str, str]) -> FoldedText:
    return FoldedText(line, texts.get(key_of(line), line.excerpt))


def _new_id() -> str:
    return str(uuid7())
