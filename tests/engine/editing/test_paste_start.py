"""A start that is pasted where there is one already: it stays behind, what followed it doesn't."""

from dataclasses import replace

import pytest

from tests.engine.editing.gestures import DOCUMENT, context
from workflows.engine.editing import InMemoryStore, apply_all, perform, read_ops
from workflows.engine.editing.ops import Paste
from workflows.engine.editing.paste import has_dropped_start


WHOLE = """
nodes:
  - {id: s, type: custom, position: {x: 0, y: 0}, data: {type: start, title: Begin, variables: []}}
  - id: a
    type: custom
    position: {x: 300, y: 0}
    data: {type: answer, title: A, answer: "{{#s.question#}} and {{#sys.query#}}"}
edges:
  - {id: e, source: s, target: a, sourceHandle: source, targetHandle: target}
"""
EMPTY = replace(DOCUMENT, nodes=(), edges=())
BARE = replace(EMPTY, nodes=tuple(node for node in DOCUMENT.nodes if node.kind == "start"))
ALONE = WHOLE.replace("type: start, title: Begin", "type: answer, title: Begin")


def start_of(store: InMemoryStore) -> str:
    return next(item.id for item in store.items.values() if item.kind == "start")


def test_copy_is_not_connected_to_a_start_that_leads_somewhere():
    store = InMemoryStore(DOCUMENT)
    start, before = start_of(store), set(store.items)

    perform(store, read_ops([{"op": "paste", "text": WHOLE}]), context())

    [new] = set(store.items) - before
    assert store.list_node_edges(new) == []
    assert store.items[new].data["answer"] == f"{{{{#{start}.question#}}}} and {{{{#sys.query#}}}}"


def test_what_followed_the_pasted_start_follows_an_idle_one():
    store = InMemoryStore(BARE)
    start, before = start_of(store), set(store.items)

    performed = perform(store, read_ops([{"op": "paste", "text": WHOLE}]), context())

    [new] = set(store.items) - before
    edges = [(w.source, w.target) for w in store.edges.values() if w.target == new]
    assert edges == [(start, new)]
    assert store.items[new].data["answer"] == f"{{{{#{start}.question#}}}} and {{{{#sys.query#}}}}"
    apply_all(store, performed.inverse)
    assert store.build_document() == InMemoryStore(BARE).build_document()


def test_nothing_leads_into_a_container_from_the_start_outside():
    store = InMemoryStore(DOCUMENT)
    box = {"id": "box", "kind": "iteration", "x": 0, "y": 900}
    perform(store, read_ops([{"op": "add", "node": box}]), context())
    before = set(store.items)

    perform(store, read_ops([{"op": "paste", "text": WHOLE, "parent": "box"}]), context())

    [new] = set(store.items) - before
    assert [w for w in store.edges.values() if w.target == new] == []


@pytest.mark.parametrize(
    ("text", "document", "left"),
    [(WHOLE, DOCUMENT, True), (ALONE, DOCUMENT, False), (WHOLE, EMPTY, False)],
)
def test_start_left_out_is_told(text, document, left):
    store = InMemoryStore(document)

    performed = perform(store, read_ops([{"op": "paste", "text": text}]), context())

    assert has_dropped_start(Paste(text), performed.ops) is left
