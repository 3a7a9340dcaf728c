"""A chat's messages, how many tokens they cost, and which of them belong together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import ceil

from memory.core.errors import InvalidInput, Serialization
from memory.core.records import Json
from memory.logic.entries.origins import get_untrusted_origin


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
    """``id`` and ``at`` are given when it is added; ``shortened`` counts characters folded away."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    id: str = ""
    at: datetime | None = None
    shortened: int = 0
    origin: str = ""  # tool or web, where strangers said it


Group = tuple[Message, ...]


def tokens_of(message: Message) -> int:
    called = sum(estimate(call.name) + estimate(call.arguments) for call in message.tool_calls)
    return estimate(message.content) + called + _OVERHEAD_A_MESSAGE


def tokens_in(messages: Iterable[Message]) -> int:
    return sum(map(tokens_of, messages))


def estimate(text: str) -> int:
    """About four letters a token, and one character of an unspaced script a token."""
    wide = sum(map(_is_wide, text)) if not text.isascii() else 0
    return wide + ceil((len(text) - wide) / _CHARACTERS_A_TOKEN)


_CHARACTERS_A_TOKEN = 4
_OVERHEAD_A_MESSAGE = 4


def _is_wide(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af"


def groups(messages: Sequence[Message]) -> list[Group]:
    """What may only leave together: a call with all its results; every other message alone.

    In order of the first of each. A result whose call isn't there is a group of its own.
    """
    made: list[list[Message]] = []
    open_calls: dict[str, list[Message]] = {}
    for message in messages:
        home = open_calls.get(message.tool_call_id) if message.role is Role.TOOL else None
        if home is None:
            home = []
            made.append(home)
        home.append(message)
        for call in message.tool_calls:
            open_calls[call.id] = home
    return [tuple(group) for group in made]


def turns(messages: Sequence[Message]) -> list[tuple[Group, ...]]:
    """A turn opens with what a person says; what comes before the first is a turn too.

    System messages open none and belong to none.
    """
    made: list[list[Group]] = []
    for group in groups(messages):
        role = group[0].role
        if role is Role.SYSTEM:
            continue
        if role is Role.USER or not made:
            made.append([])
        made[-1].append(group)
    return [tuple(turn) for turn in made]


def is_orphan(message: Message, before: Iterable[Message]) -> bool:
    """A result whose call is not, or no longer, in the history: no model accepts it."""
    if message.role is not Role.TOOL:
        return False
    return all(call.id != message.tool_call_id for one in before for call in one.tool_calls)


def check(message: Message) -> None:
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
    found: dict[str, Json] = {"role": str(message.role), "content": message.content}
    if message.tool_calls:
        found["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        found["tool_call_id"] = message.tool_call_id
    if message.shortened:
        found["shortened"] = message.shortened
    if message.origin:
        found["origin"] = message.origin
    return found | {"id": message.id, "at": message.at.isoformat() if message.at else None}


def from_json(value: Json) -> Message:
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
