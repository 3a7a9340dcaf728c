"""The finished steps of earlier attempts at a run, grouped by the scope they belong to."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from workflows.engine.language.document import Document
from workflows.engine.runtime.step_records import StepRecord, StepStatus


_FINISHED: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.EXCEPTION, StepStatus.FAILED})

# A container and its rounds; None and no rounds: the top.
Scope = tuple[str | None, tuple[int, ...]]


class StepHistory:
    """Groups recorded steps by scope: those directly in it, and those anywhere inside a container's rounds."""

    __slots__ = ("_inside", "_parents", "_steps")

    def __init__(self, document: Document, history: Sequence[StepRecord]) -> None:
        self._parents: Mapping[str, str | None] = {node.id: node.parent for node in document.nodes}
        self._steps: dict[Scope, list[StepRecord]] = defaultdict(list)
        self._inside: dict[Scope, list[StepRecord]] = defaultdict(list)
        for record in history:
            self._add(record)

    def __bool__(self) -> bool:
        return bool(self._steps)

    def list_steps(self, container: str | None, rounds: tuple[int, ...]) -> Sequence[StepRecord]:
        """Return the finished steps directly in a scope, in the order in which they finished."""
        return self._steps.get((container, rounds), ())

    def list_inner_steps(self, container: str, rounds: tuple[int, ...]) -> Sequence[StepRecord]:
        """Return the steps of all rounds of a container, at every depth. ``rounds`` are the container's."""
        return self._inside.get((container, rounds), ())

    def _add(self, record: StepRecord) -> None:
        node, rounds = record.key.node_id, record.key.rounds
        ancestors = self._list_ancestors(node)
        if node not in self._parents or len(ancestors) != len(rounds):
            return  # the document has changed, and the step is no longer in it
        if record.status in _FINISHED:
            self._steps[ancestors[0] if ancestors else None, rounds].append(record)
        for depth, container in enumerate(ancestors, start=1):
            self._inside[container, rounds[:-depth]].append(record)

    def _list_ancestors(self, node: str) -> list[str]:
        ancestors: list[str] = []
        parent = self._parents.get(node)
        while parent is not None and parent not in ancestors:
            ancestors.append(parent)
            parent = self._parents.get(parent)
        return ancestors
