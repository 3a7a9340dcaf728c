"""Cuts large values of events, whose flag ``…_truncated`` then says so. The details of the run have them whole."""

from collections.abc import Mapping
from typing import Final

from workflows.engine.language.document import Json


MAX_TEXT: Final = 100_000  # characters
MAX_ITEMS: Final = 1_000
MAX_DEPTH: Final = 50
CUT_MARK: Final = "..."


def truncate(value: Json, depth: int = 0) -> tuple[Json, bool]:
    """Return the value with long texts and lists cut, and whether anything was cut."""
    if isinstance(value, str):
        is_long = len(value) > MAX_TEXT
        return (value[:MAX_TEXT] + CUT_MARK if is_long else value), is_long
    if depth > MAX_DEPTH:
        return CUT_MARK, True
    if isinstance(value, Mapping):
        pairs = {key: truncate(item, depth + 1) for key, item in value.items()}
        return {key: pair[0] for key, pair in pairs.items()}, any(p[1] for p in pairs.values())
    if isinstance(value, list | tuple):
        items = [truncate(item, depth + 1) for item in value[:MAX_ITEMS]]
        return [item for item, _cut in items], len(value) > MAX_ITEMS or any(c for _i, c in items)
    return value, False
