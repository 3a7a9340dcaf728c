"""Decides which nodes are ready or skipped, from the edges decided so far. It has no side effects.

A node is ready when no edge into it is unknown any more and at least one was taken; it runs once.
Skips are propagated before taken edges are followed, so a join that becomes ready by a skip comes first.
"""

from enum import IntEnum

from workflows.engine.language.plan import Plan


class EdgeState(IntEnum):
    UNKNOWN = 0
    TAKEN = 1
    SKIPPED = 2


class Scheduler:
    """Counts the undecided edges into each node of one scope."""

    __slots__ = ("_nodes", "_taken", "_unknown", "edges")

    def __init__(self, plan: Plan) -> None:
        self._nodes = plan.nodes
        self._unknown = [node.indegree for node in plan.nodes]
        self._taken = bytearray(len(plan.nodes))
        self.edges = bytearray(len(plan.edges))  # an EdgeState each

    def finish(self, index: int, handle: str | None) -> tuple[list[int], list[int]]:
        """Return the (ready, skipped) nodes, in order, after a node ended. ``handle`` is the choice of a branch."""
        node = self._nodes[index]
        ready: list[int] = []
        skipped: list[int] = []
        taken_edges = node.outgoing
        if node.is_branching:
            handle_name = handle or "source"
            taken_edges = tuple(edge for edge in node.outgoing if edge.handle == handle_name)
            for edge in node.outgoing:
                if edge.handle != handle_name:
                    self._skip(edge.index, edge.target, ready, skipped)
        for edge in taken_edges:
            target = edge.target
            self.edges[edge.index] = EdgeState.TAKEN
            self._taken[target] = 1
            self._unknown[target] -= 1
            if not self._unknown[target]:
                ready.append(target)
        return ready, skipped

    def _skip(self, edge: int, target: int, ready: list[int], skipped: list[int]) -> None:
        pending = [(edge, target)]
        while pending:
            edge, target = pending.pop()
            self.edges[edge] = EdgeState.SKIPPED
            self._unknown[target] -= 1
            if self._unknown[target]:
                continue
            if self._taken[target]:
                ready.append(target)
                continue
            skipped.append(target)
            # Reversed, because the stack returns the last pushed node first.
            outgoing = reversed(self._nodes[target].outgoing)
            pending += [(following.index, following.target) for following in outgoing]
