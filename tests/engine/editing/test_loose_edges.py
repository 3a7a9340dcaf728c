"""Edits of a document with edges that have lost an end."""

from tests.engine.editing.gestures import context
from workflows.engine.editing import InMemoryStore, perform, read_ops
from workflows.engine.editing.apply import apply_all
from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec


NODES = tuple(NodeSpec(id_, "template-transform", {}) for id_ in ("a", "b", "c"))
EDGES = (EdgeSpec("1", "a", "b"), EdgeSpec("2", "b", "c"))
LOOSE = (EdgeSpec("from", "b", "", extra={"target": None}), EdgeSpec("to", "", "b"))


def build_store() -> InMemoryStore:
    return InMemoryStore(Document(Mode.WORKFLOW, NODES, EDGES + LOOSE))


def test_loose_edge_is_deleted_and_undo_brings_it_back():
    store = build_store()

    result = perform(store, read_ops([{"op": "disconnect", "id": "from"}]), context())
    edges = store.build_document().edges
    apply_all(store, result.inverse)

    assert edges == (*EDGES, LOOSE[1])
    assert store.build_document() == build_store().build_document()


def test_node_with_loose_edges_is_deleted_and_only_its_neighbours_are_connected():
    store = build_store()

    perform(store, read_ops([{"op": "delete", "id": "b", "heal": True}]), context())

    assert [(edge.source, edge.target) for edge in store.build_document().edges] == [("a", "c")]
