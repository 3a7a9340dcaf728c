"""The history of a conversation: append, read, clear, and view with all its folded messages."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput
from memory.core.records import Json, MemoryEntry
from memory.core.scopes import Scope
from memory.logic.conversations.conversation import KEY_PREFIX, ConversationMemory
from memory.logic.conversations.conversation_requests import (
    ConversationRequest,
    ConversationResult,
    parse_folding,
    parse_request,
    perform_request,
)
from memory.logic.conversations.folding import Fold, FoldedMessage, FoldingPolicy
from memory.logic.conversations.keys import build_folded_key
from memory.logic.conversations.messages import Message
from memory.models import Revision
from memory.permissions import Verb
from memory.providers.postgres import rows
from memory.services.entries.forget import forget_selected
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.recall.recall import record_reads


# The verb and the audit action of each request.
_OPERATIONS: dict[str, tuple[Verb, str]] = {
    "append": ("write", "memory.stored"),
    "read": ("view", "memory.recalled"),
    "clear": ("forget", "memory.cleared"),
    "summarise": ("write", "memory.stored"),
}


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A folded message with its original text, or with its excerpt if the text was erased."""

    line: FoldedMessage
    content: str


@dataclass(frozen=True, slots=True)
class FoldView:
    fold: Fold
    texts: tuple[FoldedText, ...]


@dataclass(frozen=True, slots=True)
class HistoryView:
    """The history of a conversation for people; ``folds`` are newest first."""

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
    """Append to, read, summarise or clear a conversation: the caller's own or the one of the namespace."""
    request = parse_request(action, messages, rules or {}, step=caller.origin.idempotency_key)
    return handle_conversation(caller, request, namespace=namespace)


@retry_on_conflict
def handle_conversation(
    caller: MemoryCaller, request: ConversationRequest, *, namespace: str | None = None
) -> ConversationResult:
    """Carry out a parsed request in the caller's own conversation or in the one of the namespace."""
    verb, audit_action = _OPERATIONS[request.action]
    with _open_conversation(caller, verb, audit_action, namespace) as access:
        match request.action:
            case "read":
                result = _read(access, request)
            case "clear":
                result = _clear(access, request)
            case _:
                result = _append(access, request)
        access.detail.update(keys=len(result.entries) or result.count, history=request.action)
        return result


@retry_on_conflict
def load_history(caller: MemoryCaller, *, namespace: str) -> HistoryView:
    """Return the messages, the summary that replaces older ones, and the original texts of the folded ones."""
    with _open_conversation(caller, "view", "memory.listed", namespace) as access:
        view = _build_memory(access, parse_folding({})).read_view()
        texts = _load_original_texts(access, view.folds)
        folds = tuple(
            FoldView(fold, tuple(_build_folded_text(line, texts) for line in fold.messages))
            for fold in view.folds
        )
        access.detail.update(keys=len(view.messages), folds=len(folds))
        return HistoryView(view.messages, view.summary, folds, view.tokens, view.budget)


def _append(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    access.claim()  # locked before the history is read, so that writers of one conversation wait for each other
    result = _perform_request(access, request)
    access.detail.update(folded=result.removed_count)
    if result.held_entries:
        access.detail["held"] = len(result.held_entries)
    return result


def _read(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    result = _perform_request(access, request)
    record_reads(access, result.entries, injected=False)
    return result


def _clear(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    """Forget the history as one change that can be undone. Other memories of the conversation stay."""
    count = len(_build_memory(access, request.folding).read_view().messages)
    forgotten = forget_selected(access, lambda query: query.filter(key__startswith=KEY_PREFIX), "")
    return ConversationResult(count=count, removed_count=forgotten.count - count)


def _open_conversation(
    caller: MemoryCaller, verb: Verb, audit_action: str, namespace: str | None
) -> AbstractContextManager[NamespaceAccess]:
    scope = None if namespace else str(Scope.CONVERSATION)
    return open_namespace(caller, verb, audit_action, scope=scope, namespace=namespace)


def _perform_request(access: NamespaceAccess, request: ConversationRequest) -> ConversationResult:
    return perform_request(
        request,
        _get_session_id(access),
        access.open_store("history"),
        new_id=_new_id,
        clock=lambda: access.now,
        source=access.caller.source,
    )


def _build_memory(access: NamespaceAccess, folding: FoldingPolicy) -> ConversationMemory:
    """Build a conversation memory for reading only."""
    return ConversationMemory(
        _get_session_id(access),
        access.open_store(),
        new_id=_new_id,
        folding=folding,
        clock=lambda: access.now,
        read_category=lambda category: read_category(access, category),
    )


def read_category(access: NamespaceAccess, category: str) -> list[MemoryEntry]:
    """Return the entries of a category with key, value and metadata only.

    A chat may have ten thousand messages, and making whole entries of them takes longer than everything
    else that a view needs.
    """
    if access.target.row is None:
        return []
    entries = rows.find_visible(access.target.row, access.now).filter(category=category)
    columns = entries.order_by("key").values_list("key", "value", "metadata")
    return [
        MemoryEntry("", access.text, key, value=value, metadata=metadata, category=category)
        for key, value, metadata in columns
    ]


def _get_session_id(access: NamespaceAccess) -> str:
    if access.target.parsed.scope != Scope.CONVERSATION:
        raise InvalidInput(f"{access.text}: only a conversation has a history.")
    return access.target.parsed.ids[0]


def _load_original_texts(access: NamespaceAccess, folds: Iterable[Fold]) -> dict[str, str]:
    """Return the original texts of the folded messages by entry key. Erased messages are missing."""
    keys = {build_folded_key(line) for fold in folds for line in fold.messages}
    if not keys or access.target.row is None:
        return {}
    revisions = Revision.objects.unscoped().filter(entry__namespace=access.target.row, number=1)
    first_values = revisions.filter(entry__key__in=keys).values_list("entry__key", "value")
    return {key: str(value) for key, value in first_values}


def _build_folded_text(line: FoldedMessage, texts: Mapping[str, str]) -> FoldedText:
    return FoldedText(line, texts.get(build_folded_key(line), line.excerpt))


def _new_id() -> str:
    return str(uuid7())
