"""The content filter for messages, before they become history: secrets, untrusted instructions.

A message can't be left out: a tool call needs its result, an answer its question. So a
quarantined message leaves a placeholder, which it replaces once it is approved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from memory.core.records import Json, StoreParams, Tier
from memory.logic.conversations.conversation import build_message_key
from memory.logic.conversations.messages import Message, Role, to_json
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import ScreeningResult, screen_params
from memory.logic.entries.origins import UNTRUSTED, ContentOrigin, parse_origin
from memory.logic.entries.secrets import redact


PLACEHOLDER: Final = "[held back: it reads like instructions, and nobody has looked at it yet]"

ORIGIN_BY_ROLE: Final[Mapping[Role, ContentOrigin]] = {
    Role.SYSTEM: ContentOrigin.RULE,
    Role.USER: ContentOrigin.PERSON,
    Role.ASSISTANT: ContentOrigin.MODEL,
    Role.TOOL: ContentOrigin.TOOL,
}


@dataclass(frozen=True, slots=True)
class ScreenedMessage:
    """A message as it may enter the history; ``quarantined`` is its original if it has to wait for a review."""

    message: Message
    quarantined: ScreeningResult | None = None


def screen_message(message: Message, value: Mapping[str, Json]) -> ScreenedMessage:
    """Screen a message. ``value`` may name its origin, which otherwise follows from its role."""
    origin = parse_origin(value.get("origin"), ORIGIN_BY_ROLE[message.role])
    result = screen_params(StoreParams("", "", value=message.content), origin)
    clean = replace(
        message,
        content=result.params.value,
        tool_calls=tuple(
            replace(c, arguments=redact(c.arguments).value) for c in message.tool_calls
        ),
        origin=str(origin) if origin in UNTRUSTED else "",
    )
    if result.params.tier is not Tier.QUARANTINE:
        return ScreenedMessage(clean)
    return ScreenedMessage(replace(clean, content=PLACEHOLDER), result)


def build_quarantined_message(
    screened: ScreenedMessage, placeholder: Message, namespace: str, group: str
) -> StoreParams | None:
    """Return the entry to store beside the history, if any; approved, it becomes the message."""
    if screened.quarantined is None:
        return None
    fields = to_json(placeholder)
    del fields["content"]
    params = screened.quarantined.params
    metadata = {**params.metadata, **fields, "group": group}
    params = replace(params, namespace=namespace, metadata=metadata, category="message")
    return hold_entry(build_message_key(placeholder), params)
