"""The messages of a chat, their cost in tokens, and the groups of messages that belong together."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from math import ceil

from memory.core.errors import InvalidInput, Serialization
from memory.core.records import Json
from memory.logic.entries.origins import get_untrusted_origin


_CHARACTERS_PER_TOKEN = 4
_MESSAGE_OVERHEAD = 4


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str = ""  # JSON as the model wrote it, which may be broken


@dataclass(frozen=True, slots=True)
class Message:
    """A message. Adding it sets ``id`` and the time ``at``; folding counts the characters it removes in ``shortened``."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    id: str = ""
    at: datetime | None = None
    shortened: int = 0
    origin: str = ""  # tool or web, if untrusted


MessageGroup = tuple[Message, ...]


def count_message_tokens(message: Message) -> int:
    call_texts = [text for call in message.tool_calls for text in (call.name, call.arguments)]
    return sum(map(estimate_tokens, [message.content, *call_texts])) + _MESSAGE_OVERHEAD


def count_tokens(messages: Iterable[Message]) -> int:
    return sum(map(count_message_tokens, messages))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens: one for four characters, or for each character of a script without spaces."""
    wide = 0 if text.isascii() else sum(map(_is_wide, text))
    return wide + ceil((len(text) - wide) / _CHARACTERS_PER_TOKEN)


def _is_wide(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af"


def group_messages(messages: Sequence[Message]) -> list[MessageGroup]:
    """Group the messages that may only be removed together: a call and all its results. Any other is a group of its own.

    Groups are in the order of their first messages.
    """
    groups: list[list[Message]] = []
    open_calls: dict[str, list[Message]] = {}
    for message in messages:
        target = open_calls.get(message.tool_call_id) if message.role is Role.TOOL else None
        if target is None:
            target = []
            groups.append(target)
        target.append(message)
        for call in message.tool_calls:
            open_calls[call.id] = target
    return [tuple(group) for group in groups]


def split_turns(messages: Sequence[Message]) -> list[tuple[MessageGroup, ...]]:
    """Split the messages without system messages into turns; each but the first always begins with a user message."""
    turns: list[list[MessageGroup]] = []
    for group in group_messages(messages):
        role = group[0].role
        if role is Role.SYSTEM:
            continue
        if role is Role.USER or not turns:
            turns.append([])
        turns[-1].append(group)
    return [tuple(turn) for turn in turns]


def is_orphan(message: Message, history: Iterable[Message]) -> bool:
    """Return whether the message is the result of a call that the history lacks, which no model accepts."""
    if message.role is not Role.TOOL:
        return False
    return message.tool_call_id not in {call.id for prior in history for call in prior.tool_calls}


def check_message(message: Message) -> None:
    """Raise InvalidInput if the tool calls or the id of a call don't fit the message's role."""
    if message.role is Role.TOOL and not message.tool_call_id:
        raise InvalidInput("tool_call_id: required for the result of a tool.")
    if message.role is not Role.TOOL and message.tool_call_id:
        raise InvalidInput("tool_call_id: only allowed for the result of a tool.")
    if message.tool_calls and message.role is not Role.ASSISTANT:
        raise InvalidInput("tool_calls: only allowed for an assistant.")
    ids = [call.id for call in message.tool_calls]
    if not all(ids) or len(set(ids)) != len(ids):
        raise InvalidInput("tool_calls: every call needs a unique id.")


def to_json(message: Message) -> dict[str, Json]:
    result: dict[str, Json] = {"role": str(message.role), "content": message.content}
    if message.tool_calls:
        result["tool_calls"] = [asdict(call) for call in message.tool_calls]
    if message.tool_call_id:
        result["tool_call_id"] = message.tool_call_id
    if message.shortened:
        result["shortened"] = message.shortened
    if message.origin:
        result["origin"] = message.origin
    return result | {"id": message.id, "at": message.at.isoformat() if message.at else None}


def from_json(value: Json) -> Message:
    """Parse the JSON that ``to_json`` built; raise Serialization if it is malformed."""
    try:
        return Message(
            role=Role(value["role"]),
            content=value["content"],
            tool_calls=tuple(
                ToolCall(call["id"], call["name"], call["arguments"])
                for call in value.get("tool_calls", ())
            ),
            tool_call_id=value.get("tool_call_id", ""),
            id=value["id"],
            at=datetime.fromisoformat(value["at"]) if value["at"] else None,
            shortened=value.get("shortened", 0),
            origin=get_untrusted_origin(value),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Serialization(f"That is not a message: {error!r}.") from None
