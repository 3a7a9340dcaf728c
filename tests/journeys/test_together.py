"""Several people, several tabs, on one draft: what they see of each other, and that nothing is lost."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.journeys.pairing import Pair, Seat, open_editor, pair, rename
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import note_requests, ready
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack
from workflows.services.editing.catch_up import MAX_CHANGES


pytestmark = [pytest.mark.browser, pytest.mark.slow]

# As many edits as a page is told one by one, and some. Those between the first and the last repeat the first.
MOVE_OFTEN = """
from uuid import UUID
from django.db.models import F
from accounts.models import User
from accounts.principals import load_user_principal
from accounts.tenancy import tenant
from config.ids import uuid7
from workflows import selectors
from workflows.engine.editing import read_ops
from workflows.models import Revision, Workflow
from workflows.services.editing import gestures
person = load_user_principal(User.objects.get(pk="{person}"))
with tenant(["{team}"]):
    workflow = selectors.find_workflow(person, UUID("{workflow}"))
def move(x):
    ops = read_ops([{{"op": "move", "id": "t1", "x": x, "y": 40 + x}}])
    gestures.edit(person, workflow=workflow, ops=ops, label=f"m{{x}}")
move(0)
with tenant(["{team}"]):
    between = [Revision.objects.unscoped().get(workflow=workflow, label="m0") for _ in range({times} - 2)]
    for distance, revision in enumerate(between, 1):
        revision.pk = uuid7()
        revision.number += distance
    Revision.objects.unscoped().bulk_create(between)
    Workflow.objects.unscoped().filter(pk=workflow.pk).update(revision=F("revision") + len(between))
move({times} - 1)
"""
TITLE = "(e, id) => e.model.nodes.get(id)?.el.dataset.title"


@pytest.fixture
def both(rooms: Rooms, live_stack: LiveStack, shell: Shell) -> Iterator[Pair]:
    with pair(live_stack, shell, rooms) as found:
        yield found


def title_of(seat: Seat, node: str) -> Any:
    return seat.editor(TITLE, node)


def test_edits_of_two_arrive_once_are_undone_by_whom_they_are_and_refused_for_one(
    both: Pair, shell: Shell
):
    check_edit_by_mouse_arrives_in_the_other_browser(both)
    check_undo_takes_back_ones_own_alone(both)
    check_undo_of_what_somebody_changed_since_is_decided(both)
    check_answer_lost_on_the_way_does_nothing_twice(both)
    check_tab_that_slept_catches_up_whole(both, shell)
    check_refused_edit_is_taken_back_and_reported(both)


def test_tabs_come_go_are_doubled_and_leave_nothing_unsent(both: Pair):
    check_new_tab_tells_the_others_nothing_until_something_is_selected_in_it(both)
    check_edits_waiting_survive_the_tab_and_are_sent_by_the_next(both)
    check_duplicated_tab_is_a_tab_of_its_own(both)
    check_person_taken_off_the_team_hears_no_more(both)


def check_edit_by_mouse_arrives_in_the_other_browser(both: Pair) -> None:
    alice, bob = both.seats

    alice.drag("t1", 60, 120)
    rename(bob, "t2", "Bob's")

    both.until(lambda: title_of(alice, "t2") == "Bob's")
    both.until(lambda: bob.shown()["nodes"]["t1"] == alice.shown()["nodes"]["t1"])
    both.until_equal()
    assert both.rows()["nodes"]["t1"][1] > 0


def is_cursor_seen(mover: Seat, watcher: Seat) -> bool:
    """A move is told to whoever watches by then, at most a few times a second, and to nobody later."""
    mover.page.mouse.move(700, 400)
    mover.page.mouse.move(720, 420)
    return watcher.page.locator(".tg-cursor").count() > 0


def check_presence_shows_names_selections_and_who_left(both: Pair) -> None:
    alice, bob = both.seats

    expect(alice.page.locator("#presence .tg-face")).to_have_text(["B"])
    bob.editor("(e) => e.canvas.pick(['t3'])")
    expect(alice.page.locator("#node-t3 > .tg-name")).to_have_text("Bob")
    expect(alice.page.locator("#presence .tg-face")).to_have_attribute("title", "Bob at t3")
    both.until(lambda: is_cursor_seen(bob, alice), "his mouse is never seen")
    expect(alice.page.locator(".tg-cursor span")).to_have_text("Bob")
    expect(bob.page.locator("#node-t3 > .tg-name")).to_have_count(0)

    bob.page.close()

    expect(alice.page.locator("#presence .tg-face")).to_have_count(0)
    expect(alice.page.locator("#node-t3[data-peer]")).to_have_count(0)
    expect(alice.page.locator(".tg-cursor")).to_have_count(0)
    bob.page = bob.context.new_page()


# Of two timers of a page the shorter one that was set first is over first: this one outlasts what waits to be sent.
OUTLAST_SENDING = "() => new Promise((done) => setTimeout(done, 300))"


def check_new_tab_tells_the_others_nothing_until_something_is_selected_in_it(both: Pair) -> None:
    alice, bob = both.seats
    with note_requests(bob.page) as requests:
        open_editor(bob, both.workflow)
        expect(bob.page.locator("#presence .tg-face")).to_have_text(["A"])  # it is connected
        bob.page.evaluate(OUTLAST_SENDING)

        bob.editor("(e) => e.canvas.pick(['t3'])")
        expect(alice.page.locator("#node-t3 > .tg-name")).to_have_text("Bob")

    bodies = [each.post_data_json for each in requests if each.url.endswith("/presence/")]
    assert [body and body["selection"] for body in bodies] == [["t3"]]


def check_refused_edit_is_taken_back_and_reported(both: Pair) -> None:
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
    ready(bob.page)
    expect(button).to_be_visible()
    button.click()
    entry.get_by_role("button", name="Dismiss").click()
    expect(button).to_be_hidden()
    expect(bob.page.locator("#saved")).to_have_attribute("data-state", "saved")
    both.until_equal()


def check_edits_waiting_survive_the_tab_and_are_sent_by_the_next(both: Pair) -> None:
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


def check_answer_lost_on_the_way_does_nothing_twice(both: Pair) -> None:
    _alice, bob = both.seats
    both.began = both.revision()
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
    bob.page.unroute_all()


def check_duplicated_tab_is_a_tab_of_its_own(both: Pair) -> None:
    _alice, bob = both.seats
    with bob.context.expect_page() as opened:
        # a window opened by the page gets a copy of its sessionStorage, as a duplicated tab does
        bob.page.evaluate("() => window.open(location.href) && 0")
    twin = Seat("Bob's other", bob.id, bob.context, opened.value)
    ready(twin.page)

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
    twin.page.close()


def check_tab_that_slept_catches_up_whole(both: Pair, shell: Shell) -> None:
    alice, bob = both.seats
    bob.context.set_offline(True)
    # more than the server tells one by one: the page is read anew, and what waits here is kept
    times = MAX_CHANGES + 10
    who = {"person": alice.id, "team": both.team, "workflow": both.workflow}
    shell.run(MOVE_OFTEN.format(**who, times=times))
    alice.editor("(e) => e.edits.send([{ op: 'delete', id: 't3' }], { label: 'gone' })")
    rename(bob, "t4", "Written asleep")

    bob.context.set_offline(False)

    both.until(lambda: both.rows()["nodes"]["t4"][2] == "Written asleep")
    both.until_equal()
    assert bob.shown()["nodes"]["t1"][:2] == [times - 1, 39 + times]
    assert "t3" not in bob.shown()["nodes"]


def check_undo_takes_back_ones_own_alone(both: Pair) -> None:
    alice, bob = both.seats
    rename(alice, "t3", "Alice's")
    both.until(lambda: title_of(bob, "t3") == "Alice's")
    rename(bob, "t4", "Bob's")
    both.until(lambda: title_of(alice, "t4") == "Bob's")

    alice.editor("(e) => e.edits.undo()")

    both.until_equal()
    assert [both.rows()["nodes"][node][2] for node in ("t3", "t4")] == ["t3", "Bob's"]


def check_undo_of_what_somebody_changed_since_is_decided(both: Pair) -> None:
    alice, bob = both.seats
    for seat, title in ((alice, "Alice's"), (bob, "Bob's")):
        rename(seat, "t1", title)
        both.until_equal()  # or Bob's would be a conflict itself
    dialog = alice.page.locator("#conflicts")

    alice.editor("(e) => { e.edits.undo(); }")
    expect(dialog.locator("legend")).to_have_text("Bob's: Title")
    dialog.get_by_text("Keep Bob's").click()
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_be_hidden()
    both.until_equal()
    assert both.rows()["nodes"]["t1"][2] == "Bob's"

    bob.editor("(e) => e.edits.undo()")
    both.until_equal()
    assert both.rows()["nodes"]["t1"][2] == "Alice's"
    for seat, title in ((alice, "One"), (bob, "Two")):
        rename(seat, "t5", title)
        both.until_equal()
    alice.editor("(e) => { e.edits.undo(); }")
    dialog.get_by_text("Undo anyway").click()
    dialog.get_by_role("button", name="Apply").click()

    both.until(lambda: both.rows()["nodes"]["t5"][2] == "t5")
    both.until_equal()


def test_comments_and_presence_are_seen_by_the_other_until_one_leaves(both: Pair):
    check_comment_arrives_live_with_its_count_and_a_mention(both)
    check_presence_shows_names_selections_and_who_left(both)


def check_comment_arrives_live_with_its_count_and_a_mention(both: Pair) -> None:
    alice, bob = both.seats
    alice.editor("(e) => { e.canvas.pick(['t2']); e.panel('comments'); }")
    alice.page.locator("#comment-new").fill("half a thought")
    bob.editor("(e) => { e.canvas.pick(['t2']); e.panel('comments'); }")

    area = bob.page.locator("#comment-new")
    area.fill("What is this for, @Ali")
    bob.page.get_by_role("option", name="@Alice").click()
    area.press("Control+Enter")
    expect(bob.page.locator(".cm-thread")).to_be_visible()  # sent, and nothing run by the same keys
    expect(bob.page.locator("#tab-comments")).to_have_attribute("aria-selected", "true")

    said = alice.page.locator(".cm-thread")
    expect(said).to_contain_text("What is this for, @Alice")
    expect(alice.page.locator("#comment-new")).to_have_value("half a thought")
    expect(alice.page.locator("#node-t2 > .tg-count")).to_have_text("1")
    expect(alice.page.locator("#live-words")).to_contain_text("Bob mentioned you")
    said.get_by_text("Reply").first.click()
    said.locator("textarea").last.fill("For this.")
    said.get_by_role("button", name="Reply").click()
    expect(bob.page.locator(".cm-thread")).to_contain_text("For this.")
    expect(bob.page.locator("#node-t2 > .tg-count")).to_have_text("2")
    bob.page.get_by_role("button", name="Resolve").click()
    expect(alice.page.locator("#node-t2 > .tg-count")).to_have_count(0)
    runs = "select count(*) from workflows_run where workflow_id = %s"
    assert both.stack.sql(runs, (both.workflow,)) == [(0,)]


def check_person_taken_off_the_team_hears_no_more(both: Pair) -> None:
    alice, bob = both.seats
    expect(alice.page.locator("#presence .tg-face")).to_have_count(1)

    both.stack.sql(
        "delete from accounts_membership where user_id = %s and team_id = %s", (bob.id, both.team)
    )

    expect(alice.page.locator("#presence .tg-face")).to_have_count(0)
    expect(bob.page.locator("#live-words")).to_contain_text(
        "no longer have access to this workflow"
    )
    rename(alice, "t3", "Unheard")
    both.until(lambda: both.rows()["nodes"]["t3"][2] == "Unheard")
    assert title_of(bob, "t3") == "t3"
