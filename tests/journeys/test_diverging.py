"""What once left a browser with less than the server has, each played alone."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Route

from tests.journeys.pairing import Pair, Seat, document, open_editor, pair
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import deaf, note_requests
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened(rooms: Rooms, _stack: LiveStack, shell: Shell) -> Iterator[Pair]:
    with pair(_stack, shell, rooms, source=document(6)) as found:
        yield found


@pytest.fixture
def both(opened: Pair) -> Iterator[Pair]:
    """Alice hears nothing by the live stream: what she learns, she learns from answers."""
    alice = opened.seats[0]
    alice.page.unroute_all()
    with deaf(alice.page):
        open_editor(alice, opened.workflow)
        opened.seats[1].editor("(e) => e.edits.catchUp()")
        yield opened


def send(seat: Seat, *ops: dict[str, Any]) -> Any:
    return seat.editor("(e, ops) => e.edits.send(ops, { label: 'scripted' })", list(ops))


def edge(id_: str, source: str, target: str) -> dict[str, Any]:
    ends = {"source": source, "handle": "source", "target": target}
    return {"op": "connect", "edge": {"id": id_, **ends}}


def assert_equal(both: Pair, seat: Seat) -> None:
    seat.editor("(e) => e.edits.catchUp()")
    assert seat.shown() == both.rows()


def test_answer_that_changed_nothing_skips_nobody_elses_revision(both: Pair):
    alice, bob = both.seats
    send(bob, edge("eUnheard", "t1", "t3"))

    send(alice, {"op": "rename", "id": "t2", "title": "t2"})

    assert_equal(both, alice)
    assert "eUnheard" in alice.shown()["edges"]


def test_delete_that_conflicts_gives_the_edges_back(both: Pair):
    alice, bob = both.seats
    before = set(alice.shown()["edges"])
    send(bob, {"op": "set", "id": "t4", "path": ["template"], "value": "Bob is at it"})

    alice.editor("(e) => { e.canvas.apply({ ops: [{ op: 'delete', id: 't4' }] }); }")
    assert send(alice, {"op": "delete", "id": "t4"}) is None

    assert set(alice.shown()["edges"]) == before
    assert_equal(both, alice)
    alice.editor(
        "(e) => e.edits.unsavedChanges.conflicts.forEach(({ id }) => e.edits.unsavedChanges.remove(id))"
    )


def test_gap_that_cannot_be_had_now_is_had_later(both: Pair):
    """The answer comes through; what others did before it doesn't, nor a fresh page."""
    alice, bob = both.seats
    send(bob, edge("eGap", "t0", "t2"))

    def cut(route: Route) -> None:
        route.abort()

    alice.page.route("**/changes/**", cut)
    alice.page.route(f"**/workflows/{both.workflow}/", cut)
    send(alice, {"op": "rename", "id": "t3", "title": "Mine"})
    alice.page.unroute("**/changes/**")
    alice.page.unroute(f"**/workflows/{both.workflow}/")

    both.until(lambda: alice.shown() == both.rows())
    assert "eGap" in alice.shown()["edges"]


def test_page_that_shows_less_than_there_is_is_read_anew(both: Pair):
    """However that came about: the server says what the draft consists of."""
    alice, _bob = both.seats
    some = sorted(alice.shown()["edges"])[0]
    alice.editor(
        "(e, id) => { e.canvas.apply({ ops: [{ op: 'disconnect', id }, { op: 'delete', id: 't5' }] }); }",
        some,
    )
    assert "t5" not in alice.shown()["nodes"]
    assert some not in alice.shown()["edges"]

    assert_equal(both, alice)


def test_page_that_shows_all_there_is_is_left_alone(both: Pair):
    alice, bob = both.seats

    with note_requests(alice.page) as requests:
        send(bob, {"op": "move", "id": "t1", "x": 33, "y": 44})
        assert_equal(both, alice)
        alice.editor("(e) => e.edits.catchUp()")

    read = [request.url for request in requests]
    assert [url for url in read if "/changes/" in url]
    assert [url for url in read if url.endswith(f"/workflows/{both.workflow}/")] == []
