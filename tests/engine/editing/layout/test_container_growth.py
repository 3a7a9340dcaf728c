"""What comes into a container makes it larger, and what then would be covered moves aside."""

import pytest

from tests.engine.editing.gestures import DOCUMENT, context
from workflows.engine.editing import InMemoryStore, apply_all, perform, read_ops


def opened(width: float = 400, height: float = 200) -> InMemoryStore:
    """The iteration of the common draft at 900, 0 with the end node right of it at 1300, 0."""
    store = InMemoryStore(DOCUMENT)
    perform(
        store,
        read_ops([{"op": "resize", "id": "it", "width": width, "height": height}]),
        context(),
    )
    return store


def size(store: InMemoryStore, id_: str) -> tuple[float | None, float | None]:
    item = store.get_item(id_)
    assert item is not None
    return item.width, item.height


def place(store: InMemoryStore, id_: str) -> tuple[float, float]:
    item = store.get_item(id_)
    assert item is not None
    return item.x, item.y


def gesture(store: InMemoryStore, *ops: dict):
    return perform(store, read_ops(list(ops)), context(), grows=True)


@pytest.mark.parametrize(
    "op",
    [
        {"op": "move", "id": "in", "x": 300, "y": 260},
        {"op": "add", "node": {"id": "new", "kind": "answer", "x": 300, "y": 260, "parent": "it"}},
        {"op": "reparent", "id": "l2", "parent": "it", "x": 300, "y": 260},
    ],
)
def test_container_grows_around_what_came_into_it(op):
    store = opened()

    gesture(store, op)

    assert size(store, "it") == (300 + 256 + 24, 260 + 64 + 24)


def test_container_grows_around_what_is_pasted_into_it():
    store = opened()

    gesture(
        store,
        {
            "op": "paste",
            "text": "nodes: [{id: a, type: custom, position: {x: 0, y: 0}, data: {type: answer, title: A}}]",
            "x": 300,
            "y": 60,
            "parent": "it",
        },
    )

    assert size(store, "it") == (580, 172 + 64 + 24)  # below the node that is there


def test_container_that_has_room_stays_as_it_is():
    store = opened()

    performed = gesture(store, {"op": "move", "id": "in", "x": 110, "y": 70})

    assert [type(op).__name__ for op in performed.ops] == ["Move"]
    assert size(store, "it") == (400, 200)


def test_what_would_be_covered_moves_aside_by_as_much():
    store = opened()

    gesture(store, {"op": "move", "id": "in", "x": 300, "y": 70})

    assert size(store, "it") == (580, 200)
    assert place(store, "e") == (1300 + 180, 0)
    assert place(store, "c") == (600, 0)


def test_what_lies_clear_of_the_larger_frame_stays():
    store = opened(width=240)

    gesture(store, {"op": "move", "id": "in", "x": 80, "y": 70})

    assert size(store, "it") == (360, 200)
    assert place(store, "e") == (1300, 0)


def test_container_in_a_container_makes_both_grow():
    store = opened()
    gesture(
        store,
        {"op": "add", "node": {"id": "lp", "kind": "loop", "x": 100, "y": 60, "parent": "it"}},
    )

    gesture(
        store,
        {"op": "add", "node": {"id": "new", "kind": "answer", "x": 500, "y": 60, "parent": "lp"}},
    )

    assert size(store, "lp") == (780, 200)
    assert size(store, "it") == (100 + 780 + 24, 284)


def test_growth_is_taken_back_with_the_gesture():
    store = opened()
    before = store.build_document()

    performed = gesture(store, {"op": "move", "id": "in", "x": 300, "y": 260})
    apply_all(store, performed.inverse)

    assert store.build_document() == before


def test_without_being_asked_nothing_grows():
    store = opened()

    perform(store, read_ops([{"op": "move", "id": "in", "x": 300, "y": 260}]), context())

    assert size(store, "it") == (400, 200)
