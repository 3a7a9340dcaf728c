"""A value as people read it."""

import json

from workflows.engine.language.document import Json


LONGEST_SHOWN = 20_000


def format_value(value: Json) -> str:
    """A huge one is cut here, never in what is kept."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
