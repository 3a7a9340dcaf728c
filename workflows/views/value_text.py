"""Formats values as readable text."""

import json
import unicodedata
from collections.abc import Callable, Mapping

from workflows.engine.language.document import Json


MAX_LENGTH = 20_000
# Characters that show nothing, or show what follows in another order, and separators of lines that look like none.
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cn", "Zl", "Zp"})
PAGE_KEY = (
    "page:"  # with which the keys of knowledge pages begin; as in static/js/runs/recollections.js
)


def format_value(value: Json) -> str:
    """Return a value as text for people, shortened to MAX_LENGTH; a value that isn't text is shown as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"


def format_arguments(value: Json) -> str:
    """Return all arguments of a call that a person is to allow. Characters that nobody sees are written as escapes."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if text.isascii() and text.isprintable() else "".join(map(_show_character, text))


def _show_character(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _UNSEEN_CATEGORIES:
        return character
    return json.dumps(character)[1:-1]  # as in JSON


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
