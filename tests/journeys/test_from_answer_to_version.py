"""Why did it say that, what if it had said something else, and how was it before: in the editor, in both languages."""

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.building import kept
from tests.journeys.editing import Draft, id_in
from tests.journeys.languages import LANGUAGES
from tests.journeys.seeing import ready, until
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

FACT, QUESTION = "My dog is called Rollo.", "What is my dog called?"
ANSWER = "I can't tell you that."


@pytest.mark.parametrize("language", LANGUAGES)
def test_answer_is_explained_tested_pinned_published_compared_and_restored(
    signed_in: Page, live_stack: LiveStack, language: str
):
    """One journey in chapters: each begins where the last one ended."""
    page = signed_in
    page.context.add_cookies(
        [{"name": "django_language", "value": language, "url": live_stack.url}]
    )
    page.goto("/samples/")
    page.locator("form[action*='/chatbot/'] button").first.click()
    ready(page)
    draft = Draft(page, id_in(page))
    expect(page.locator("html")).to_have_attribute("lang", language)

    explained(page)
    saved_as_a_case(page)
    pinned_and_run_from(page)
    published(page)
    changed(draft)
    compared_and_restored(draft)


def explained(page: Page) -> None:
    """From the answer to its prompt, to what was recalled for it, to where that was learnt."""
    ask(page, FACT)
    ask(page, QUESTION)
    expect(page.locator(".bubble-it").last).to_contain_text("Rollo")

    page.locator("[data-why]").last.click()

    shown = page.locator("[data-explanation]")
    expect(shown.locator(".run-prompt [data-role=user]").last).to_contain_text(QUESTION)
    expect(shown.locator(".run-prompt")).to_contain_text(FACT)
    memory = shown.locator(".recollection").filter(has_text=FACT).first
    expect(memory.locator(".pill-memory")).to_be_visible()
    expect(memory.locator("[data-learned]")).to_contain_text(FACT)
    expect(page.locator("#panel-log .log-row")).not_to_have_count(0)


def saved_as_a_case(page: Page) -> None:
    page.locator("#tab-run").click()
    page.locator(".run-past > summary").click()
    page.locator("#panel-run [data-save-case]").click()
    form = page.locator("form#tests")
    form.locator("#case-name").fill("Knows the cat")
    form.locator("button.button-main[type=submit]").click()

    row = page.locator("#tests li").filter(has_text="Knows the cat")
    row.locator("[hx-post*='/tests/run/']").click()

    expect(row.locator("[data-status=passed]")).to_be_visible()


def pinned_and_run_from(page: Page) -> None:
    """What it said is put aside for another answer; only what comes after runs again."""
    shown = last_of(page, "llm")
    shown.locator(".run-pin summary").click()
    outputs = shown.locator(".run-pin textarea")
    said = json.loads(outputs.input_value())
    outputs.fill(json.dumps(said | {"text": ANSWER}))
    shown.locator(".run-pin .button-main").click()
    expect(page.locator("wf-node[data-id=llm][data-pinned]")).to_be_attached()

    shown = last_of(page, "llm")
    with_new_run(page, shown.locator("[data-run-node=run-from]"))

    expect(page.locator("wf-node[data-id=answer]")).to_have_attribute("data-state", "completed")
    expect(last_of(page, "answer").locator("[data-part=outputs]")).to_contain_text(ANSWER)


def published(page: Page) -> None:
    page.locator("summary[data-tour=publish]").click()
    page.locator("#publish-note").fill("The first that knows cats")
    page.locator("form[action$='/publish/'] button[type=submit]").first.click()
    expect(page.locator("#published")).to_have_class("pill on-wide pill-ok")
    ready(page)


def changed(draft: Draft) -> None:
    page = draft.page
    page.goto(f"/workflows/{draft.id}/?node=llm")
    ready(page)
    title = page.locator("#panel-node .insp-title")
    title.fill("Think twice")
    title.press("Enter")
    until(page, lambda: draft.titles["llm"] == "Think twice")
    kept(page)


def compared_and_restored(draft: Draft) -> None:
    page = draft.page
    page.locator("#tab-history").click()
    history = page.locator("#panel-history")
    expect(history).to_contain_text("The first that knows cats")
    history.locator("a[href*='/versions/1/diff/draft/']").first.click()

    changes = page.locator(".graph wf-node[data-mark=changed]")
    expect(changes).to_have_count(1)
    expect(changes).to_contain_text("Think twice")
    expect(page.locator(".diff-list")).to_contain_text("Think twice")
    before = page.locator("form[action$='/versions/1/restore/'] button")
    before.click()

    until(page, lambda: draft.titles["llm"] != "Think twice")
    page.goto(f"/workflows/{draft.id}/versions/1/diff/draft/")
    expect(page.locator(".graph")).to_have_count(0)


def ask(page: Page, words: str) -> None:
    bubbles = page.locator(".chat-log .bubble-it")
    before = bubbles.count()
    box = page.locator("textarea[name=query]")
    box.fill(words)
    box.press("Enter")
    expect(bubbles).to_have_count(before + 1)
    expect(page.locator(".chat-log [data-waiting]")).to_have_count(0)
    ended(page)


def ended(page: Page) -> None:
    expect(page.locator("#editor[data-run=succeeded]")).to_be_visible()


def with_new_run(page: Page, button: Locator) -> None:
    before = page.locator("#editor").get_attribute("data-run-id")
    button.click()
    expect(page.locator("#editor")).not_to_have_attribute("data-run-id", str(before))
    ended(page)


def last_of(page: Page, node: str) -> Locator:
    """What the node did last, opened on the canvas."""
    page.locator(f"wf-node[data-id='{node}'] small").first.dblclick()
    expect(page.locator(f"#panel-node [data-inspector=node][data-node='{node}']")).to_be_visible()
    page.locator("#insp-tab-last").click()
    shown = page.locator(f"#insp-last [data-run-step='{node}']")
    expect(shown).to_be_visible()
    return shown
