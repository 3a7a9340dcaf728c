"""Several people, several tabs, on one draft: what they see of each other, and that nothing is lost."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.journeys.pairing import Pair, Seat, open_editor, pair
from tests.journeys.rooms import Rooms
from tests.support.stack import LiveStack


pytestmark = [pytest.mark.browser, pytest.mark.slow]

TITLE = "(e, id) => e.model.nodes.get(id)?.el.dataset.title"


@pytest.fixture
def both(rooms: Rooms, live_stack: LiveStack) -> Iterator[Pair]:
    with pair(live_stack, rooms) as found:
        yield found


def rename(seat: Seat, node: str, title: str) -> None:
    """Handed in, not waited for."""
    seat.editor(
        "(e, [id, title]) => { e.edits.send([{ op: 'rename', id, title }], { label: title }); }",
        [node, title],
    )


def title_of(seat: Seat, node: str) -> Any:
    return seat.editor(TITLE, node)


def test_edit_by_mouse_arrives_in_the_other_browser(both: Pair):
    alice, bob = both.seats

    alice.drag("t1", 60, 120)
    rename(bob, "t2", "Bob's")

    both.until(lambda: title_of(alice, "t2") == "Bob's")
    both.until(lambda: bob.shown()["nodes"]["t1"] == alice.shown()["nodes"]["t1"])
    both.until_equal()
    assert both.rows()["nodes"]["t1"][1] > 0


def test_presence_shows_names_selections_and_who_left(both: Pair):
    alice, bob = both.seats

    expect(alice.page.locator("#presence .tg-face")).to_have_text(["B"])
    bob.editor("(e) => e.canvas.pick(['t3'])")
    expect(alice.page.locator("#node-t3 > .tg-name")).to_have_text("Bob")
    expect(alice.page.locator("#presence .tg-face")).to_have_attribute("title", "Bob, at t3")
    bob.page.mouse.move(700, 400)
    bob.page.mouse.move(720, 420)
    expect(alice.page.locator(".tg-cursor span")).to_have_text("Bob")
    expect(bob.page.locator("#node-t3 > .tg-name")).to_have_count(0)

    bob.page.close()

    expect(alice.page.locator("#presence .tg-face")).to_have_count(0)
    expect(alice.page.locator("#node-t3[data-peer]")).to_have_count(0)
    expect(alice.page.locator(".tg-cursor")).to_have_count(0)
    bob.page = bob.context.new_page()


def test_same_field_by_two_is_decided_in_a_dialog(both: Pair):
    alice, bob = both.seats
    bob.context.set_offline(True)
    rename(bob, "t1", "Bob's title")
    bob.editor(
        "(e) => e.edits.send([{ op: 'move', id: 't4', x: 5, y: 500 }, { op: 'rename', id: 't1', title: 'Bob again' }], { label: 'two' }) && 0"
    )
    rename(alice, "t1", "Alice's title")
    both.until(lambda: both.rows()["nodes"]["t1"][2] == "Alice's title")

    bob.context.set_offline(False)

    dialog = bob.page.locator("#conflicts")
    expect(dialog).to_be_visible()
    both.until(lambda: both.rows()["nodes"]["t4"][:2] == [5, 500], why="the rest of the gesture")
    assert both.rows()["nodes"]["t1"][2] == "Alice's title"
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "clash")
    offers = dialog.locator(".tg-clash").first.locator(".tg-offer")
    expect(offers).to_have_count(2)  # two names make no name
    expect(dialog.locator("legend").first).to_have_text("Alice's title: title")
    # what he wrote there next waits along: one field, one decision
    expect(dialog.locator(".tg-clash")).to_have_count(1)
    expect(dialog.locator(".tg-offer:has([value=yours]) pre")).to_have_text("Bob again")
    # by keyboard alone: from "theirs" to "yours", and apply
    dialog.locator("input[value=theirs]").first.focus()
    bob.page.keyboard.press("ArrowUp")
    bob.page.keyboard.press("Enter")

    expect(dialog).to_be_hidden()
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "saved")
    both.until_equal()
    assert both.rows()["nodes"]["t1"][2] == "Bob again"


def template_of(both: Pair, node: str) -> Any:
    ((text,),) = both.stack.sql(
        "select data->>'template' from workflows_node where workflow_id = %s and key = %s",
        (both.workflow, node),
    )
    return text


def template_in(seat: Seat, node: str) -> Locator:
    seat.editor("(e, id) => { e.canvas.pick([id]); e.panel('node'); }", node)
    area = seat.page.locator(f"[data-inspector=node][data-node={node}] textarea[data-key=template]")
    expect(area).to_be_visible()
    return area


@pytest.mark.parametrize("hears", [True, False], ids=["while typing", "by the answer"])
def test_lost_field_waits_for_its_decision(both: Pair, *, hears: bool):
    alice, bob = both.seats
    if not hears:
        bob.page.route("**/live/**", lambda route: route.abort())
        open_editor(bob, both.workflow)
    hers, his = template_in(alice, "t1"), template_in(bob, "t1")
    dialog, reported = bob.page.locator("#conflicts"), bob.page.locator("#reported")
    apply = dialog.get_by_role("button", name="Apply")

    his.press_sequentially("C2 ")
    hers.fill("C1")
    hers.blur()
    expect(reported).to_have_text("Decide: 1")
    his.press_sequentially("more ")
    bob.page.wait_for_timeout(1000)  # longer than what is typed waits to be saved
    expect(reported).to_have_text("Decide: 1")
    bob.page.get_by_role("tab", name="Docs").click()

    expect(dialog).to_be_visible()
    expect(dialog.locator(".tg-offer:has([value=yours]) pre")).to_have_text("C2 more x")
    expect(dialog.locator(".tg-offer:has([value=theirs]) pre")).to_have_text("C1")
    expect(apply).to_be_disabled()
    dialog.locator("form.tg-clash").evaluate("(form) => form.dispatchEvent(new Event('submit'))")
    bob.page.keyboard.press("Escape")
    bob.page.get_by_role("tab", name="Settings").click()
    expect(his).to_have_value("C2 more x")
    his.click()
    bob.page.get_by_role("tab", name="Docs").click()
    bob.page.wait_for_timeout(500)
    expect(reported).to_have_text("Decide: 1")
    assert template_of(both, "t1") == "C1"
    if not dialog.is_visible():
        reported.click()
    dialog.locator("input[value=theirs]").check()
    apply.click()

    expect(dialog).to_be_hidden()
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "saved")
    bob.page.get_by_role("tab", name="Settings").click()
    expect(his).to_have_value("C1")
    his.fill("C3")
    both.until(lambda: template_of(both, "t1") == "C3", why="decided, it is a field like any other")
    assert [ops[0]["value"] for _n, _who, _label, ops in both.log()] == ["C1", "C3"]


def test_short_texts_of_two_tabs_can_both_stand(both: Pair):
    _alice, bob = both.seats
    twin = Seat("Bob's other", bob.id, bob.context, bob.context.new_page())
    open_editor(twin, both.workflow)
    there, here = template_in(twin, "t1"), template_in(bob, "t1")

    here.fill("C2")
    there.fill("C1")
    there.blur()
    expect(bob.page.locator("#reported")).to_have_text("Decide: 1")
    bob.page.get_by_role("tab", name="Docs").click()
    dialog = bob.page.locator("#conflicts")
    expect(dialog).to_contain_text("Changed in another tab of yours")
    expect(dialog.locator(".tg-offer b")).to_have_text(
        ["From this tab", "From your other tab", "Both"]
    )
    twin.page.locator("#reported").click()
    told = twin.page.locator("#conflicts .tg-offer b")
    expect(told).to_have_text(["Not accepted", "Saved", "Both"])
    twin.page.keyboard.press("Escape")
    dialog.locator("input[value=both]").check()
    dialog.get_by_role("button", name="Apply").click()

    stood = "<<<<<<< Bob\nC1\n=======\nC2\n>>>>>>>"
    both.until(lambda: template_of(both, "t1") == stood)
    bob.page.get_by_role("tab", name="Settings").click()
    expect(here).to_have_value(stood)
    expect(there).to_have_value(stood)
    expect(twin.page.locator("#reported")).to_be_hidden()


@pytest.mark.parametrize("how", ["reloaded", "closed"])
def test_decision_left_open_is_asked_of_the_next_page_with_what_holds_by_then(both: Pair, how: str):
    alice, bob = both.seats
    hers, his = template_in(alice, "t1"), template_in(bob, "t1")
    his.press_sequentially("C2 ")
    hers.fill("C1")
    hers.blur()
    expect(bob.page.locator("#reported")).to_have_text("Decide: 1")

    bob.page.goto("about:blank")
    hers.fill("C1 again")
    hers.blur()
    both.until(lambda: template_of(both, "t1") == "C1 again")
    if how == "closed":
        bob.page.close()
        bob = Seat("Bob's next", bob.id, bob.context, bob.context.new_page())
    open_editor(bob, both.workflow)

    dialog = bob.page.locator("#conflicts")
    expect(dialog).to_be_visible()
    expect(dialog.locator(".tg-offer:has([value=yours]) pre")).to_have_text("C2 x")
    expect(dialog.locator(".tg-offer:has([value=theirs]) pre")).to_have_text("C1 again")
    bob.page.keyboard.press("Escape")
    field = template_in(bob, "t1")
    expect(field).to_have_value("C2 x")
    bob.page.locator("#reported").click()
    dialog.locator("input[value=yours]").check()
    dialog.get_by_role("button", name="Apply").click()
    both.until(lambda: template_of(both, "t1") == "C2 x")
    expect(bob.page.locator("#reported")).to_be_hidden()


def test_field_one_only_stands_in_takes_back_nothing(both: Pair):
    """Hers is saved, and the cursor still in it, when his arrives: left, it shows his; written in, it asks."""
    alice, bob = both.seats
    hers, his = template_in(alice, "t1"), template_in(bob, "t1")

    def alternate(text: str) -> None:
        both.until_equal()
        his.fill(text)
        his.blur()
        both.until(lambda: template_of(both, "t1") == text)
        both.until_equal()
        alice.page.wait_for_timeout(800)  # longer than her form takes to be told

    hers.press_sequentially("A ")
    both.until(lambda: template_of(both, "t1") == "A x")
    alternate("B")
    alice.page.get_by_role("tab", name="Docs").click()
    alice.page.get_by_role("tab", name="Settings").click()
    expect(hers).to_have_value("B")
    assert template_of(both, "t1") == "B"

    hers.press("Home")
    hers.press_sequentially("A ")
    both.until(lambda: template_of(both, "t1") == "A B")
    alternate("C")
    hers.press_sequentially("D ")
    expect(alice.page.locator("#reported")).to_have_text("Decide: 1")
    assert template_of(both, "t1") == "C"
    assert alice.editor("(e) => [e.edits.ledger.clashes[0].clashes[0].yours]") == ["A D B"]


def test_field_read_anew_before_its_change_is_heard_of_takes_back_nothing(both: Pair):
    """Her form asks the server after each save: the answer may hold his edit before the line tells of it."""
    alice, bob = both.seats
    hers, his = template_in(alice, "t1"), template_in(bob, "t1")
    held: list[Route] = []

    hers.press("Home")
    both.until_equal()
    alice.page.route("**/changes/**", lambda route: held.append(route), times=1)
    his.fill("B")
    his.blur()
    both.until(lambda: template_of(both, "t1") == "B")
    alice.editor("(e) => e.inspector.reload()")
    for route in held:
        route.continue_()
    both.until(
        lambda: alice.editor("(e) => e.edits.revision") == bob.editor("(e) => e.edits.revision")
    )
    hers.press_sequentially("A ")

    expect(alice.page.locator("#reported")).to_have_text("Decide: 1")
    assert template_of(both, "t1") == "B"
    mine = "(e) => e.edits.ledger.clashes.map((one) => one.clashes[0].yours)"
    assert alice.editor(mine) == ["A x"]


def test_refused_edit_is_taken_back_and_reported(both: Pair):
    _alice, bob = both.seats

    answer = bob.editor(
        "(e) => e.edits.send([{ op: 'connect', edge: { source: 't1', target: 'nowhere' } }], { label: 'Impossible' })"
    )

    assert answer is None
    button = bob.page.locator("#reported")
    expect(button).to_be_visible()
    expect(bob.page.locator("#live-words")).to_contain_text("Impossible")
    button.click()
    entry = bob.page.locator("#conflicts .tg-refused")
    expect(entry).to_contain_text("Impossible")
    expect(entry).to_contain_text("nowhere")
    bob.page.reload()
    bob.page.wait_for_selector("#editor[data-ready=yes]")
    expect(button).to_be_visible()
    button.click()
    entry.get_by_role("button", name="Put away").click()
    expect(button).to_be_hidden()
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "saved")
    both.until_equal()


def test_edits_waiting_survive_the_tab_and_are_sent_by_the_next(both: Pair):
    _alice, bob = both.seats
    both.stack.kill_web()
    rename(bob, "t0", "Kept")
    bob.editor(
        "(e) => { e.edits.send([{ op: 'move', id: 't5', x: 77, y: 88 }], { label: 'far' }); }"
    )
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "offline")
    assert bob.editor("(e) => e.edits.waiting.map(({ label }) => label)") == ["Kept", "far"]

    bob.page.close()
    both.stack.start_web()
    bob.page = bob.context.new_page()
    open_editor(bob, both.workflow)

    both.until(lambda: both.rows()["nodes"]["t0"][2] == "Kept")
    both.until(lambda: both.rows()["nodes"]["t5"][:2] == [77, 88])
    both.until_equal()
    assert [label for _n, _who, label, _ops in both.log()] == ["Kept", "far"]


def test_answer_lost_on_the_way_does_nothing_twice(both: Pair):
    _alice, bob = both.seats
    lost: list[str] = []

    def swallow(route: Any) -> None:
        if not lost:
            route.fetch()  # arrives, and is done
            lost.append(json.loads(route.request.post_data)["key"])
            route.abort()
        else:
            route.continue_()

    bob.page.route("**/draft/", swallow)
    change = bob.editor(
        "(e) => e.edits.send([{ op: 'note', note: { id: 'n1', x: 1, y: 2, width: 200, height: 80, data: { text: 'once' } } }], { label: 'note' })"
    )

    assert lost
    assert change["label"] == "note"
    both.until_equal()
    assert [label for _n, _who, label, _ops in both.log()] == ["note"]


def test_duplicated_tab_is_a_tab_of_its_own(both: Pair):
    _alice, bob = both.seats
    with bob.context.expect_page() as opened:
        # a window opened by the page gets a copy of its sessionStorage, as a duplicated tab does
        bob.page.evaluate("() => window.open(location.href) && 0")
    twin = Seat("Bob's other", bob.id, bob.context, opened.value)
    twin.page.wait_for_selector("#editor[data-ready=yes]")

    clients = {seat.editor("(e) => e.edits.client") for seat in (bob, twin)}
    both.stack.kill_web()
    rename(bob, "t1", "First tab")
    rename(twin, "t2", "Second tab")
    both.stack.start_web()

    assert len(clients) == 2
    both.seats.append(twin)
    both.until_equal()
    both.seats.remove(twin)
    assert [both.rows()["nodes"][node][2] for node in ("t1", "t2")] == ["First tab", "Second tab"]
    expect(bob.page.locator("#presence .tg-face")).to_have_text(["A"])


def test_tab_that_slept_catches_up_whole(both: Pair):
    alice, bob = both.seats
    bob.context.set_offline(True)
    # more than the server tells one by one: the page is read anew, and what waits here is kept
    alice.editor(
        "async (e) => { for (let i = 0; i < 210; i++) await e.edits.send([{ op: 'move', id: 't1', x: i, y: 40 + i }], { label: `m${i}` }); }"
    )
    alice.editor("(e) => e.edits.send([{ op: 'delete', id: 't3' }], { label: 'gone' })")
    rename(bob, "t4", "Written asleep")

    bob.context.set_offline(False)

    both.until(lambda: both.rows()["nodes"]["t4"][2] == "Written asleep")
    both.until_equal()
    assert bob.shown()["nodes"]["t1"][:2] == [209, 249]
    assert "t3" not in bob.shown()["nodes"]


def test_undo_takes_back_ones_own_alone(both: Pair):
    alice, bob = both.seats
    rename(alice, "t1", "Alice's")
    both.until(lambda: title_of(bob, "t1") == "Alice's")
    rename(bob, "t2", "Bob's")
    both.until(lambda: title_of(alice, "t2") == "Bob's")

    alice.editor("(e) => e.edits.undo()")

    both.until_equal()
    assert [both.rows()["nodes"][node][2] for node in ("t1", "t2")] == ["t1", "Bob's"]


def test_undo_of_what_somebody_changed_since_is_decided(both: Pair):
    alice, bob = both.seats
    for seat, title in ((alice, "Alice's"), (bob, "Bob's")):
        rename(seat, "t1", title)
        both.until_equal()  # or Bob's would be a clash itself
    dialog = alice.page.locator("#conflicts")

    alice.editor("(e) => { e.edits.undo(); }")
    expect(dialog.locator("legend")).to_have_text("Bob's: title")
    dialog.get_by_text("Keep Bob's").click()
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_be_hidden()
    both.until_equal()
    assert both.rows()["nodes"]["t1"][2] == "Bob's"

    bob.editor("(e) => e.edits.undo()")
    both.until_equal()
    assert both.rows()["nodes"]["t1"][2] == "Alice's"
    for seat, title in ((alice, "One"), (bob, "Two")):
        rename(seat, "t2", title)
        both.until_equal()
    alice.editor("(e) => { e.edits.undo(); }")
    dialog.get_by_text("Undo anyway").click()
    dialog.get_by_role("button", name="Apply").click()

    both.until(lambda: both.rows()["nodes"]["t2"][2] == "t2")
    both.until_equal()


def test_comment_arrives_live_with_its_count_and_a_mention(both: Pair):
    alice, bob = both.seats
    alice.editor("(e) => { e.canvas.pick(['t2']); e.panel('comments'); }")
    alice.page.locator("#comment-new").fill("half a thought")
    bob.editor("(e) => { e.canvas.pick(['t2']); e.panel('comments'); }")

    area = bob.page.locator("#comment-new")
    area.fill("What is this for, @Ali")
    bob.page.get_by_role("button", name="@Alice").click()
    area.press("Control+Enter")
    expect(bob.page.locator(".cm-thread")).to_be_visible()  # sent, and nothing run by the same keys
    expect(bob.page.locator("#tab-comments")).to_have_attribute("aria-selected", "true")

    said = alice.page.locator(".cm-thread")
    expect(said).to_contain_text("What is this for, @Alice")
    expect(alice.page.locator("#comment-new")).to_have_value("half a thought")
    expect(alice.page.locator("#node-t2 > .tg-count")).to_have_text("1")
    expect(alice.page.locator("#live-words")).to_contain_text("Bob mentions you")
    said.get_by_text("Reply").first.click()
    said.locator("textarea").last.fill("For this.")
    said.get_by_role("button", name="Reply").click()
    expect(bob.page.locator(".cm-thread")).to_contain_text("For this.")
    expect(bob.page.locator("#node-t2 > .tg-count")).to_have_text("2")
    bob.page.get_by_role("button", name="Resolve").click()
    expect(alice.page.locator("#node-t2 > .tg-count")).to_have_count(0)
    runs = "select count(*) from workflows_run where workflow_id = %s"
    assert both.stack.sql(runs, (both.workflow,)) == [(0,)]


def test_person_taken_off_the_team_hears_no_more(both: Pair):
    alice, bob = both.seats
    expect(alice.page.locator("#presence .tg-face")).to_have_count(1)

    both.stack.sql(
        "delete from accounts_membership where user_id = %s and team_id = %s", (bob.id, both.team)
    )

    expect(alice.page.locator("#presence .tg-face")).to_have_count(0)
    expect(bob.page.locator("#live-words")).to_contain_text("can't see this workflow any more")
    rename(alice, "t1", "Unheard")
    both.until(lambda: both.rows()["nodes"]["t1"][2] == "Unheard")
    assert title_of(bob, "t1") == "t1"
