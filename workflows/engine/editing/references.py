"""References inside a node's data, renamed: ``{{#old.x#}}``, selectors, and ids of nodes by themselves."""

import re
from collections.abc import Mapping
from typing import Final

from workflows.engine.language.document import Json


# The first one, or first few, parts of a selector → what stands there instead.
Names = Mapping[tuple[str, ...], tuple[str, ...]]

_REFERENCE: Final = re.compile(r"\{\{#([^#{}\s]+)#\}\}")
# Where the id of a node stands by itself.
_ID_KEYS: Final = frozenset(
    {"start_node_id", "iteration_id", "loop_id", "parentId", "nodeId", "node_id"}
)
# Lists of what people wrote, which may well look like a selector.
_WORDS: Final = frozenset({"options", "choices", "tags", "stop", "required", "enum"})


def renamed(value: Json, names: Names) -> Json:
    """A copy in which every reference to an old name leads to the new one."""
    if isinstance(value, str):
        return _in_text(value, names)
    if isinstance(value, Mapping):
        return {key: _member(key, part, names) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return _in_list(value, names)
    return value


def _member(key: str, value: Json, names: Names) -> Json:
    if key in _ID_KEYS and isinstance(value, str):
        return names.get((value,), (value,))[0]
    if key in _WORDS and isinstance(value, list):
        return [
            _in_text(part, names) if isinstance(part, str) else renamed(part, names)
            for part in value
        ]
    return renamed(value, names)


def _in_list(parts: Json, names: Names) -> Json:
    if len(parts) > 1 and all(isinstance(part, str) for part in parts):
        found = _heading(tuple(parts), names)
        if found is not None:
            return list(found)
    return [renamed(part, names) for part in parts]


def _in_text(text: str, names: Names) -> str:
    if "{{#" not in text:
        return text
    return _REFERENCE.sub(lambda match: _in_reference(match, names), text)


def _in_reference(match: "re.Match[str]", names: Names) -> str:
    found = _heading(tuple(match[1].split(".")), names)
    return match[0] if found is None else "{{#" + ".".join(found) + "#}}"


def _heading(selector: tuple[str, ...], names: Names) -> tuple[str, ...] | None:
    for length in (1, 2):
        new = names.get(selector[:length])
        if new is not None and len(selector) > 1:
            return (*new, *selector[length:])
    return None
