"""Ids in the names of namespaces; see ``config.ids``, which needs nothing but Python."""

from uuid import UUID

from config.ids import MAX_ID_LENGTH as MAX_ID_LENGTH
from config.ids import escape as escape
from config.ids import escape_hidden as escape_hidden
from config.ids import is_identifier as is_identifier
from config.ids import normalize_identifier as normalize_identifier
from config.ids import unescape as unescape
from memory.core.errors import InvalidInput


# Two spellings of one key are one entry.
normalize_key = normalize_identifier


def parse_id(value: object, field: str) -> str:
    """Return the normalized id; raise InvalidInput for a value that can be none."""
    if isinstance(value, str):
        normalized = normalize_identifier(value)
        if is_identifier(normalized):
            return normalized
    raise InvalidInput(
        f"{field}: {str(value)[:100]!r} is not a valid ID; "
        f"use 1 to {MAX_ID_LENGTH} characters, of which a colon, a percent sign and a space count as three."
    )


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
