"""The history of a conversation: added to, read, cleared, and looked at with all that was folded of it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput
from memory.core.records import Json
from memory.core.scopes import Scope
from memory.logic.conversations.conversation import KEY_PREFIX, ConversationMemory, build_folded_key
from memory.logic.conversations.conversation_requests import (
    ConversationRequest,
    ConversationResult,
    parse_folding,
    parse_request,
)
from memory.logic.conversations.conversation_requests import handle_request as talk_with
from memory.logic.conversations.folding import Fold, FoldedMessage, FoldingPolicy
from memory.logic.conversations.messages import Message
from memory.models import Revision
from memory.permissions import Verb
from memory.services.conversations.bulk_messages import read_category
from memory.services.entries.forget import forget_selected
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.recall.recall import record_reads


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


def converse(
    caller: MemoryCaller,
    *,
    action: str,
    messages: Sequence[Json] = (),
    rules: Mapping[str, Json] | None = None,
    namespace: str | None = None,
) -> ConversationResult:
    """``append``, ``read`` or ``clear``; of the caller's own conversation, unless a namespace is given."""
    request = parse_request(action, messages, rules or {}, step=caller.origin.idempotency_key)
    return hold_conversation(caller, request, namespace=namespace)


@retry_on_conflict
def hold_conversation(
    caller: MemoryCaller, request: ConversationRequest, *, namespace: str | None = None
) -> ConversationResult:
    """Do what is requested in the caller's own conversation, unless a namespace is given."""
    verb, audited = _OPERATIONS[request.action]
    with _open(caller, verb, audited, namespace) as access:
        talk = _WORK[request.action](access, request)
        access.detail.update(keys=len(talk.entries) or talk.count, history=request.action)
        return talk


@retry_on_conflict
def look_back(
    caller: MemoryCaller, *, namespace: str, rules: Mapping[str, Json] | None = None
) -> HistoryView:
    """Return the messages, the summary that stands in for the rest, and what was folded, word for word."""
    folding = parse_folding(rules or {})
    with _open(caller, "view", "memory.listed", namespace) as access:
        view = _memory(access, folding).read_view()
        texts = _texts(access, [line for fold in view.folds for line in fold.messages])
        folds = tuple(
            FoldView(fold, tuple(_text_of_fold(line, texts) for line in fold.messages))
            for fold in view.folds
        )
        access.detail.update(keys=len(view.messages), folds=len(folds))
        return HistoryView(view.messages, view.summary, folds, view.tokens, view.budget)


_OPERATIONS: dict[str, tuple[Verb, str]] = {
    "append": ("write", "memory.stored"),
    "read": ("view", "memory.recalled"),
    "clear": ("forget", "memory.cleared"),
    "summarise": ("write", "memory.stored"),
}


def _append(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    access.claim()  # before the history is read: writers of one conversation wait for each other
    talk = _talk(access, request)
    access.detail.update(folded=talk.removed_count)
    if talk.held_entries:
        access.detail["held"] = len(talk.held_entries)
    return talk


def _read(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    talk = _talk(access, request)
    record_reads(access, talk.entries, injected=False)
    return talk


def _clear(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    """Undone as one; other memories of the conversation stay."""
    view = _memory(access, request.folding).read_view()
    forgotten = forget_selected(access, lambda query: query.filter(key__startswith=KEY_PREFIX), "")
    return ConversationResult(
        count=len(view.messages), removed_count=forgotten.count - len(view.messages)
    )


_WORK = {"append": _append, "read": _read, "clear": _clear, "summarise": _append}


def _open(
    caller: MemoryCaller, verb: Verb, audited: str, namespace: str | None
) -> AbstractContextManager[NamespaceAccess]:
    scope = None if namespace else str(Scope.CONVERSATION)
    return MemoryGateway(caller).open_namespace(verb, audited, scope=scope, namespace=namespace)


def _talk(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    return talk_with(
        request,
        _session(access),
        access.store("history"),
        new_id=_new_id,
        clock=lambda: access.now,
        source=access.caller.source,
    )


def _memory(access: NamespaceAccess, folding: FoldingPolicy) -> ConversationMemory:
    """To look at; nothing is written through it."""
    return ConversationMemory(
        _session(access),
        access.store(),
        new_id=_new_id,
        folding=folding,
        clock=lambda: access.now,
        read_category=lambda category: read_category(access, category),
    )


def _session(access: NamespaceAccess) -> str:
    if access.target.parsed.scope != Scope.CONVERSATION:
        raise InvalidInput(f"{access.text}: only a conversation has a history.")
    return access.target.parsed.ids[0]


def _texts(access: NamespaceAccess, lines: Iterable[FoldedMessage]) -> dict[str, str]:
    """By key the first value each had, before anything was cut."""
    keys = {build_folded_key(line) for line in lines}
    if not keys or access.target.row is None:
        return {}
    first = Revision.objects.unscoped().filter(
        entry__namespace=access.target.row, entry__key__in=keys, number=1
    )
    return {key: str(value) for key, value in first.values_list("entry__key", "value")}


def _text_of_fold(line: FoldedMessage, texts: Mapping[str, str]) -> FoldedText:
    return FoldedText(line, texts.get(build_folded_key(line), line.excerpt))


def _new_id() -> str:
    return str(uuid7())
