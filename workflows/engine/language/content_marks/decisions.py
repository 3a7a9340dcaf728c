"""Finds the nodes that run or not as untrusted content decides: behind branches, in containers, and behind failures.

Such a node has a mark of its own, which is the node's id with an ending. It is no name of an output.
"""

from collections.abc import Iterable, Set
from typing import Final

from pydantic import ValidationError

from workflows.engine.errors import EngineFault
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import NodeSpec, Selector
from workflows.engine.language.failure_policy import FAIL_HANDLE, handles_failure
from workflows.engine.language.graph import Graph


# The names under which the nodes inside a container read and set its values, as xworkflow has them.
ROUND_VALUES: Final = frozenset({"loop", "__scope__"})
_SOURCE: Final = "source"  # the handle behind which a run goes on after a success
_CHOSEN: Final = "#chosen"


class Decisions:
    """Tells what the nodes of a document decide about other nodes."""

    def __init__(self, nodes: Iterable[tuple[NodeSpec, AnyKind]], graph: Graph) -> None:
        self._nodes = {spec.id: (spec, kind) for spec, kind in nodes}
        self._graph = graph
        self._decided: dict[str, frozenset[str]] = {}
        self._behind_failures: dict[str, frozenset[str]] = {}

    def decides(
        self, spec: NodeSpec, kind: AnyKind, reads: frozenset[str], marked: Set[str]
    ) -> bool:
        """Return whether untrusted content chooses the handle of a branch, or the rounds of a container."""
        if kind.execution is Execution.BRANCH:
            return spec.id in marked and not kind.waits_for_people
        if kind.execution is not Execution.CONTAINER:
            return False
        return not marked.isdisjoint(self._list_round_decisions(spec, kind, reads))

    def list_decided(self, spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
        """Return the marks of the nodes about which a branch or a container decides."""
        if spec.id not in self._decided:
            if kind.execution is Execution.CONTAINER:
                nodes = self._graph.list_inside(spec.id)
            else:
                nodes = self._graph.find_decided(spec.id, _list_handles(spec, kind))
            self._decided[spec.id] = build_chosen_marks(nodes)
        return self._decided[spec.id]

    def list_failing_inside(self, spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
        """Return the nodes inside a container whose failures it survives, so that its outputs tell of them."""
        if kind.execution is Execution.CONTAINER and self._goes_on(spec, kind):
            return self._graph.list_inside(spec.id)
        return frozenset()

    def list_behind_failure(self, node: str) -> frozenset[str]:
        """Return the marks of the nodes that run or not as a node fails, if its failure doesn't end the run."""
        if node not in self._behind_failures:
            nodes = self._find_behind_failure(*self._nodes[node])
            self._behind_failures[node] = build_chosen_marks(nodes)
        return self._behind_failures[node]

    def _list_round_decisions(
        self, spec: NodeSpec, kind: AnyKind, reads: frozenset[str]
    ) -> frozenset[str]:
        """Return the names and marks of what decides which rounds a container has."""
        inside = self._graph.list_inside(spec.id)
        last = (name for name in inside if name in self._nodes and self._nodes[name][1].ends_rounds)
        after_rounds = frozenset(selector[0] for selector in _list_exit_reads(spec, kind))
        before = reads - inside - ROUND_VALUES - {spec.id}
        return before | after_rounds | build_chosen_marks(last)

    def _find_behind_failure(self, spec: NodeSpec, kind: AnyKind) -> frozenset[str]:
        if kind.waits_for_people:
            return frozenset()
        if any(edge.handle == FAIL_HANDLE for edge in self._graph.list_outgoing(spec.id)):
            return self._graph.find_decided(spec.id, (_SOURCE, FAIL_HANDLE))
        return frozenset() if handles_failure(spec.data) else self._find_behind_lost_round(spec.id)

    def _find_behind_lost_round(self, node: str) -> frozenset[str]:
        """Return the nodes inside containers that don't run any more as a node fails, up to a container that goes on."""
        containers = [
            self._nodes[name] for name in self._graph.list_containers(node) if name in self._nodes
        ]
        if not any(self._goes_on(*container) for container in containers):
            return frozenset()
        decided, failed = frozenset[str](), node
        for spec, kind in containers:
            siblings = frozenset(self._graph.list_children(spec.id))
            rest = siblings - self._graph.find_upstream(failed) - {failed}
            decided |= rest.union(*map(self._graph.list_inside, rest))
            if kind.survives_failed_rounds(spec):
                break
            decided |= self._graph.list_inside(spec.id)  # the rounds that would follow
            if handles_failure(spec.data):
                break
            failed = spec.id
        return decided

    @staticmethod
    def _goes_on(spec: NodeSpec, kind: AnyKind) -> bool:
        """Return whether a container, or the run behind it, goes on after a round that failed."""
        return handles_failure(spec.data) or kind.survives_failed_rounds(spec)


def build_chosen_mark(node_id: str) -> str:
    """Return the name of the mark of a node that untrusted content decided about."""
    return f"{node_id}{_CHOSEN}"


def build_chosen_marks(nodes: Iterable[str]) -> frozenset[str]:
    return frozenset(map(build_chosen_mark, nodes))


def _list_handles(spec: NodeSpec, kind: AnyKind) -> tuple[str, ...]:
    try:
        return kind.list_handles(spec)
    except (ValidationError, EngineFault):
        return ()  # an incomplete draft, which cannot run


def _list_exit_reads(spec: NodeSpec, kind: AnyKind) -> tuple[Selector, ...]:
    try:
        return kind.list_exit_reads(spec)
    except (ValidationError, EngineFault):
        return ()  # an incomplete draft, which cannot run
