"""The variable pool of a run: the values that nodes can read, by selector.

A selector has the id of a source (a node's id, ``sys``, ``env`` or ``conversation``) and a name; longer selectors
read parts of objects and files. The values of a source are replaced and never changed in place, so a copy for a round
of an iteration costs one dict of references, however large the values are.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from workflows.engine.errors import VariableNotFound
from workflows.engine.language.document import Json
from workflows.engine.language.values import FILE_ATTRIBUTES, get_file_attribute, is_file


SYSTEM: Final = "sys"
ENVIRONMENT: Final = "env"
CONVERSATION: Final = "conversation"
_SYSTEM_PREFIX: Final = f"{SYSTEM}."
RESERVED_SOURCE_IDS: Final = frozenset({SYSTEM, ENVIRONMENT, CONVERSATION, "rag"})


class Missing(Enum):
    """The result for a selector that has no value, as opposed to one whose value is null."""

    MISSING = "missing"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing.MISSING


class VariablePool:
    """The values of one scope of a run, by source and name."""

    __slots__ = ("_sources",)

    def __init__(
        self,
        *,
        system: Mapping[str, Json] | None = None,
        environment: Mapping[str, Json] | None = None,
        conversation: Mapping[str, Json] | None = None,
    ) -> None:
        self._sources: dict[str, Mapping[str, Json]] = {
            SYSTEM: system or {},
            ENVIRONMENT: environment or {},
            CONVERSATION: conversation or {},
        }

    def get(self, selector: Sequence[str]) -> Json:
        """Return the value at a selector, or MISSING."""
        try:
            value = self._sources[selector[0]][selector[1]]
        except (KeyError, IndexError):
            system = normalize_selector(selector)
            return MISSING if system is selector else self.get(system)
        if len(selector) == 2:
            return value
        return _follow_path(value, selector[2:])

    def get_or_none(self, selector: Sequence[str]) -> Json:
        value = self.get(selector)
        return None if value is MISSING else value

    def require(self, selector: Sequence[str]) -> Json:
        value = self.get(selector)
        if value is MISSING:
            raise VariableNotFound(selector)
        return value

    def __contains__(self, selector: Sequence[str]) -> bool:
        return self.get(selector) is not MISSING

    def get_values(self, source_id: str) -> Mapping[str, Json]:
        """Return the values of a source by name; empty if there are none."""
        return self._sources.get(source_id, {})

    def set_outputs(self, node_id: str, outputs: Mapping[str, Json]) -> None:
        """Replace a node's outputs. The mapping is stored, not copied."""
        self._sources[node_id] = outputs

    def set(self, selector: Sequence[str], value: Json) -> None:
        """Set one variable. The selector must be a source and a name, because parts of objects can't be set."""
        source_id, name = selector
        self._sources[source_id] = {**self._sources.get(source_id, {}), name: value}

    def discard(self, node_ids: Iterable[str]) -> None:
        """Remove the outputs of nodes, as before each round of a loop."""
        for node_id in node_ids:
            self._sources.pop(node_id, None)

    def copy(self) -> "VariablePool":
        """Return an independent pool with the same contents."""
        pool = VariablePool.__new__(VariablePool)
        pool._sources = self._sources.copy()
        return pool

    def get_conversation(self) -> dict[str, Json]:
        """Return the current conversation variables."""
        return dict(self._sources[CONVERSATION])


def normalize_selector(selector: Sequence[str]) -> Sequence[str]:
    """Return the selector of a system variable for its name as an output of a start node.

    Dify writes ``[sys, query]``, ``[start, sys.query]`` and, in texts, ``{{#start.sys.query#}}``, which is read as
    ``[start, sys, query]``. Any other selector is returned unchanged.
    """
    if len(selector) > 1 and selector[1].startswith(_SYSTEM_PREFIX):
        return (SYSTEM, selector[1].removeprefix(_SYSTEM_PREFIX), *selector[2:])
    if len(selector) > 2 and selector[1] == SYSTEM:
        return selector[1:]
    return selector


def _follow_path(value: Json, path: Sequence[str]) -> Json:
    for position, key in enumerate(path):
        if not isinstance(value, Mapping):
            return MISSING
        if is_file(value):
            # The attributes of a file have no parts.
            if position + 1 < len(path) or key not in FILE_ATTRIBUTES:
                return MISSING
            return get_file_attribute(value, key)
        if key not in value:
            return MISSING
        value = value[key]
    return value
