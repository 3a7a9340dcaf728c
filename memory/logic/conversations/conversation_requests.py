"""Requests of a workflow to its conversation, parsed from a node's JSON, with messages and entries as the result."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.core.errors import InvalidInput
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, Source
from memory.logic.conversations.conversation import ConversationMemory
from memory.logic.conversations.conversation_gate import (
    ScreenedMessage,
    build_quarantined_message,
    screen_message,
)
from memory.logic.conversations.folding import Compaction, FoldingPolicy, Strategy, plan_folding
from memory.logic.conversations.messages import Message, Role, ToolCall, count_tokens, to_json
from memory.logic.conversations.summary import ExtractiveSummariser
from memory.logic.entries.secrets import redact
from memory.logic.ports import NewId


@dataclass(frozen=True, slots=True)
class ConversationRequest:
    """A request. ``step`` identifies the step: a repeated request of a step adds no message a second time."""

    action: str
    messages: tuple[ScreenedMessage, ...] = ()
    folding: FoldingPolicy = field(default_factory=FoldingPolicy)
    has_summary: bool = False
    step: str = ""
    summary_fields: Mapping[str, str] = field(default_factory=dict)  # text, instead_of, by
    source: Source = field(default_factory=Source)  # of stored entries; ``handle_request`` sets it


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """The conversation after a request, with the messages as a model takes them.

    ``removed_count`` messages left in this request; they are in ``removed``, and ``previous_summary`` is
    the summary before it. ``entries`` were read or written; ``count`` messages exist, or were
    cleared. ``held_entries`` wait for a review, with placeholders among the messages.
    """

    messages: tuple[Mapping[str, Json], ...] = ()
    summary: str = ""
    tokens: int = 0
    count: int = 0
    removed_count: int = 0
    entries: tuple[MemoryEntry, ...] = ()
    held_entries: tuple[MemoryEntry, ...] = ()
    removed: tuple[Mapping[str, Json], ...] = ()
    previous_summary: str = ""


def parse_request(
    action: str, messages: Sequence[Json], rules: Mapping[str, Json], *, step: str = ""
) -> ConversationRequest:
    """Parse and screen a request; raise InvalidInput before anything is changed."""
    if action not in ACTIONS:
        raise InvalidInput(f"action: use one of {', '.join(ACTIONS)}.")
    screened = tuple(screen_message(parse_message(value), value) for value in messages)
    if action == "append" and not screened:
        raise InvalidInput("messages: required to append.")
    # A model's summary may come later; until then, extracted sentences are the summary.
    has_summary = rules.get("summary") in ("sentences", "model")
    summary_fields = {name: _to_text(rules.get(name)) for name in ("text", "instead_of", "by")}
    return ConversationRequest(
        action, screened, parse_folding(rules), has_summary, step, summary_fields=summary_fields
    )


def handle_request(
    request: ConversationRequest,
    session: str,
    entries: NamespaceStore,
    *,
    new_id: NewId,
    clock: Clock = utc_now,
    source: Source = Source(),  # noqa: B008 - a frozen value
) -> ConversationResult:
    summariser = ExtractiveSummariser() if request.has_summary else None
    memory = ConversationMemory(
        session, entries, new_id=new_id, folding=request.folding, summariser=summariser,
        clock=clock, source=source,
    )  # fmt: skip
    return _HANDLERS[request.action](replace(request, source=source), memory, entries)


def parse_message(value: Json) -> Message:
    """Parse a message in the application's or the chat models' format (``tool_calls``: ``[{id, function: {…}}]``)."""
    if not isinstance(value, Mapping):
        raise InvalidInput("messages: each must be an object with role and content.")
    try:
        role = Role(value.get("role") or Role.USER)
    except ValueError:
        raise InvalidInput(f"role: use one of {', '.join(Role)}.") from None
    calls = value.get("tool_calls") or ()
    if not isinstance(calls, list | tuple) or not all(isinstance(call, Mapping) for call in calls):
        raise InvalidInput("tool_calls: must be a list of objects.")
    return Message(
        role=role,
        content=_to_text(value.get("content", value.get("text"))),
        tool_calls=tuple(map(_parse_call, calls)),
        tool_call_id=_to_text(value.get("tool_call_id")),
    )


def parse_folding(rules: Mapping[str, Json]) -> FoldingPolicy:
    """Parse the rules; missing ones have the defaults of ``FoldingPolicy``."""
    numbers = {
        name: number for name in _NUMBERS if (number := _parse_number(rules, name)) is not None
    }
    window = numbers.pop("context_window", None)
    limits = {
        name: numbers.pop(name) for name in ("reserved_tokens", "keep_recent") if name in numbers
    }
    compaction = None if window is None else Compaction(window, **limits)
    try:
        strategy = Strategy(rules.get("strategy") or Strategy.FULL)
    except ValueError:
        raise InvalidInput(f"strategy: use one of {', '.join(Strategy)}.") from None
    return FoldingPolicy(strategy=strategy, compaction=compaction, **numbers)


_NUMBERS = ("max_turns", "max_messages", "context_window", "reserved_tokens", "keep_recent")


def _append(
    request: ConversationRequest, memory: ConversationMemory, entries: NamespaceStore
) -> ConversationResult:
    before = memory.read_view()
    messages = (
        replace(screened.message, id=_build_message_id(request.step, index))
        for index, screened in enumerate(request.messages)
    )
    added = memory.add_messages(tuple(messages))
    quarantined = [
        entries.store(replace(params, source=request.source))
        for screened, message in zip(request.messages, added, strict=True)
        if (
            params := build_quarantined_message(screened, message, memory.namespace, memory.session)
        )
    ]
    after = memory.read_view()
    removed_ids = _collect_ids((*before.messages, *added)) - _collect_ids(after.messages)
    return ConversationResult(
        messages=tuple(map(to_json, memory.get_history())),
        summary=after.summary,
        tokens=after.tokens,
        count=len(after.messages),
        removed_count=len(removed_ids),
        entries=memory.get_entries(added),
        held_entries=tuple(quarantined),
        removed=tuple(
            to_json(message) for message in (*before.messages, *added) if message.id in removed_ids
        ),
        previous_summary=before.summary,
    )


def _read(
    request: ConversationRequest, memory: ConversationMemory, entries: NamespaceStore
) -> ConversationResult:
    """Return as much of the history as the rules allow; nothing is removed."""
    history = memory.get_history()
    view = memory.read_view()
    plan = plan_folding(history, request.folding)
    return ConversationResult(
        messages=tuple(to_json(message) for message in plan.remaining),
        summary=view.summary,
        tokens=count_tokens(plan.remaining),
        count=len(view.messages),
        removed_count=len(history) - len(plan.remaining),
        entries=memory.get_entries(message for message in plan.remaining if message.id),
    )


def _summarise(
    request: ConversationRequest, memory: ConversationMemory, entries: NamespaceStore
) -> ConversationResult:
    """Replace the summary by a model's; ``count`` is 1 if it was replaced."""
    text = str(redact(request.summary_fields["text"].strip()).value)
    is_replaced = bool(text) and memory.replace_summary(
        text, instead_of=request.summary_fields["instead_of"], by=request.summary_fields["by"]
    )
    history = memory.get_history()
    view = memory.read_view()
    return ConversationResult(
        messages=tuple(to_json(message) for message in history),
        summary=view.summary,
        tokens=view.tokens,
        count=int(is_replaced),
    )


def _clear(
    request: ConversationRequest, memory: ConversationMemory, entries: NamespaceStore
) -> ConversationResult:
    return ConversationResult(count=memory.clear())


_HANDLERS: dict[
    str, Callable[[ConversationRequest, ConversationMemory, NamespaceStore], ConversationResult]
] = {
    "append": _append,
    "read": _read,
    "clear": _clear,
    "summarise": _summarise,
}
ACTIONS = tuple(_HANDLERS)


def _collect_ids(messages: Sequence[Message]) -> set[str]:
    return {message.id for message in messages}


def _build_message_id(step: str, index: int) -> str:
    """Return the same id for the same message of the same step; empty without a step."""
    return f"{hashlib.sha256(step.encode()).hexdigest()[:24]}-{index}" if step else ""


def _parse_call(value: Mapping[str, Json]) -> ToolCall:
    function = value.get("function")
    call = function if isinstance(function, Mapping) else value
    return ToolCall(
        _to_text(value.get("id")), _to_text(call.get("name")), _to_text(call.get("arguments"))
    )


def _to_text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parse_number(rules: Mapping[str, Json], name: str) -> int | None:
    value = rules.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidInput(f"{name}: must be a whole number.")
