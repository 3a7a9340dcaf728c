"""Edges that heal over a deleted node: asked only what may have changed, and what hangs on them still."""

from itertools import pairwise

import pytest

from tests.engine.editing.gestures import context
from workflows.engine.document import Document, EdgeSpec, Mode, NodeSpec
from workflows.engine.editing import EditRefused, Memory, perform, read_ops


class Asked(Memory):
    """Counts how often it is asked where wires lead."""

    times = 0

    def leads_to(self, source, goal):
        self.times += 1
        return super().leads_to(source, goal)


def chain(*ids):
    nodes = tuple(NodeSpec(id_, "template-transform", {}) for id_ in ids)
    edges = tuple(EdgeSpec(f"{a}-{b}", a, b) for a, b in pairwise(ids))
    return Asked(Document(Mode.WORKFLOW, nodes, edges))


def did(store, *ops):
    return perform(store, read_ops(list(ops)), context("new"))


def test_edge_that_heals_is_not_followed_through_the_graph():
    store = chain("a", "b", "c", "d")

    done = did(store, {"op": "delete", "id": "b", "heal": True})

    assert [op.wire.ends[:2] for op in done.ops if hasattr(op, "wire")] == [("a", "c")]
    assert store.times == 0


def test_circle_that_leads_over_a_healing_edge_is_refused():
    store = chain("a", "b", "c", "d")

    with pytest.raises(EditRefused, match="circle"):
        did(
            store,
            {"op": "delete", "id": "b", "heal": True},
            {"op": "connect", "edge": {"source": "d", "target": "a"}},
        )
