"""Finds out whether a run may reach a node without the outputs of another one, because it took another branch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.config_errors import HALF_MADE
from workflows.engine.language.document import NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE, has_fail_branch
from workflows.engine.language.graph import Graph, traverse


# Nodes and branches that are looked at for all questions of a document. After that, nothing is found.
MAX_VISITED: Final = 100_000
_SUCCESS: Final = "source"


@dataclass
class SkipFinder:
    """Answers for many pairs of nodes of one graph."""

    graph: Graph
    kinds: Mapping[str, AnyKind]
    _reached: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    _choices: dict[str | None, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    _visited: int = 0

    def find_branch(self, source: str, reader: str) -> str | None:
        """Return a branch after which a run reaches the reader without outputs of the source, or None."""
        parent = self.graph.nodes[source].parent
        levels = (reader, *self.graph.list_containers(reader))
        target = next((id_ for id_ in levels if self.graph.nodes[id_].parent == parent), None)
        if target is None or target == source:
            return None
        for branch, handle in self._list_choices(parent):
            self._visited += 1
            if self._visited > MAX_VISITED:
                return None
            if branch == source:
                is_missing = handle == FAIL_HANDLE
            elif self.graph.is_visible(branch, source):
                is_missing = source not in self._find_reached(branch, handle)
            else:
                continue
            if is_missing and target in self._find_reached(branch, handle):
                return branch
        return None

    def _list_choices(self, parent: str | None) -> tuple[tuple[str, str], ...]:
        """Return each branch of a level with each of its handles."""
        if parent not in self._choices:
            self._choices[parent] = tuple(
                (id_, handle)
                for id_ in self.graph.list_children(parent)
                for handle in self._list_handles(self.graph.nodes[id_])
            )
        return self._choices[parent]

    def _list_handles(self, spec: NodeSpec) -> tuple[str, ...]:
        kind = self.kinds.get(spec.kind)
        if kind is None:
            return ()
        if has_fail_branch(spec.data):
            return (_SUCCESS, FAIL_HANDLE)
        if kind.execution is not Execution.BRANCH:
            return ()
        try:
            return tuple(kind.list_handles(spec))
        except HALF_MADE:
            return ()

    def _find_reached(self, branch: str, handle: str) -> frozenset[str]:
        """Return the nodes of the branch's level that a run may reach if it takes this handle there."""
        key = (branch, handle)
        if key not in self._reached:
            parent = self.graph.nodes[branch].parent
            roots = self._list_roots(parent)
            reached = frozenset(roots) | traverse(roots, lambda id_: self._list_next(id_, key))
            self._visited += len(reached)
            self._reached[key] = reached
        return self._reached[key]

    def _list_next(self, id_: str, choice: tuple[str, str]) -> tuple[str, ...]:
        branch, handle = choice
        if id_ != branch:
            return self.graph.list_successors(id_)
        edges = self.graph.list_outgoing(id_)
        return tuple(edge.target for edge in edges if edge.handle == handle)

    def _list_roots(self, parent: str | None) -> tuple[str, ...]:
        if parent is not None:
            entry = self.graph.find_entry(parent)
            return () if entry is None else (entry,)
        return tuple(
            id_
            for id_ in self.graph.list_children(None)
            if (kind := self.kinds.get(self.graph.nodes[id_].kind)) is not None
            and kind.execution is Execution.ROOT
        )
