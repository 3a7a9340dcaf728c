"""Formats values as readable text."""

import json
from collections.abc import Callable, Mapping

from workflows.engine.language.document import Json


MAX_LENGTH = 20_000
PAGE_KEY = (
    "page:"  # with which the keys of knowledge pages begin; as in static/js/runs/recollections.js
)


def format_value(value: Json) -> str:
    """Return a value as text for people, shortened to MAX_LENGTH; a value that isn't text is shown as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"


def format_entry(
    entry: Mapping[str, Json], format_other: Callable[[Json], str] = format_value
) -> str:
    """Return the value of a memory as text for people; of a knowledge page its title and its text.

    ``format_other`` formats the values of all other memories.
    """
    value = entry.get("value")
    if not str(entry.get("key", "")).startswith(PAGE_KEY) or not isinstance(value, Mapping):
        return format_other(value)
    texts = (value.get("title"), value.get("content") or value.get("summary"))
    return format_value("\n\n".join(text for text in texts if isinstance(text, str) and text))
