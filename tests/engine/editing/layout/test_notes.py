"""Notes during auto-layout: they stay with the nodes that they are about, and cover none."""

from random import Random
from typing import Any

from tests.engine.editing.gestures import context
from tests.support.cases import for_each
from workflows.engine.editing import InMemoryStore, perform, read_ops
from workflows.engine.editing.layout.extents import Frame, compute_frame
from workflows.engine.editing.layout.notes import find_free_place
from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec, Note, Position


def make_node(
    id_: str, x: float, y: float, kind: str = "template-transform", **given: Any
) -> NodeSpec:
    data = {"template": "x", "variables": []} if kind == "template-transform" else {}
    return NodeSpec(id_, kind, given.pop("data", data), position=Position(x, y), **given)


def make_note(id_: str, x: float, y: float, **given: Any) -> Note:
    size = {"width": 200.0, "height": 100.0} | given
    data = {"text": id_, "group": size.pop("group", False)}
    return Note(id=id_, data=data, position=Position(x, y), **size)


def arrange(
    nodes: list[NodeSpec],
    notes: list[Note],
    *links: tuple[str, str],
    ids: tuple[str, ...] = (),
    scope: str | None = None,
) -> dict[str, Frame]:
    """Return the frames after auto-layout of everything, or of the nodes with these ids."""
    edges = tuple(EdgeSpec(f"{a}-{b}", a, b) for a, b in links)
    store = InMemoryStore(Document(Mode.WORKFLOW, tuple(nodes), edges, notes=tuple(notes)))
    before = store.build_document()
    op = {"op": "tidy", "ids": [*ids], "scope": scope}
    result = perform(store, read_ops([op]), context())
    frames = {id_: compute_frame(item, context()) for id_, item in store.items.items()}
    for plain in result.inverse:
        perform(store, [plain], context())
    assert store.build_document() == before  # one undo brings the notes back, too
    return frames


def get_offset(frames: dict[str, Frame], note: str, node: str) -> tuple[float, float]:
    return frames[note].x - frames[node].x, frames[note].y - frames[node].y


SCATTERED = [make_node("a", 0, 0), make_node("b", 900, 700), make_node("c", 2400, -300)]
LINKS = [("a", "b"), ("b", "c")]


def test_note_keeps_its_place_beside_the_nearest_node():
    notes = [make_note("of a", 10, -120), make_note("of c", 2390, -140)]

    frames = arrange(SCATTERED, notes, *LINKS)

    assert frames["c"].x < 2400  # it was moved
    assert get_offset(frames, "of a", "a") == (10, -120)
    assert get_offset(frames, "of c", "c") == (-10, 160)


def test_note_that_would_cover_a_node_gives_way():
    # Where b comes to lie after the arrangement, beside a.
    frames = arrange(SCATTERED, [make_note("wide", 260, 0, width=300.0)], *LINKS)

    assert not any(frames["wide"].overlaps(frames[node]) for node in "abc")
    assert abs(frames["wide"].x - frames["a"].x) <= 300  # still beside its node


def test_group_goes_on_to_enclose_its_nodes():
    nodes = [make_node("a", 0, 0), make_node("b", 300, 400), make_node("c", 1500, 0)]
    group = make_note("group", -24, -64, width=620.0, height=620.0, group=True)

    frames = arrange(nodes, [group], ("a", "b"), ("b", "c"))

    box = frames["group"]
    for node in "ab":
        assert box.x <= frames[node].x
        assert box.y <= frames[node].y
        assert frames[node].right <= box.right
        assert frames[node].bottom <= box.bottom
    assert frames["a"].x - box.x == 24
    assert frames["a"].y - box.y == 64


def test_note_of_nodes_that_are_not_arranged_stays():
    notes = [make_note("of a", 10, -120), make_note("of c", 2390, -140)]

    frames = arrange(SCATTERED, notes, *LINKS, ids=("b", "c"))

    assert (frames["of a"].x, frames["of a"].y) == (10, -120)
    assert get_offset(frames, "of c", "c") == (-10, 160)


def test_note_inside_a_container_stays_inside():
    box = make_node("box", 0, 0, "loop", data={"loop_count": 2}, width=900.0, height=600.0)
    nodes = [
        box,
        make_node("s", 24, 300, "loop-start", parent="box"),
        make_node("t", 500, 400, parent="box"),
    ]
    note = make_note("in", 480, 280, parent="box")

    frames = arrange(nodes, [note], ("s", "t"))

    inner = frames["in"]
    assert not any(inner.overlaps(frames[node]) for node in "st")
    assert inner.x >= 0
    assert inner.y >= 0
    assert inner.right <= frames["box"].width
    assert inner.bottom <= frames["box"].height


@for_each("seed", range(40))
def test_no_note_covers_a_node(seed: int):
    rng = Random(seed)
    nodes = [
        make_node(f"n{i}", rng.randrange(-900, 900), rng.randrange(-600, 600)) for i in range(8)
    ]
    notes = [
        make_note(
            f"note{i}",
            rng.randrange(-900, 900),
            rng.randrange(-600, 600),
            width=rng.choice([120.0, 400.0]),
        )
        for i in range(6)
    ]
    links = [(f"n{i}", f"n{rng.randrange(i + 1, 8)}") for i in range(7)]

    frames = arrange(nodes, notes, *links)

    covered = [
        (note.id, node.id)
        for note in notes
        for node in nodes
        if frames[note.id].overlaps(frames[node.id])
    ]
    assert covered == []


def test_nearest_free_side_is_taken():
    card = Frame(0, 0, 100, 50)

    assert find_free_place(Frame(10, 40, 20, 20), [card]) == Frame(10, 66, 20, 20)
    assert find_free_place(Frame(10, -10, 20, 20), [card]) == Frame(10, -36, 20, 20)
    assert find_free_place(Frame(200, 0, 20, 20), [card]) == Frame(200, 0, 20, 20)
    assert find_free_place(Frame(10, -10, 20, 20), [card], (0, 0)) == Frame(10, 66, 20, 20)
