"""After a run, an edge under the pointer or selected says how its data begins; a press shows all of it."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import say
from tests.journeys.editing import Draft, open_sample, point_at_edge, press_label
from tests.journeys.seeing import box_of, steady


pytestmark = pytest.mark.browser

# Labels and what they lie over: a card, its ports, the strip with its state, how many edges it waits for.
COVERED = """() => {
  const hits = (a, b) => a.left < b.right - 1 && a.right > b.left + 1 && a.top < b.bottom - 1 && a.bottom > b.top + 1;
  const parts = [...document.querySelectorAll("wf-node > .wf-card, wf-node > .wf-state, wf-node .port")];
  const seen = [...document.querySelectorAll(".wf-label")].filter((label) => label.checkVisibility());
  return seen.flatMap((label) => parts
    .filter((part) => part.checkVisibility() && hits(label.getBoundingClientRect(), part.getBoundingClientRect()))
    .map((part) => [label.textContent, part.className, part.closest("wf-node").dataset.title]));
}"""


SELECT = "(ids) => mnemoflow.editor.canvas.pick(ids)"


def edge_between(draft: Draft, source: str, target: str) -> str:
    ends = draft.id_of_kind(source), draft.id_of_kind(target)
    return next(e.id for e in draft.document.edges if (e.source, e.target) == ends)


def label_of(page: Page, edge: str) -> Locator:
    return page.locator(f'.wf-label[data-edge="{edge}"]')


def taken(page: Page, edge: str) -> None:
    expect(page.locator(f'.wf-edge[data-id="{edge}"]')).to_have_attribute("data-taken", "yes")


def test_edge_says_what_went_along_it(signed_in: Page):
    draft = open_sample(signed_in)
    say(signed_in, "I'm Ana, and I'm allergic to peanuts.")
    edge = edge_between(draft, "llm", "answer")
    label = label_of(signed_in, edge)
    taken(signed_in, edge)
    expect(label).to_have_count(0)

    point_at_edge(signed_in, edge)
    expect(label).to_contain_text("Noted: I'm Ana")
    press_label(signed_in, label)
    expect(signed_in.get_by_role("dialog", name="Output of Generate answer")).to_contain_text(
        "allergic to peanuts"
    )


def test_no_word_on_an_edge_covers_a_card_a_port_or_a_state(signed_in: Page):
    draft = open_sample(signed_in)
    say(signed_in, "I'm Ana, and I'm allergic to peanuts.")
    labels = signed_in.locator(".wf-label")
    signed_in.evaluate(SELECT, [edge.id for edge in draft.document.edges])
    expect(labels.filter(has_text="Noted: I'm Ana").first).to_be_visible()

    assert steady(signed_in, lambda: signed_in.evaluate(COVERED)) == []
    signed_in.evaluate("() => { const { canvas } = window.mnemoflow.editor; canvas.fit(); }")
    # Where there is no room between two cards, a word stays away.
    shown = labels.filter(visible=True)
    assert steady(signed_in, shown.count) >= 3


def test_edge_that_is_moved_takes_its_words_along_when_it_is_let_go(signed_in: Page):
    draft = open_sample(signed_in)
    say(signed_in, "I'm Ana, and I'm allergic to peanuts.")
    edge = edge_between(draft, "llm", "answer")
    label = label_of(signed_in, edge)
    signed_in.evaluate(SELECT, [edge])
    expect(label).to_contain_text("Noted: I'm Ana")
    before, card = box_of(label), box_of(draft.node("Answer"))

    signed_in.mouse.move(card["x"] + 60, card["y"] + 12)
    signed_in.mouse.down()
    signed_in.mouse.move(card["x"] + 60, card["y"] - 60, steps=4)
    expect(label).to_be_hidden()
    signed_in.mouse.up()
    signed_in.evaluate(SELECT, [edge])

    expect(label).to_be_visible()
    draft.saved()
    assert box_of(label) != before
    assert signed_in.evaluate(COVERED) == []
