"""Where what is pasted lies: as wished when there is room, else as little below as it takes."""

from tests.engine.editing.gestures import DOCUMENT, context
from workflows.engine.editing import InMemoryStore, perform, read_ops


NODE = "nodes: [{id: a, type: custom, position: {x: 0, y: 0}, data: {type: answer, title: A}}]"


def pasted(store: InMemoryStore, x: float, y: float, text: str = NODE) -> list[tuple[float, float]]:
    before = set(store.items)
    perform(store, read_ops([{"op": "paste", "text": text, "x": x, "y": y}]), context())
    return [(item.x, item.y) for item in store.items.values() if item.id not in before]


def test_pasted_node_lies_where_it_was_wished():
    assert pasted(InMemoryStore(DOCUMENT), 320, 600) == [(320, 600)]


def test_pasted_node_leaves_the_room_of_a_run_mark_above_it():
    store = InMemoryStore(DOCUMENT)

    first, second = pasted(store, 10, 10), pasted(store, 10, 10)

    # the start node stands at 0, 0 and is 64 high; 40 lie between, to the next line of the grid
    assert first == [(10, 106)]
    assert second == [(10, 210)]


def test_pasted_node_leaves_room_beside_it():
    assert pasted(InMemoryStore(DOCUMENT), -250, 0) == [(-250, 104)]
    assert pasted(InMemoryStore(DOCUMENT), -272, 0) == [(-272, 0)]


def test_pasted_node_leaves_room_below_it():
    assert pasted(InMemoryStore(DOCUMENT), 0, -70) == [(0, 106)]
    assert pasted(InMemoryStore(DOCUMENT), 0, -104) == [(0, -104)]


def test_pasted_group_keeps_its_distances():
    two = NODE[:-1] + ", {id: b, type: custom, position: {x: 400, y: 40}, data: {type: answer}}]"

    [first, second] = pasted(InMemoryStore(DOCUMENT), 10, 10, two)

    assert (second[0] - first[0], second[1] - first[1]) == (400, 40)
