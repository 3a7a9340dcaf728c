"""Two people change the same field of one draft: the conflict is decided in a dialog, and nothing is lost."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.journeys.pairing import Pair, Seat, open_editor, pair, rename
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import Gate, deaf
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def both(rooms: Rooms, live_stack: LiveStack, shell: Shell) -> Iterator[Pair]:
    with pair(live_stack, shell, rooms) as found:
        yield found


def test_fields_changed_by_two_are_decided_while_both_go_on(both: Pair):
    """Each step with a node of its own, whose fields nobody has changed before."""
    check_same_field_by_two_is_decided_in_a_dialog(both)
    check_lost_field_waits_for_its_decision_that_is_heard_of_while_typing(both, "t2")
    check_field_one_only_stands_in_takes_back_nothing(both, "t3")
    check_field_lost_while_its_text_is_on_its_way_is_one_decision(both, "t4")
    check_field_read_anew_before_its_change_is_heard_of_takes_back_nothing(both, "t0")


def test_fields_changed_by_two_are_decided_in_whichever_tab_of_a_person(both: Pair):
    check_short_texts_of_two_tabs_can_both_stand(both, "t1")
    check_decision_left_open_is_asked_of_the_next_page_with_what_holds_by_then(
        both, "t2", how="reloaded"
    )
    check_lost_field_waits_for_its_decision_that_is_learnt_from_the_answer(both, "t3")
    check_decision_left_open_is_asked_of_the_next_page_with_what_holds_by_then(
        both, "t4", how="closed"
    )


def check_same_field_by_two_is_decided_in_a_dialog(both: Pair) -> None:
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
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "conflict")
    offers = dialog.locator(".tg-conflict").first.locator(".tg-offer")
    expect(offers).to_have_count(2)  # two names make no name
    expect(dialog.locator("legend").first).to_have_text("Alice's title: Title")
    # what he wrote there next waits along: one field, one decision
    expect(dialog.locator(".tg-conflict")).to_have_count(1)
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


@contextmanager
def typing(seat: Seat) -> Iterator[None]:
    """What somebody types in the form that is open isn't saved by a pause meanwhile, however slow the machine is."""
    delay = seat.editor("(e) => e.inspector.form.constructor.saveDelay")
    set_delay = "(e, delay) => { e.inspector.form.constructor.saveDelay = delay; }"
    seat.editor(set_delay, 10**9)
    yield
    seat.editor(set_delay, delay)


def undecided(seat: Seat) -> Any:
    """What somebody wrote in each field that waits for a decision."""
    return seat.editor(
        "(e) => e.edits.unsavedChanges.conflicts.map((one) => one.conflicts[0].yours)"
    )


def decide(seat: Seat, choice: str) -> None:
    """The dialog comes when somebody turns from the field to something else; then they turn back."""
    dialog = seat.page.locator("#conflicts")
    seat.page.get_by_role("tab", name="Docs").click()
    expect(dialog).to_be_visible()
    dialog.locator(f"input[value={choice}]").check()
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_be_hidden()
    expect(seat.page.locator("#saved")).to_have_attribute("data-state", "saved")
    seat.page.get_by_role("tab", name="Settings").click()


def check_lost_field_waits_for_its_decision_that_is_heard_of_while_typing(
    both: Pair, node: str
) -> None:
    lose_field(both, node)


def check_lost_field_waits_for_its_decision_that_is_learnt_from_the_answer(
    both: Pair, node: str
) -> None:
    bob = both.seats[1]
    with deaf(bob.page):
        open_editor(bob, both.workflow)
        lose_field(both, node)


def lose_field(both: Pair, node: str) -> None:
    alice, bob = both.seats
    hers, his = template_in(alice, node), template_in(bob, node)
    dialog, reported = bob.page.locator("#conflicts"), bob.page.locator("#reported")
    apply = dialog.get_by_role("button", name="Apply")

    with typing(bob):
        his.press_sequentially("C2")
        hers.fill("C1")
        hers.blur()
        both.until(lambda: template_of(both, node) == "C1")
    his.press_sequentially(" ")
    expect(reported).to_have_text("Conflicts: 1")
    his.press_sequentially("more ")
    both.until(lambda: undecided(bob) == ["C2 more x"], "what is typed next joins the decision")
    expect(reported).to_have_text("Conflicts: 1")
    bob.page.get_by_role("tab", name="Docs").click()

    expect(dialog).to_be_visible()
    expect(dialog.locator(".tg-offer:has([value=yours]) pre")).to_have_text("C2 more x")
    expect(dialog.locator(".tg-offer:has([value=theirs]) pre")).to_have_text("C1")
    expect(apply).to_be_disabled()
    dialog.locator("form.tg-conflict").evaluate("(form) => form.dispatchEvent(new Event('submit'))")
    bob.page.keyboard.press("Escape")
    bob.page.get_by_role("tab", name="Settings").click()
    expect(his).to_have_value("C2 more x")
    his.click()
    bob.page.get_by_role("tab", name="Docs").click()
    rename(bob, "t5", "After it")  # edits are sent in order
    both.until(lambda: both.rows()["nodes"]["t5"][2] == "After it")
    expect(reported).to_have_text("Conflicts: 1")
    assert template_of(both, node) == "C1"
    if not dialog.is_visible():
        reported.click()
    dialog.locator("input[value=theirs]").check()
    apply.click()

    expect(dialog).to_be_hidden()
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "saved")
    bob.page.get_by_role("tab", name="Settings").click()
    expect(his).to_have_value("C1")
    his.fill("C3")
    both.until(lambda: template_of(both, node) == "C3", why="decided, it is a field like any other")
    sent = [ops[0] for _n, _who, _label, ops in both.log() if ops[0]["id"] == node]
    assert [op["value"] for op in sent if op["op"] == "set"] == ["C1", "C3"]


def check_field_lost_while_its_text_is_on_its_way_is_one_decision(both: Pair, node: str) -> None:
    """He hears of her value before the server refuses his: both say that the field has to be decided."""
    alice, bob = both.seats
    hers, his = template_in(alice, node), template_in(bob, node)
    reported = bob.page.locator("#reported")
    gate = Gate(bob.page, "**/draft/")

    his.focus()
    bob.page.keyboard.insert_text("C2 ")
    both.until(lambda: bob.editor("(e) => e.edits.waiting.length") == 1 and gate.waiting)
    hers.fill("C1")
    hers.blur()
    both.until(lambda: template_of(both, node) == "C1")
    both.until(
        lambda: bob.editor("(e) => e.edits.revision") == alice.editor("(e) => e.edits.revision")
    )
    gate.open()
    expect(reported).to_have_text("Conflicts: 1")
    his.press_sequentially("more ")

    both.until(lambda: undecided(bob) == ["C2 more x"])
    expect(reported).to_have_text("Conflicts: 1")
    conflicts = bob.editor(
        "(e) => e.edits.unsavedChanges.conflicts.map(({ conflicts }) => conflicts[0].theirs)"
    )
    assert conflicts == ["C1"]
    assert template_of(both, node) == "C1"
    bob.page.unroute_all()
    decide(bob, "theirs")


def check_short_texts_of_two_tabs_can_both_stand(both: Pair, node: str) -> None:
    _alice, bob = both.seats
    twin = Seat("Bob's other", bob.id, bob.context, bob.context.new_page())
    open_editor(twin, both.workflow)
    there, here = template_in(twin, node), template_in(bob, node)

    with typing(bob):
        here.fill("C2")
        there.fill("C1")
        there.blur()
        expect(bob.page.locator("#reported")).to_have_text("Conflicts: 1")
    bob.page.get_by_role("tab", name="Docs").click()
    dialog = bob.page.locator("#conflicts")
    expect(dialog).to_contain_text("Changed in another tab")
    expect(dialog.locator(".tg-offer b")).to_have_text(
        ["Keep this tab's", "Keep the other tab's", "Keep both, one below the other"]
    )
    twin.page.locator("#reported").click()
    told = twin.page.locator("#conflicts .tg-offer b")
    expect(told).to_have_text(
        ["Keep the unsaved value", "Keep the saved value", "Keep both, one below the other"]
    )
    twin.page.keyboard.press("Escape")
    dialog.locator("input[value=both]").check()
    dialog.get_by_role("button", name="Apply").click()

    stood = "C1\nC2"
    both.until(lambda: template_of(both, node) == stood)
    bob.page.get_by_role("tab", name="Settings").click()
    expect(here).to_have_value(stood)
    expect(there).to_have_value(stood)
    expect(twin.page.locator("#reported")).to_be_hidden()
    twin.page.close()


def check_decision_left_open_is_asked_of_the_next_page_with_what_holds_by_then(
    both: Pair, node: str, how: str
) -> None:
    alice, bob = both.seats
    hers, his = template_in(alice, node), template_in(bob, node)
    with typing(bob):
        his.press_sequentially("C2 ")
        hers.fill("C1")
        hers.blur()
        expect(bob.page.locator("#reported")).to_have_text("Conflicts: 1")

    bob.page.goto("about:blank")
    hers.fill("C1 again")
    hers.blur()
    both.until(lambda: template_of(both, node) == "C1 again")
    if how == "closed":
        bob.page.close()
        bob = Seat("Bob's next", bob.id, bob.context, bob.context.new_page())
    open_editor(bob, both.workflow)

    dialog = bob.page.locator("#conflicts")
    field = template_in(bob, node)
    expect(field).to_have_value("C2 x")
    expect(dialog).to_be_hidden()  # it waits behind its button, and does not interrupt
    bob.page.locator("#reported").click()
    expect(dialog.locator(".tg-offer:has([value=yours]) pre")).to_have_text("C2 x")
    expect(dialog.locator(".tg-offer:has([value=theirs]) pre")).to_have_text("C1 again")
    dialog.locator("input[value=yours]").check()
    dialog.get_by_role("button", name="Apply").click()
    both.until(lambda: template_of(both, node) == "C2 x")
    expect(bob.page.locator("#reported")).to_be_hidden()


def check_field_one_only_stands_in_takes_back_nothing(both: Pair, node: str) -> None:
    """Hers is saved, and the cursor still in it, when his arrives: left, it shows his; written in, it asks."""
    alice, bob = both.seats
    hers, his = template_in(alice, node), template_in(bob, node)

    def alternate(text: str) -> None:
        both.until_equal()
        expect(his).to_have_value(hers.input_value())  # his form is drawn again when hers arrives
        his.fill(text)
        his.blur()
        both.until(lambda: template_of(both, node) == text)
        both.until_equal()
        both.until(alice.has_current_form, "her form is never told")

    hers.press_sequentially("A ")
    both.until(lambda: template_of(both, node) == "A x")
    alternate("B")
    alice.page.get_by_role("tab", name="Docs").click()
    alice.page.get_by_role("tab", name="Settings").click()
    expect(hers).to_have_value("B")
    assert template_of(both, node) == "B"

    hers.press("Home")
    hers.press_sequentially("A ")
    both.until(lambda: template_of(both, node) == "A B")
    alternate("C")
    hers.press_sequentially("D ")
    expect(alice.page.locator("#reported")).to_have_text("Conflicts: 1")
    assert template_of(both, node) == "C"
    assert undecided(alice) == ["A D B"]
    decide(alice, "theirs")


def check_field_read_anew_before_its_change_is_heard_of_takes_back_nothing(
    both: Pair, node: str
) -> None:
    """Her form asks the server after each save: the answer may hold his edit before the line tells of it."""
    alice, bob = both.seats
    hers, his = template_in(alice, node), template_in(bob, node)

    hers.press("Home")
    both.until_equal()
    changes = Gate(alice.page, "**/changes/**")
    his.fill("B")
    his.blur()
    both.until(lambda: template_of(both, node) == "B")
    both.until(lambda: changes.waiting, "she never asks what has changed")
    alice.editor("(e) => e.inspector.reload()")
    changes.open()
    both.until(
        lambda: alice.editor("(e) => e.edits.revision") == bob.editor("(e) => e.edits.revision")
    )
    hers.press_sequentially("A ")

    expect(alice.page.locator("#reported")).to_have_text("Conflicts: 1")
    assert template_of(both, node) == "B"
    assert undecided(alice) == ["A x"]
