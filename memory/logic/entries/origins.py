"""Whose words are remembered: a stranger's text gives no orders, and is known for what it is until a person approves it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from memory.core.records import Json
from memory.logic.entries.tiers import Move


class Origin(StrEnum):
    """Who said it: a stranger's text can't give orders that are remembered."""

    PERSON = "person"
    MODEL = "model"
    TOOL = "tool"
    WEB = "web"
    RULE = "rule"  # written by a workflow's author


STRANGERS: Final = frozenset({Origin.TOOL, Origin.WEB})


def origin_of(word: Json, otherwise: Origin = Origin.MODEL) -> Origin:
    return next((one for one in Origin if one == word), otherwise)


def strangers_origin(metadata: Mapping[str, Json]) -> str:
    """Of what is remembered: tool or web, as long as no person has approved it; else nothing."""
    said = metadata.get("origin")
    approved = metadata.get("review") == Move.APPROVE
    return str(said) if said in STRANGERS and not approved else ""
