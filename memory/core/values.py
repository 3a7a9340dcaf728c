"""Limits of stored values: JSON that PostgreSQL can hold, and its counted size."""

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime

from memory.core.errors import InvalidInput, Serialization
from memory.core.records import Json, PromptUse, StoreParams


MAX_KEY_LENGTH = 400
MAX_STORED_BYTES = 4 * 1024 * 1024  # no policy can allow a larger value: the database refuses it
MAX_DEPTH = 64
MAX_NUMBER_DIGITS = 1_000

# A key with an id or a number that counts was made by a program; to a model it is noise.
_MACHINE_KEY = re.compile(r"[0-9a-f]{8,}|\d{3,}|^(?:[a-z]{1,12}[:_-])?\d+$", re.IGNORECASE)
_KEY_SEPARATORS = re.compile(r"[_:./-]+")
_CATEGORY = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# Every provider's ids; no words fit into one.
ENTRY_ID_PATTERN = r"[0-9A-Za-z._:-]{0,80}"
_ENTRY_ID = re.compile(ENTRY_ID_PATTERN)


def to_compact_json(value: Json) -> str:
    """Return the compact JSON, the form in which a value's size is counted."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def count_bytes(value: Json) -> int:
    """Return the number of bytes of the compact JSON in UTF-8."""
    return len(to_compact_json(value).encode())


def count_entry_bytes(key: str, value: Json, metadata: Mapping[str, Json]) -> int:
    """Return the size of an entry, which the quotas count."""
    return count_bytes(value) + count_label_bytes(key, metadata)


def count_label_bytes(key: str, metadata: Mapping[str, Json]) -> int:
    """Return the bytes of a key and, if there is any, of its metadata."""
    return len(key.encode()) + (count_bytes(dict(metadata)) if metadata else 0)


def has_more_bytes(limit: int, *values: Json) -> bool:
    """Return whether the values certainly have more bytes than ``limit``, which is quick for any size.

    Each character, number and separator counts as one byte. The walk ends at the limit, so that the values are not
    read to their ends.
    """
    total, pending_values = 0, list(values)
    while pending_values and total <= limit:
        value = pending_values.pop()
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, Mapping):
            total += 2 * len(value)
            if total <= limit:
                pending_values += (*value.keys(), *value.values())
        elif isinstance(value, list | tuple):
            total += len(value)
            if total <= limit:
                pending_values += value
        else:
            total += 1
    return total > limit


def build_search_text(key: str, value: Json) -> str:
    """Return the text that a search reads: the key, and the value as a person would read it."""
    return f"{key}\n{value if isinstance(value, str) else to_compact_json(value)}"


def build_embedded_text(search_text: str) -> str:
    """Return the part of a search text that has a meaning: the value, and the words of a key that a person chose."""
    key, _, value = search_text.partition("\n")
    if not value or _MACHINE_KEY.search(key):
        return value or search_text
    return f"{' '.join(_KEY_SEPARATORS.split(key)).strip()}: {value}"


def check_params(params: StoreParams) -> None:
    """Raise InvalidInput for values that some provider could not return unchanged."""
    if not params.key or len(params.key) > MAX_KEY_LENGTH:
        raise InvalidInput(f"key: must have 1 to {MAX_KEY_LENGTH} characters.")
    _check_text(params.key, "key")
    check_json(params.value, "value")
    if not isinstance(params.metadata, Mapping):
        raise InvalidInput("metadata: must be an object.")
    check_json(params.metadata, "metadata")
    if not _CATEGORY.fullmatch(params.category):
        raise InvalidInput("category: use lowercase letters, digits, - and _; at most 40.")
    if not 0.0 <= params.importance <= 1.0:
        raise InvalidInput("importance: must be a number from 0 to 1.")
    if params.ttl_seconds is not None and not 0 < params.ttl_seconds <= 10**10:
        raise InvalidInput("ttl_seconds: must be a positive number.")
    check_validity(params.valid_from, params.valid_until)
    for name in ("replaces", "replaced_by"):
        if not _ENTRY_ID.fullmatch(getattr(params, name)):
            raise InvalidInput(f"{name}: must be the id of an entry.")
    if not isinstance(params.prompt_use, PromptUse):
        raise InvalidInput(f"prompt_use: must be one of {', '.join(PromptUse)}.")


def check_validity(valid_from: datetime | None, valid_until: datetime | None) -> None:
    """Raise InvalidInput for times between which nothing can hold, or that have no time zone."""
    for name, moment in (("valid_from", valid_from), ("valid_until", valid_until)):
        if moment is not None and moment.tzinfo is None:
            raise InvalidInput(f"{name}: must be a date and time with a time zone.")
    if valid_from is not None and valid_until is not None and valid_until <= valid_from:
        raise InvalidInput("valid_until: must be after valid_from.")


def check_json(value: Json, field: str, depth: int = 0) -> None:
    """Raise Serialization for a value that is not JSON, and InvalidInput for JSON that PostgreSQL cannot hold."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"{field}: nested more than {MAX_DEPTH} deep.")
    if isinstance(value, Mapping):
        for key, member in value.items():
            if not isinstance(key, str):
                raise Serialization(f"{field}: a name in an object must be text, not {key!r}.")
            _check_text(key, field)
            check_json(member, field, depth + 1)
    elif isinstance(value, list | tuple):
        for member in value:
            check_json(member, field, depth + 1)
    else:
        _check_scalar(value, field)


def _check_scalar(value: Json, field: str) -> None:
    match value:
        case None | bool():
            return
        case str():
            _check_text(value, field)
        case int():
            if abs(value) >= 10**MAX_NUMBER_DIGITS:
                raise InvalidInput(f"{field}: a number has too many digits.")
        case float():
            if not math.isfinite(value):
                raise Serialization(f"{field}: {value} is not JSON.")
        case _:
            raise Serialization(f"{field}: {type(value).__name__} is not JSON.")


def _check_text(text: str, field: str) -> None:
    if "\x00" in text:
        raise InvalidInput(f"{field}: must not contain a NUL character.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{field}: must not contain an unpaired surrogate.") from None
