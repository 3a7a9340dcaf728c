"""Requests of a workflow to its conversation: their parsing from a node's JSON, and their results."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.core.errors import InvalidInput, ValueTooLarge
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, Source
from memory.core.values import MAX_STORED_BYTES, has_more_bytes
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


_MESSAGE_LIMITS = ("max_turns", "max_messages")
_TOKEN_LIMITS = ("reserved_tokens", "keep_recent")


@dataclass(frozen=True, slots=True)
class ConversationRequest:
    """A parsed request. ``step`` identifies the calling step, which adds no message twice when it is retried."""

    action: str
    messages: tuple[ScreenedMessage, ...] = ()
    folding: FoldingPolicy = field(default_factory=FoldingPolicy)
    has_summary: bool = False
    step: str = ""
    summary_fields: Mapping[str, str] = field(default_factory=dict)  # text, instead_of, by


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """The conversation after a request, with the messages as a model takes them.

    ``count`` is the number of messages in the history, or of those that were cleared. The request removed
    ``removed_count`` messages, which are in ``removed``; before it, the summary was ``previous_summary``. It read or
    wrote the ``entries``. ``held_entries`` wait for a review, with placeholders among the messages.
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
    if any(has_more_bytes(MAX_STORED_BYTES, value) for value in messages):
        raise ValueTooLarge(f"messages: each may have {MAX_STORED_BYTES} bytes.")
    screened = tuple(screen_message(parse_message(value), value) for value in messages)
    if action == "append" and not screened:
        raise InvalidInput("messages: required to append.")
    # If a model writes the summary, extracted sentences are the summary until it has answered.
    has_summary = rules.get("summary") in ("sentences", "model")
    summary_fields = {name: _to_text(rules.get(name)) for name in ("text", "instead_of", "by")}
    return ConversationRequest(
        action, screened, parse_folding(rules), has_summary, step, summary_fields=summary_fields
    )


def perform_request(
    request: ConversationRequest,
    conversation_id: str,
    entries: NamespaceStore,
    *,
    new_id: NewId,
    clock: Clock = utc_now,
    source: Source = Source(),  # noqa: B008 - a frozen value
) -> ConversationResult:
    """Perform the requested action on the conversation whose messages are in ``entries``."""
    summariser = ExtractiveSummariser() if request.has_summary else None
    memory = ConversationMemory(
        conversation_id,
        entries,
        new_id=new_id,
        folding=request.folding,
        summariser=summariser,
        clock=clock,
        source=source,
    )
    return _HANDLERS[request.action](request, memory)


def parse_message(value: Json) -> Message:
    """Parse a message in this application's format or in that of OpenAI (``tool_calls: [{id, function: {…}}]``)."""
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
    """Parse the rules of a node; raise InvalidInput if one is invalid. The defaults are those of ``FoldingPolicy``."""
    limits, window = _parse_numbers(rules, _MESSAGE_LIMITS), _parse_number(rules, "context_window")
    token_limits = _parse_numbers(rules, _TOKEN_LIMITS)
    compaction = None if window is None else Compaction(window, **token_limits)
    try:
        strategy = Strategy(rules.get("strategy") or Strategy.FULL)
    except ValueError:
        raise InvalidInput(f"strategy: use one of {', '.join(Strategy)}.") from None
    return FoldingPolicy(strategy=strategy, compaction=compaction, **limits)


def _append(request: ConversationRequest, memory: ConversationMemory) -> ConversationResult:
    before = memory.read_view()
    messages = (
        replace(screened.message, id=_build_message_id(request.step, index))
        for index, screened in enumerate(request.messages)
    )
    added = memory.add_messages(tuple(messages))
    quarantined = [
        build_quarantined_message(screened, message, memory.namespace, memory.conversation_id)
        for screened, message in zip(request.messages, added, strict=True)
    ]
    held_entries = tuple(memory.store_quarantined(params) for params in quarantined if params)
    after, present = memory.read_view(), (*before.messages, *added)
    remaining_ids = {message.id for message in after.messages}
    removed = [message for message in present if message.id not in remaining_ids]
    return ConversationResult(
        messages=tuple(map(to_json, after.history)),
        summary=after.summary,
        tokens=after.tokens,
        count=len(after.messages),
        removed_count=len({message.id for message in removed}),
        entries=memory.get_entries(added),
        held_entries=held_entries,
        removed=tuple(map(to_json, memory.select_usable(removed))),
        previous_summary=before.summary,
    )


def _read(request: ConversationRequest, memory: ConversationMemory) -> ConversationResult:
    """Return as much of the history as the rules allow; nothing is removed."""
    view = memory.read_view()
    remaining = plan_folding(view.history, request.folding).remaining
    return ConversationResult(
        messages=tuple(map(to_json, remaining)),
        summary=view.summary,
        tokens=count_tokens(remaining),
        count=len(view.messages),
        removed_count=len(view.history) - len(remaining),
        entries=memory.get_entries(message for message in remaining if message.id),
    )


def _summarise(request: ConversationRequest, memory: ConversationMemory) -> ConversationResult:
    """Replace the summary by a model's. In the result, ``count`` is 1 if it was replaced, else 0."""
    fields = request.summary_fields
    text = str(redact(fields["text"].strip()).value)
    is_replaced = bool(text) and memory.replace_summary(
        text, expected=fields["instead_of"], author=fields["by"]
    )
    view = memory.read_view()
    messages = tuple(map(to_json, view.history))
    return ConversationResult(messages, view.summary, view.tokens, count=int(is_replaced))


def _clear(request: ConversationRequest, memory: ConversationMemory) -> ConversationResult:
    return ConversationResult(count=memory.clear())


_HANDLERS: dict[str, Callable[[ConversationRequest, ConversationMemory], ConversationResult]]
_HANDLERS = {"append": _append, "read": _read, "clear": _clear, "summarise": _summarise}
ACTIONS = tuple(_HANDLERS)


def _build_message_id(step: str, index: int) -> str:
    """Return an id that is the same when the step is retried, or an empty string without a step."""
    return f"{hashlib.sha256(step.encode()).hexdigest()[:24]}-{index}" if step else ""


def _parse_call(value: Mapping[str, Json]) -> ToolCall:
    function = value.get("function")
    call = function if isinstance(function, Mapping) else value
    fields = (value.get("id"), call.get("name"), call.get("arguments"))
    return ToolCall(*map(_to_text, fields))


def _to_text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parse_numbers(rules: Mapping[str, Json], names: Sequence[str]) -> dict[str, int]:
    numbers = {name: _parse_number(rules, name) for name in names}
    return {name: number for name, number in numbers.items() if number is not None}


def _parse_number(rules: Mapping[str, Json], name: str) -> int | None:
    value = rules.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidInput(f"{name}: must be a whole number.")
