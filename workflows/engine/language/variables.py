"""The variable pool of a run: the values that nodes can read, by selector.

Two levels deep, head (a node id or ``sys``, ``env``, ``conversation``) and name; deeper selectors read parts of
objects and files. Heads are replaced and never changed in place, so a copy for a round of an iteration costs one dict
of references, however large the values are.
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
RESERVED_HEADS: Final = frozenset({SYSTEM, ENVIRONMENT, CONVERSATION, "rag"})


class Missing(Enum):
    """The result for a selector without a value; null is a value."""

    MISSING = "missing"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing.MISSING


class VariablePool:
    """The values of one scope of a run, by head and name."""

    __slots__ = ("_heads",)

    def __init__(
        self,
        *,
        system: Mapping[str, Json] | None = None,
        environment: Mapping[str, Json] | None = None,
        conversation: Mapping[str, Json] | None = None,
    ) -> None:
        self._heads: dict[str, Mapping[str, Json]] = {
            SYSTEM: system or {},
            ENVIRONMENT: environment or {},
            CONVERSATION: conversation or {},
        }

    def get(self, selector: Sequence[str]) -> Json:
        """Return the value at a selector, or MISSING."""
        try:
            value = self._heads[selector[0]][selector[1]]
        except (KeyError, IndexError):
            return MISSING
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

    def get_head(self, name: str) -> Mapping[str, Json]:
        """Return the values under a head; empty if there are none."""
        return self._heads.get(name, {})

    def set_outputs(self, head: str, outputs: Mapping[str, Json]) -> None:
        """Replace a node's outputs. The mapping is stored, not copied."""
        self._heads[head] = outputs

    def set(self, selector: Sequence[str], value: Json) -> None:
        """Set one variable; a selector is head and name, parts of objects can't be written."""
        head, name = selector
        self._heads[head] = {**self._heads.get(head, {}), name: value}

    def discard(self, heads: Iterable[str]) -> None:
        """Remove the outputs of nodes, as before each round of a loop."""
        for head in heads:
            self._heads.pop(head, None)

    def copy(self) -> "VariablePool":
        """Return an independent pool with the same contents."""
        pool = VariablePool.__new__(VariablePool)
        pool._heads = self._heads.copy()
        return pool

    def get_conversation(self) -> dict[str, Json]:
        """Return the current conversation variables."""
        return dict(self._heads[CONVERSATION])


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
