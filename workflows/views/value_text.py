"""Formats values as readable text."""

import json

from workflows.engine.language.document import Json


MAX_LENGTH = 20_000


def format_value(value: Json) -> str:
    """Return a value as text for people, shortened to MAX_LENGTH; a value that isn't text is shown as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"
