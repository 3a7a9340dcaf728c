"""The content filter for messages, which removes secrets and quarantines untrusted instructions.

A message can't be left out of the history: a tool call needs its result, an answer its question. So a placeholder
stands for a quarantined message until it is approved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from memory.core.records import Json, StoreParams, Tier
from memory.logic.conversations.keys import build_message_key
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
    """A message for the history. If it is a placeholder, ``quarantined`` is the original that waits for a review."""

    message: Message
    quarantined: ScreeningResult | None = None


def screen_message(message: Message, message_json: Mapping[str, Json]) -> ScreenedMessage:
    """Screen a message. Its JSON may name the origin, which otherwise follows from the role."""
    origin = parse_origin(message_json.get("origin"), ORIGIN_BY_ROLE[message.role])
    result = screen_params(StoreParams("", "", value=message.content), origin)
    calls = (replace(call, arguments=redact(call.arguments).value) for call in message.tool_calls)
    content, untrusted_origin = result.params.value, str(origin) if origin in UNTRUSTED else ""
    clean = replace(message, content=content, tool_calls=tuple(calls), origin=untrusted_origin)
    if result.params.tier is not Tier.QUARANTINE:
        return ScreenedMessage(clean)
    return ScreenedMessage(replace(clean, content=PLACEHOLDER), result)


def build_quarantined_message(
    screened: ScreenedMessage, placeholder: Message, namespace: str, conversation_id: str
) -> StoreParams | None:
    """Return the parameters that store the original beside the history, or None if the message isn't quarantined."""
    if screened.quarantined is None:
        return None
    fields = to_json(placeholder)
    del fields["content"]
    params = screened.quarantined.params
    metadata = {**params.metadata, **fields, "group": conversation_id}
    params = replace(params, namespace=namespace, metadata=metadata, category="message")
    return hold_entry(build_message_key(placeholder), params)
