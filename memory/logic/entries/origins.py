"""The origin of a text; text from tools and the web is untrusted until a member approves it.

An approval belongs to the value for which it was given. Whoever changes the value drops it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from memory.core.records import Json


APPROVED: Final = "approve"  # the decision of a review that admits a text
# The decision of a review and its reason, in the metadata.
REVIEW: Final = "review"
REVIEW_REASON: Final = "review_reason"
_REVIEW_FIELDS: Final = frozenset({REVIEW, REVIEW_REASON})
_PROVENANCE: Final = frozenset({"origin", *_REVIEW_FIELDS})


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
    return str(origin) if origin in UNTRUSTED and not is_approved(metadata) else ""


def is_approved(metadata: Mapping[str, Json]) -> bool:
    return metadata.get(REVIEW) == APPROVED


def drop_approval(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return the metadata without an approval. A rejection stays."""
    return drop_review(metadata) if is_approved(metadata) else dict(metadata)


def drop_review(metadata: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in metadata.items() if name not in _REVIEW_FIELDS}


def copy_provenance(metadata: Mapping[str, Json], source: Mapping[str, Json]) -> dict[str, Json]:
    """Return the metadata with the origin and the review of ``source``, whose value they describe."""
    rest = {name: value for name, value in metadata.items() if name not in _PROVENANCE}
    return rest | {name: source[name] for name in _PROVENANCE & source.keys()}
