"""The origin of a text; text from tools and the web is untrusted until a member approves it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from memory.core.records import Json
from memory.logic.entries.tiers import TierAction


class ContentOrigin(StrEnum):
    """The kind of a text's author. Untrusted text that contains instructions is quarantined."""

    PERSON = "person"
    MODEL = "model"
    TOOL = "tool"
    WEB = "web"
    RULE = "rule"  # written by a workflow's author


UNTRUSTED: Final = frozenset({ContentOrigin.TOOL, ContentOrigin.WEB})


def parse_origin(value: Json, default: ContentOrigin = ContentOrigin.MODEL) -> ContentOrigin:
    return next((origin for origin in ContentOrigin if origin == value), default)


def get_untrusted_origin(metadata: Mapping[str, Json]) -> str:
    """Return tool or web for untrusted content that no member has approved, else an empty string."""
    origin = metadata.get("origin")
    approved = metadata.get("review") == TierAction.APPROVE
    return str(origin) if origin in UNTRUSTED and not approved else ""
