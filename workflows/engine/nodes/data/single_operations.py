"""The operations of xworkflow's list operator, of which a node has one, on lists of any values."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from workflows.engine.errors import NodeFailed
from workflows.engine.language.containers import BODY_OPERATIONS
from workflows.engine.language.document import Json
from workflows.engine.language.values import is_number
from workflows.engine.nodes.data.list_operations import build_error


def apply_operation(
    name: str, value: Json, settings: Mapping[str, Json], second: Json = None
) -> Json:
    """Return the result of an operation. ``second`` is the other list of ``concat``. Raises NodeFailed."""
    if name not in OPERATIONS:
        raise build_error(describe_unsupported(name))
    if not isinstance(value, list | tuple):
        raise build_error("The variable is not a list")
    return OPERATIONS[name](list(value), settings, second)


def describe_unsupported(name: str) -> str:
    if name in BODY_OPERATIONS:  # with a body, the node is an iteration
        return f"The operation {name} needs nodes inside; use an iteration or code instead"
    return f"Unsupported operation {name!r}"


def _sort(items: list[Json], settings: Mapping[str, Json], _second: Json) -> list[Json]:
    """Sort the items, or objects by one of their values: numbers come first, then text, then the others."""
    key = settings.get("sort_key")

    def rank(item: Json) -> tuple[int, Any]:
        value = item.get(key) if isinstance(key, str) and isinstance(item, Mapping) else item
        if value is None:
            return 3, 0
        if is_number(value) or isinstance(value, bool):
            return 0, value
        return (1, value) if isinstance(value, str) else (2, _canonicalize(value))

    return sorted(items, key=rank, reverse=settings.get("sort_order") == "desc")


def _slice(items: list[Json], settings: Mapping[str, Json], _second: Json) -> list[Json]:
    start, end = settings.get("start") or 0, settings.get("end")
    limits = [limit for limit in (start, end) if limit is not None]
    if not all(isinstance(limit, int) and limit >= 0 for limit in limits):
        raise build_error("start and end must be whole numbers, zero or greater")
    return items[start:end]


def _flatten(items: list[Json], _settings: Mapping[str, Json], _second: Json) -> list[Json]:
    """Return the items of the lists among the items, and the other items, in order."""
    lists = [item if isinstance(item, list | tuple) else [item] for item in items]
    return [item for inner in lists for item in inner]


def _remove_repeats(items: list[Json], _settings: Mapping[str, Json], _second: Json) -> list[Json]:
    unique: dict[str, Json] = {}
    for item in items:
        unique.setdefault(_canonicalize(item), item)
    return [*unique.values()]


def _concatenate(items: list[Json], _settings: Mapping[str, Json], second: Json) -> list[Json]:
    if not isinstance(second, list | tuple):
        raise NodeFailed("InvalidListOperationError", "The second variable is not a list")
    return [*items, *second]


def _canonicalize(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


OPERATIONS: Final[Mapping[str, Callable[[list[Json], Mapping[str, Json], Json], Json]]] = {
    "sort": _sort,
    "slice": _slice,
    "first": lambda items, _settings, _second: items[0] if items else None,
    "last": lambda items, _settings, _second: items[-1] if items else None,
    "flatten": _flatten,
    "unique": _remove_repeats,
    "reverse": lambda items, _settings, _second: items[::-1],
    "concat": _concatenate,
    "length": lambda items, _settings, _second: len(items),
}
OUTPUT_TYPES: Final[Mapping[str, str]] = {"first": "any", "last": "any", "length": "number"}
