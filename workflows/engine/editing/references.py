"""Renames references inside a node's data: ``{{#old.x#}}``, selectors, and plain ids of nodes."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from workflows.engine.language.document import Json


# The first part, or the first two parts, of a selector → their replacement.
Names = Mapping[tuple[str, ...], tuple[str, ...]]

_REFERENCE: Final = re.compile(r"\{\{#([^#{}\s]+)#\}\}")
# Keys whose value is the plain id of a node.
_ID_KEYS: Final = frozenset(
    {"start_node_id", "iteration_id", "loop_id", "parentId", "nodeId", "node_id"}
)
# Lists of the author's strings, which may look like a selector.
_TEXT_LISTS: Final = frozenset({"options", "choices", "tags", "stop", "required", "enum"})


def rename_references(value: Json, names: Names) -> Json:
    """Return a copy in which every reference to an old name has the new name."""
    if isinstance(value, str):
        return value if "{{#" not in value else _REFERENCE.sub(partial(_rename_match, names), value)
    if isinstance(value, Mapping):
        return {key: _rename_member(key, member, names) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return _rename_in_list(value, names)
    return value


def _rename_member(key: str, value: Json, names: Names) -> Json:
    if key in _ID_KEYS and isinstance(value, str):
        return names.get((value,), (value,))[0]
    if key in _TEXT_LISTS and isinstance(value, list):
        return [rename_references(item, names) for item in value]
    return rename_references(value, names)


def _rename_in_list(items: Json, names: Names) -> Json:
    """Rename the references in a list, which may itself be a selector."""
    if len(items) > 1 and all(isinstance(item, str) for item in items):
        selector = _rename_selector(tuple(items), names)
        if selector is not None:
            return list(selector)
    return [rename_references(item, names) for item in items]


def _rename_match(names: Names, match: re.Match[str]) -> str:
    selector = _rename_selector(tuple(match[1].split(".")), names)
    return match[0] if selector is None else "{{#" + ".".join(selector) + "#}}"


def _rename_selector(selector: tuple[str, ...], names: Names) -> tuple[str, ...] | None:
    for length in (1, 2):
        new_start = names.get(selector[:length])
        if new_start is not None and len(selector) > 1:
            return (*new_start, *selector[length:])
    return None
