"""The review's pages: what waits is read, decided, taken back, with and without a script; nobody else's is there."""

import re
from uuid import UUID

import pytest
from django.db import connection
from django.http import HttpResponseBase
from django.test.utils import CaptureQueriesContext

from memory.logic.review.proposals import ReviewState
from memory.logic.review.review_rules import ReviewMode
from memory.services.review import review_decisions
from memory.services.review.review_queue import QueueItem, count_queue, list_queue
from memory.services.review.review_sample import add_sample_items
from tests.memory.services.conftest import at_door
from tests.memory.services.curating import kept_in_demo, learns, proposals_of
from tests.memory.services.test_review import taught
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
QUEUE = "/memory/review/"


@pytest.fixture
def queue(alice: Person) -> dict[str, QueueItem]:
    """The sample's: of each kind the first."""
    add_sample_items(at_door(alice))
    return {one.kind: one for one in reversed(list_queue(at_door(alice)).items)}


def words_of(answer: HttpResponseBase) -> str:
    page = markup_of(answer)
    assert not re.search(r"<script(?![^>]*src)|\sstyle=|\son\w+=", page)
    return page


def at(item: UUID, act: str = "") -> str:
    return f"{QUEUE}{item}/{act}{'/' if act else ''}"


def texts(person: Person) -> set[str]:
    return {str(one.value) for one in kept_in_demo(person) if one.tier != "quarantine"}


def test_empty_queue_says_what_it_is_and_fills_itself_with_a_sample(alice: Person) -> None:
    page = words_of(alice.client.get(QUEUE))
    assert "All caught up" in page
    assert "/api/v1/memory/review" in page
    assert 'action="/memory/review/sample/"' in page

    filled = words_of(alice.client.post(f"{QUEUE}sample/", follow=True))
    assert filled.count("data-item ") == 6
    assert "Sample items were added to a demo memory that only you see" in filled
    assert re.search(r'id="memory-tab-review">6<', filled)


def test_demo_memory_is_marked_and_removed_by_one_click_that_can_be_undone(alice: Person) -> None:
    alice.client.post(f"{QUEUE}sample/")
    before = texts(alice)
    shown = words_of(alice.client.get(QUEUE))
    assert "<strong>Demo memory</strong>" in shown
    namespace_url = re.search(r'href="(/memory/namespaces/[^"]+)">Show<', shown)
    assert namespace_url is not None
    page = words_of(alice.client.get(namespace_url[1]))
    assert '<h1 class="break">Demo memory</h1>' in page
    for marked in (shown, page):
        assert 'action="/memory/review/sample/remove/"' in marked
    assert "Alice lives in Basel" not in words_of(alice.client.get("/memory/about/"))

    removed = words_of(alice.client.post(f"{QUEUE}sample/remove/", follow=True))

    assert "The demo memory was removed." in removed
    assert "<strong>Demo memory</strong>" not in removed
    assert (texts(alice), count_queue(at_door(alice))) == (set(), 0)
    undo_url = re.search(r'action="(/memory/changes/[^"]+/undo/)"', removed)
    assert undo_url is not None
    restored = words_of(alice.client.post(undo_url[1], {"back": QUEUE}, follow=True))
    assert "<strong>Demo memory</strong>" in restored
    assert texts(alice) == before


def test_removing_a_demo_memory_that_is_not_there_changes_nothing(alice: Person) -> None:
    page = words_of(alice.client.post(f"{QUEUE}sample/remove/", follow=True))

    assert "All caught up" in page
    assert "The demo memory was removed." not in page


def test_each_kind_is_shown_with_both_sides_and_why(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    page = words_of(alice.client.get(QUEUE))

    assert "Which of these holds?" in page
    assert "Alice lives in Basel" in page
    assert "will be merged into sample:exporting" in page
    assert "<del> at night</del>" in page
    assert "Merge these memories?" in page
    assert "Both mention" in page
    assert "rooftop" in page
    assert "Looks like a prompt injection" in page
    assert "Acme pays its invoices" in page
    assert "80% confidence" not in page
    assert "70% confidence" in page  # the first of the two new ones


def test_changed_words_are_marked_on_both_sides(alice: Person) -> None:
    add_sample_items(at_door(alice))
    page = words_of(alice.client.get(QUEUE, {"kind": "merge"}))

    assert page.count("data-item ") == 1
    assert "Zeppelin" in page
    assert "Basel" not in page


@pytest.mark.parametrize("kind", ["add", "contradiction", "merge", "link", "held"])
def test_accepting_leaves_the_queue_and_undo_of_the_toast_brings_it_back(
    alice: Person, queue: dict[str, QueueItem], kind: str
) -> None:
    one, before = queue[kind], texts(alice)

    answer = alice.client.post(at(one.id, "accept"), follow=True)
    page = words_of(answer)
    assert answer.redirect_chain[0][1] == 302
    assert "Accepted." in page
    assert f'id="item-{one.id}"' not in page
    assert f'<input type="hidden" name="item" value="{one.id}">' in page
    assert count_queue(at_door(alice)) == 5

    back = words_of(alice.client.post(f"{QUEUE}take-back/", {"item": str(one.id)}, headers=HTMX))
    assert "Undone. The item is back in the queue." in back
    assert f'id="item-{one.id}"' in back
    assert texts(alice) == before


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("newer", "The newer one holds. The older one stays as a former memory."),
        ("older", "The older one holds. The newer one stays as a former memory."),
        ("both", "Both are kept. They will not be proposed again."),
    ],
)
def test_person_chooses_which_of_two_memories_holds_and_undoes_it(
    alice: Person, queue: dict[str, QueueItem], choice: str, message: str
) -> None:
    one, before = queue["contradiction"], texts(alice)
    card = words_of(alice.client.get(QUEUE, {"kind": "contradiction"}))
    for label in ("The newer holds", "The older holds", "Keep both", "Older, ", "Newer, "):
        assert label in card

    page = words_of(alice.client.post(at(one.id, "choose"), {"choice": choice}, follow=True))

    assert message in page
    assert f'id="item-{one.id}"' not in page
    back = words_of(alice.client.post(f"{QUEUE}take-back/", {"item": str(one.id)}, headers=HTMX))
    assert f'id="item-{one.id}"' in back
    assert texts(alice) == before


def test_choice_that_is_none_of_the_three_is_refused(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    wrong = alice.client.post(at(queue["contradiction"].id, "choose"), {"choice": "x"})
    other = alice.client.post(at(queue["add"].id, "choose"), {"choice": "newer"})

    assert (wrong.status_code, other.status_code) == (422, 409)
    assert "choice: choose one of the three." in words_of(wrong)


def test_decision_by_htmx_answers_with_the_queue_and_keeps_its_filters(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    address = f"{at(queue['add'].id, 'reject')}?kind=add"

    page = words_of(alice.client.post(address, headers=HTMX))

    assert page.strip().startswith('<div class="stack" id="review" data-status="Rejected."')
    assert page.count("data-item ") == 1
    assert "take-back/?kind=add" in page
    assert proposals_of(alice)[0].state in {ReviewState.OPEN, ReviewState.REJECTED}


def test_edited_words_are_remembered_and_nothing_typed_is_lost(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    one = queue["add"]
    panel = words_of(alice.client.get(at(one.id), {"panel": "edit"}, headers=HTMX))
    assert panel.strip().startswith("<form")
    assert "Acme pays its invoices" in panel or "Bob prefers" in panel

    wrong = alice.client.post(at(one.id, "accept"), {"value": "  "}, headers=HTMX)
    assert wrong.status_code == 422
    assert wrong["HX-Retarget"] == f"#panel-{one.id}"
    assert "Enter some text." in words_of(wrong)
    done = alice.client.post(at(one.id, "accept"), {"value": "In other words", "reason": "shorter"})
    assert done.status_code == 302
    assert "In other words" in texts(alice)
    assert any(row.edited and row.decision == "shorter" for row in proposals_of(alice))


def test_value_with_parts_is_edited_as_json_and_nonsense_is_named(alice: Person) -> None:
    learns(alice, review=ReviewMode.ALL)
    taught(alice, "Tea is at four", "Acme pays in CHF", run_id="r1")
    [one] = [
        one for one in list_queue(at_door(alice)).items if "summary" in str(one.new) and one.has_new
    ]

    panel = words_of(alice.client.get(at(one.id), {"panel": "edit"}))
    assert "edit it as JSON" in panel or '"summary"' not in panel
    text = "In one sentence" if "as JSON" not in panel else "{"
    answer = alice.client.post(at(one.id, "accept"), {"value": text})
    assert answer.status_code == (422 if text == "{" else 302)


@pytest.mark.parametrize("kind", ["add", "held"])
def test_new_one_is_merged_into_a_memory_people_choose(
    alice: Person, queue: dict[str, QueueItem], kind: str
) -> None:
    one = queue[kind]
    panel = words_of(alice.client.get(at(one.id), {"panel": "merge"}, headers=HTMX))
    into = re.findall(r'name="into" value="([^"]+)"', panel)
    assert into

    said = {"into": into[0], "value": "Both of them"}
    page = words_of(alice.client.post(at(one.id, "merge"), said, follow=True))

    assert "Merged." in page
    assert "Both of them" in texts(alice)
    assert count_queue(at_door(alice)) == 5


def test_dry_run_shows_every_field_and_changes_nothing(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    page = words_of(alice.client.get(at(queue["contradiction"].id), {"panel": "try"}, headers=HTMX))

    assert "Changes if accepted" in page
    assert "Held until" in page
    assert {one.state for one in proposals_of(alice)} == {ReviewState.OPEN}


def test_item_is_a_page_of_its_own_with_everything_one_can_do(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    page = words_of(alice.client.get(at(queue["add"].id)))

    for part in (
        "Edit and accept",
        "Merge with another memory",
        "Preview changes",
        "Reject permanently",
    ):
        assert part in page
    assert "hx-post" not in page  # there is no queue here to put in its place
    assert page.count(f'action="{at(queue["add"].id)}') == 4
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_keeping_both_of_a_contradiction_is_listed_among_the_rules(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    alice.client.post(at(queue["contradiction"].id, "choose"), {"choice": "both"})

    rules = words_of(alice.client.get(f"{QUEUE}rules/"))

    assert "both are kept in" in rules
    assert "blocked in" not in rules


def test_rejecting_for_good_makes_a_rule_that_is_taken_back_on_its_page(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    one = queue["add"]
    said = words_of(alice.client.post(at(one.id, "reject"), {"always": "1"}, follow=True))
    assert "Rejected permanently. Nothing with the same meaning" in said
    assert 'href="/memory/review/rules/"' in said

    rules = words_of(alice.client.get(f"{QUEUE}rules/"))
    assert str(one.new) in rules
    taken = alice.client.post(
        f"{QUEUE}take-back/", {"item": str(one.id), "then": "rules"}, follow=True
    )
    assert "No rules yet" in words_of(taken)
    assert count_queue(at_door(alice)) == 6


def test_many_are_tried_first_and_then_decided_and_taken_back_as_one(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    ids = [str(queue[kind].id) for kind in ("add", "contradiction", "held")]
    before = texts(alice)

    tried = words_of(alice.client.post(f"{QUEUE}decide/", {"item": ids, "act": "accept"}))
    assert "Items to accept: 3. This changes memory as follows:" in tried
    counts = re.findall(r"<li>(\w+): (\d+)</li>", tried)
    assert counts == [("new", "2"), ("changed", "2"), ("forgotten", "0")]
    assert texts(alice) == before

    done = words_of(
        alice.client.post(
            f"{QUEUE}decide/", {"item": ids, "act": "accept", "sure": "1"}, follow=True
        )
    )
    assert "Accepted. 3 items." in done
    assert count_queue(at_door(alice)) == 3
    back = words_of(alice.client.post(f"{QUEUE}take-back/", {"item": ids}, headers=HTMX))
    assert back.count("data-item ") == 6
    assert texts(alice) == before


def test_many_are_rejected_once_or_for_good_and_nothing_chosen_is_said(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    ids = [str(one.id) for one in queue.values()]
    address = f"{QUEUE}decide/"

    assert "Nothing selected." in words_of(alice.client.post(address, {"act": "reject"}))
    tried = words_of(alice.client.post(address, {"item": ids, "act": "reject"}))
    assert "Items to reject: 5. Memory stays unchanged." in tried
    alice.client.post(address, {"item": ids, "act": "always", "sure": "1"})
    assert count_queue(at_door(alice)) == 1
    assert "blocked in" in words_of(alice.client.get(f"{QUEUE}rules/"))


def test_pager_of_an_answer_to_a_form_leads_to_the_queue(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    answer = alice.client.post(f"{QUEUE}decide/?offset=1", {"act": "accept"})

    back = re.search(r'href="([^"]+)" rel="prev"', markup_of(answer))
    assert back is not None
    assert (back[1], alice.client.get(back[1]).status_code) == (f"{QUEUE}?offset=0", 200)


def test_what_was_changed_or_decided_since_is_said_and_can_only_be_rejected(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    conflict, new = queue["contradiction"], queue["add"]
    target = next(one for one in kept_in_demo(alice) if one.value == "Alice lives in Lyon")
    alice.client.post(f"/memory/entries/{target.id}/forget/")

    page = words_of(alice.client.get(QUEUE, {"kind": "contradiction"}))
    assert "sample:home no longer exists." in page
    assert re.search(r'data-act="accept" disabled', page)
    late = alice.client.post(at(conflict.id, "accept"), headers=HTMX)
    assert late.status_code == 409
    assert "has changed since" in words_of(late)

    alice.client.post(at(new.id, "accept"))
    again = alice.client.post(at(new.id, "accept"))
    assert again.status_code == 409
    assert "Someone else may have decided already" in words_of(again)
    assert alice.client.get(at(new.id)).status_code == 404


def test_agreement_is_shown_by_kind_with_what_it_means(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    assert "Acceptance rate" not in words_of(alice.client.get(QUEUE))
    review_decisions.accept(at_door(alice), item_id=queue["add"].id)
    review_decisions.reject(at_door(alice), item_id=queue["link"].id)

    page = words_of(alice.client.get(QUEUE))

    assert "Acceptance rate in the last 30 days" in page
    assert "New memory 100%" in page
    assert "Link 0%" in page
    assert "count half" in page


def test_queue_is_narrowed_by_place_and_run_and_nonsense_is_no_filter(alice: Person) -> None:
    learns(alice, scope="global", review=ReviewMode.ALL)
    taught(alice, "Tea is served at four", run_id="r9")
    add_sample_items(at_door(alice))

    def number(**chosen: str) -> int:
        return words_of(alice.client.get(QUEUE, chosen)).count("data-item ")

    [shared] = [
        place
        for place, _n in list_queue(at_door(alice)).namespaces
        if place.text.startswith("global:")
    ]
    assert number() == 8
    assert number(place=str(shared.pk)) == 2
    assert number(run="r9") == 2
    assert number(place="nonsense", offset="x", kind="?") == 8
    assert "No results" in words_of(alice.client.get(QUEUE, {"run": "none"}))


def test_nobody_else_sees_or_decides_what_waits_about_a_person(
    cast: Cast, queue: dict[str, QueueItem]
) -> None:
    every_kind = list(queue.values())
    # A colleague asks for every kind; what the others may find does not depend on it.
    asked = {cast.ada: 1, cast.bob: len(every_kind), cast.vic: 1, cast.carol: 1}
    for person, count in asked.items():
        client = person.client
        assert "All caught up" in words_of(client.get(QUEUE))
        for one in every_kind[:count]:
            assert client.get(at(one.id)).status_code == 404
            for act in ("accept", "reject", "merge"):
                assert client.post(at(one.id, act)).status_code == 404
            chosen = {"item": str(one.id), "act": "accept", "sure": "1"}
            assert client.post(f"{QUEUE}decide/", chosen).status_code == 404
            assert client.post(f"{QUEUE}take-back/", chosen).status_code == 404
    assert count_queue(at_door(cast.alice)) == 6


def test_viewer_reads_what_the_team_shares_and_is_told_they_may_not_decide(cast: Cast) -> None:
    learns(cast.alice, scope="global", review=ReviewMode.ALL)
    taught(cast.alice, "Tea is served at four", run_id="r1")
    client = cast.vic.client
    [one, _other] = list_queue(at_door(cast.vic)).items

    page = words_of(client.get(QUEUE))

    assert "You can view this item but not decide on it." in page
    assert "data-act=" not in page
    for act, form in (("accept", {}), ("accept", {"value": "x"}), ("reject", {})):
        assert client.post(at(one.id, act), form).status_code == 403
    tried = words_of(client.post(f"{QUEUE}decide/", {"item": str(one.id), "act": "accept"}))
    assert "Can't be processed: 1 (changed since, or you lack the permission)." in tried
    assert "Accept 1" not in tried


def test_queue_asks_as_often_for_six_as_for_three(
    alice: Person, queue: dict[str, QueueItem]
) -> None:
    client = alice.client

    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(QUEUE).status_code == 200
        return len(found)

    asked()  # the first look pays for caches
    whole = asked()
    kinds = ("link", "merge", "contradiction")
    review_decisions.reject_many(at_door(alice), item_ids=[queue[kind].id for kind in kinds])
    assert (asked(), whole) == (27, 27)


def test_refusal_stands_above_the_queue_and_not_in_its_place(
    cast: Cast, queue: dict[str, QueueItem]
) -> None:
    client, one = cast.alice.client, queue["add"]
    panel = words_of(client.get(at(one.id), {"panel": "merge"}, headers=HTMX))
    said = {"into": "gone", "value": "Both of them"}
    assert 'name="into"' in panel
    gone = client.post(at(one.id, "merge"), said, headers=HTMX)
    review_decisions.accept(at_door(cast.alice), item_id=one.id)
    answers = [
        gone,
        client.post(at(one.id, "accept"), {"value": "In other words"}, headers=HTMX),
        client.post(
            f"{QUEUE}decide/", {"item": str(one.id), "act": "accept", "sure": "1"}, headers=HTMX
        ),
    ]

    for answer in answers:
        page = words_of(answer)
        assert page.strip().startswith('<div class="stack" id="review"')
        assert (answer.status_code, page.count('role="alert"')) == (404, 1)
        assert page.count("data-item ") == (6 if answer is gone else 5)
    assert "Someone else has already decided" in words_of(answers[-1])


def test_viewer_who_decides_all_the_same_keeps_the_queue(cast: Cast) -> None:
    learns(cast.alice, scope="global", review=ReviewMode.ALL)
    taught(cast.alice, "Tea is served at four", run_id="r1")
    [one, _other] = list_queue(at_door(cast.vic)).items

    for form in ({}, {"value": "In other words"}):
        answer = cast.vic.client.post(at(one.id, "accept"), form, headers=HTMX)
        page = words_of(answer)
        assert (answer.status_code, page.count("data-item ")) == (403, 2)
        assert 'class="notice notice-warn" role="alert"' in page
