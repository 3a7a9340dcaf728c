"""What is said in a conversation, before it becomes its history: no secret in it, and no order of a stranger.

A message can't be left out: a call of a tool needs its result, an answer its question. So one that has
to wait for a person leaves a stand-in in its place, which it takes once it is approved.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from memory.core.records import Json, StoreParams, Tier
from memory.logic.conversations.conversation import message_key
from memory.logic.conversations.messages import Message, Role, to_json
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import ScreeningResult, screen_params
from memory.logic.entries.origins import UNTRUSTED, ContentOrigin, parse_origin
from memory.logic.entries.secrets import redact


STAND_IN: Final = "[held back: it reads like instructions, and nobody has looked at it yet]"

ORIGINS: Final[Mapping[Role, ContentOrigin]] = {
    Role.SYSTEM: ContentOrigin.RULE,
    Role.USER: ContentOrigin.PERSON,
    Role.ASSISTANT: ContentOrigin.MODEL,
    Role.TOOL: ContentOrigin.TOOL,
}


@dataclass(frozen=True, slots=True)
class Heard:
    """``message`` as it may stand in the history; ``apart``: what it said, where that has to wait."""

    message: Message
    apart: ScreeningResult | None = None


def heard_of(message: Message, said: Mapping[str, Json]) -> Heard:
    """``said`` may name whose words they are; otherwise they are its role's."""
    origin = parse_origin(said.get("origin"), ORIGINS[message.role])
    judged = screen_params(StoreParams("", "", value=message.content), origin)
    calls = tuple(
        replace(call, arguments=str(redact(call.arguments).value)) for call in message.tool_calls
    )
    whose = str(origin) if origin in UNTRUSTED else ""
    clean = replace(message, content=judged.params.value, tool_calls=calls, origin=whose)
    if judged.params.tier is not Tier.QUARANTINE:
        return Heard(clean)
    return Heard(replace(clean, content=STAND_IN), judged)


def held_apart(heard: Heard, kept: Message, namespace: str, group: str) -> StoreParams | None:
    """What to store beside the history, if anything: approved, it is the message it was."""
    if heard.apart is None:
        return None
    rest = to_json(kept)
    del rest["content"]
    metadata = {**heard.apart.params.metadata, **rest, "group": group}
    params = replace(heard.apart.params, namespace=namespace, metadata=metadata, category="message")
    return hold_entry(message_key(kept), params)
