"""Two real browsers edit one workflow by script while the server is killed and the network goes: both end equal to
the server, and every operation is in the log or was reported to who made it.
"""

import faulthandler
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import TimeoutError as TookTooLong

from tests.journeys.pairing import Pair, Seat, document, pair
from tests.journeys.rooms import Rooms
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


SHORT, LONG = 40, 1500  # rounds, in each of which both do something
BEHIND = 5  # gestures that may wait while the server can be reached, so that a slow machine makes no more conflicts
MOST_WAITING = 40  # gestures; who has made as many while it can't be reached rests until it can
SOON = 3_000  # milliseconds
DARK = 0.08  # the part of the rounds during which the server, or a network, is away

# Notes, in the page, what becomes of every gesture: its answer, or the reports it ended in.
WATCH = """(e) => {
  window.sent = [];
  window.unwanted = []; // what the server said no to, for whoever reads why it failed
  const asked = window.fetch;
  window.fetch = async (url, about) => {
    const answer = await asked(url, about);
    if (about?.method === "PATCH" && !answer.ok) answer.clone().text().then((text) => window.unwanted.push([Math.round(performance.now()), answer.status, about.body, text.slice(0, 400)]));
    return answer;
  };
  window.reported = [];
  e.edits.unsavedChanges.addEventListener("change", ({ detail }) => detail && window.reported.push({ kind: detail.kind, label: detail.label, ops: detail.ops }));
}"""
SEND = """(e, [ops, label]) => {
  const gesture = { label, ops, revision: undefined };
  window.sent.push(gesture);
  e.edits.send(ops, { label }).then((change) => (gesture.revision = change?.revision ?? null));
}"""
BOX = (
    "(_e, id) => document.querySelector(`#node-${id} > .wf-card`)?.getBoundingClientRect().toJSON()"
)
KNOWN = "(e) => ({ nodes: [...e.model.nodes.keys()], edges: [...e.model.edges.keys()] })"


@pytest.fixture
def both(rooms: Rooms, live_stack: LiveStack, shell: Shell) -> Iterator[Pair]:
    source = document(6)
    with pair(live_stack, shell, rooms, source=source) as found:
        for seat in found.seats:
            seat.editor(WATCH)
        yield found


@dataclass
class Script:
    """What one person does next; ids and labels are theirs alone, so that each can be found again."""

    seat: Seat
    chance: random.Random
    count: int = 0
    own: list[str] = field(default_factory=list)

    def step(self) -> None:
        self._decide()
        if self.seat.editor("(e) => e.edits.waiting.length") >= MOST_WAITING:
            return
        known = self.seat.editor(KNOWN)
        steps: list[Callable[[dict[str, Any]], Any]] = [
            self._move, self._move, self._drag, self._title, self._title, self._text, self._text,
            self._note, self._note_text, self._add, self._connect, self._delete, self._undo,
        ]  # fmt: skip
        self.chance.choice(steps)(known)

    def _send(self, *ops: dict[str, Any]) -> None:
        self.count += 1
        self.seat.editor(SEND, [list(ops), f"{self.seat.name} {self.count}"])

    def _one_of(self, known: dict[str, Any], prefix: str = "t") -> str | None:
        found = sorted(id_ for id_ in known["nodes"] if id_.startswith(prefix))
        return self.chance.choice(found) if found else None

    def _move(self, known: dict[str, Any]) -> None:
        if node := self._one_of(known):
            x, y = self.chance.randrange(2000), self.chance.randrange(900)
            self._send({"op": "move", "id": node, "x": x, "y": y})

    def _drag(self, known: dict[str, Any]) -> None:
        """By hand: it goes the way of the canvas, and is told by where the card lies at the end."""
        node = self._one_of(known)
        box = self.seat.editor(BOX, node) if node else None  # the other may have deleted it since
        if not box or self.seat.page.locator("dialog[open]").count():
            return
        if 280 < box["x"] < 950 and 80 < box["y"] < 800:
            # from where it was: the other may have taken it away since
            self.seat.drag_from(box, self.chance.randrange(-60, 60), self.chance.randrange(-60, 60))

    def _title(self, known: dict[str, Any]) -> None:
        if node := self._one_of(known):
            self._send({"op": "rename", "id": node, "title": f"{self.seat.name} {self.count}"})

    def _text(self, known: dict[str, Any]) -> None:
        if node := self._one_of(known):
            text = f"{self.seat.name} wrote {self.count}"
            self._send({"op": "set", "id": node, "path": ["template"], "value": text})

    def _note(self, known: dict[str, Any]) -> None:
        id_ = f"n{self.seat.name}{self.count}"
        data = {"text": f"note {self.count}", "theme": "yellow"}
        place = {"x": self.chance.randrange(2000), "y": 400, "width": 200, "height": 80}
        self._send({"op": "note", "note": {"id": id_, **place, "data": data}})

    def _note_text(self, known: dict[str, Any]) -> None:
        if note := self._one_of(known, "n"):
            text = f"{self.seat.name} noted {self.count}"
            self._send({"op": "set", "id": note, "path": ["text"], "value": text})

    def _add(self, known: dict[str, Any]) -> None:
        id_ = f"t{self.seat.name}{self.count}"
        place = {"x": self.chance.randrange(2000), "y": self.chance.randrange(900)}
        node = {"id": id_, "kind": "template-transform", "title": id_, **place}
        self._send({"op": "add", "node": node})

    def _connect(self, known: dict[str, Any]) -> None:
        source, target = self._one_of(known), self._one_of(known)
        if source and target and source != target:
            edge = {"id": f"e{self.seat.name}{self.count}", "source": source, "target": target}
            self._send({"op": "connect", "edge": {**edge, "handle": "source"}})

    def _delete(self, known: dict[str, Any]) -> None:
        """Half of the time a node, which may be the one the other is just writing in."""
        if self.chance.random() < 0.5 and known["edges"]:
            self._send({"op": "disconnect", "id": self.chance.choice(sorted(known["edges"]))})
        elif len(known["nodes"]) > 8 and (node := self._one_of(known)):
            self._send({"op": "delete", "id": node})

    def _undo(self, known: dict[str, Any]) -> None:
        self.seat.editor("(e) => { e.edits.undo(); }")

    def _decide(self) -> None:
        """By mouse, as the dialog asks for it; one that was closed too soon is opened again from the bar.

        What the page draws anew under the pointer is tried again at the next step.
        """
        with suppress(TookTooLong):
            self._take_sides()

    def _take_sides(self) -> None:
        dialog = self.seat.page.locator("#conflicts[open]")
        if not dialog.count() and self.seat.editor(
            "(e) => e.edits.unsavedChanges.conflicts.length"
        ):
            self.seat.page.locator("#reported").click(timeout=SOON)
        while dialog.locator(".tg-conflict").count():
            form = dialog.locator(".tg-conflict").first
            for choice in form.locator("fieldset").all():
                offers = choice.locator("input[type=radio]")
                offers.nth(self.chance.randrange(offers.count())).check(timeout=SOON)
            form.get_by_role("button", name="Apply").click(timeout=SOON)
        if dialog.count():
            self.seat.page.keyboard.press("Escape")


@dataclass
class Line:
    """What there is between the browsers and the server, and who can reach it."""

    both: Pair
    server_is_up: bool = True
    cut_off: set[str] = field(default_factory=set)

    def kill_server(self) -> None:
        self.server_is_up = False
        self.both.stack.kill_web()

    def start_server(self) -> None:
        self.both.stack.start_web()
        self.server_is_up = True

    def cut(self, seat: Seat) -> None:
        self.cut_off.add(seat.name)
        seat.context.set_offline(True)

    def mend(self, seat: Seat) -> None:
        seat.context.set_offline(False)
        self.cut_off.remove(seat.name)

    def keep_up(self) -> None:
        """Wait for the server to have got what was made, from those who reach it."""
        for seat in self.both.seats:
            if self.server_is_up and seat.name not in self.cut_off:
                self.both.until(partial(self._is_near, seat), f"{seat.name} falls behind")

    def _is_near(self, seat: Seat) -> bool:
        return bool(seat.editor("(e) => e.edits.waiting.length") <= BEHIND)


def edit_for(both: Pair, rounds: int) -> list[Script]:
    """Both at once; a fifth in, the server is killed; then one network goes; then the other's, and the server again."""
    scripts = [Script(seat, random.Random(f"{rounds}{seat.name}")) for seat in both.seats]
    line, (alice, bob) = Line(both), both.seats
    plan: list[tuple[float, Callable[[], Any]]] = [
        (0.20, line.kill_server),
        (0.20 + DARK, line.start_server),
        (0.45, lambda: line.cut(bob)),
        (0.45 + DARK, lambda: line.mend(bob)),
        (0.65, lambda: line.cut(alice)),
        (0.68, line.kill_server),
        (0.68 + DARK, line.start_server),
        (0.70 + DARK, lambda: line.mend(alice)),
    ]
    for number in range(rounds):
        while plan and number >= plan[0][0] * rounds:
            plan.pop(0)[1]()
        for script in scripts:
            script.step()
        line.keep_up()
    return scripts


def rest(both: Pair, scripts: list[Script]) -> None:
    """Until nothing waits, nothing is left to decide, and everybody knows everything."""

    def is_at_rest() -> bool:
        for script in scripts:
            script._decide()
        at = both.revision()
        return all(
            seat.has_settled()
            and not seat.editor("(e) => e.edits.unsavedChanges.conflicts.length")
            and seat.editor("(e) => e.edits.revision") == at
            for seat in both.seats
        )

    try:
        both.until(is_at_rest)
    except AssertionError:
        pytest.fail("\n".join(str(one) for one in (both.revision(), *map(story_of, both.seats))))


def story_of(seat: Seat) -> Any:
    return seat.editor(
        "(e) => [e.edits.state, e.edits.revision, e.edits.waiting.length,"
        " JSON.stringify(e.edits.waiting[0] ?? null), e.edits.unsavedChanges.conflicts.length,"
        " JSON.stringify(window.unwanted.slice(-6))]"
    )


def targets(gesture: dict[str, Any]) -> list[Any]:
    return [(op["op"], op.get("id"), op.get("path")) for op in gesture["ops"]]


def check(both: Pair) -> dict[str, int]:
    """Equal, the three of them; and no operation nobody can tell what became of."""
    both.until_equal()
    rows = both.rows()
    answer = both.seats[0].context.request.get(f"/api/v1/workflows/{both.workflow}")
    assert answer.ok
    graph = answer.json()["document"]["workflow"]["graph"]
    assert {edge["id"] for edge in graph["edges"]} == set(rows["edges"])
    assert {
        node["id"]: [round(node["position"][axis], 2) for axis in "xy"] for node in graph["nodes"]
    } == {id_: place[:2] for id_, place in rows["nodes"].items()}

    log = {number: (author, label, ops) for number, author, label, ops in both.log()}
    counts = {"sent": 0, "logged": 0, "reported": 0, "conflicts": 0}
    for seat in both.seats:
        labels = {label for author, label, _ops in log.values() if author == seat.id}
        reported = seat.page.evaluate("() => window.reported")
        told = {entry["label"] for entry in reported}
        counts["conflicts"] += sum(entry["kind"] == "conflict" for entry in reported)
        sent = seat.page.evaluate("() => window.sent")
        for gesture, following in zip(sent, [*sent[1:], None], strict=True):
            counts["sent"] += 1
            assert "revision" in gesture, f"{gesture} was never answered"
            # one that changed nothing is answered with the revision that says so already
            in_log = gesture["label"] in labels or gesture["revision"] is not None
            # one still waiting that the next says anew goes along with that one, under its label
            is_told = gesture["label"] in told or (
                following is not None
                and following["label"] in told
                and targets(following) == targets(gesture)
            )
            assert in_log or is_told, f"{gesture} vanished; then came {following}"
            counts["logged"] += in_log
            counts["reported"] += gesture["label"] in told
    return counts


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(LONG, id="long", marks=pytest.mark.nightly),
    ],
)
def test_two_browsers_with_kills_and_cuts_end_equal_and_lose_nothing(both: Pair, rounds: int):
    if rounds == LONG:
        faulthandler.cancel_dump_traceback_later()  # it ends tests after ten minutes
    scripts = edit_for(both, rounds)

    rest(both, scripts)

    counts = check(both)
    print(counts)
    assert counts["sent"] > rounds / 2
    assert counts["logged"] > counts["sent"] * 0.6
