"""The pane of a chat: who one is, how the run goes and the box to type in stay; only what was said scrolls."""

import re
from typing import Any

import pytest
from django.templatetags.static import static
from playwright.sync_api import Locator, Page, Route, expect

from tests.journeys.chatting import message_box, say, use_sample
from tests.journeys.editing import import_workflow
from tests.journeys.seeing import ready, until
from workflows.models import RunEvent
from workflows.views.runs.memory.recalled import find_missed_query


pytestmark = pytest.mark.browser

SOUP = """## Soup

What you **need**, as [the book](https://example.com/book) has it:

- salt
- sugar

| what | how much |
|---|---|
| salt | two spoons |

```
stir()
```
"""
ANSWERS_IN_MARKDOWN: dict[str, Any] = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Soup", "mode": "advanced-chat"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
                {"id": "answer", "data": {"type": "answer", "title": "Answer", "answer": SOUP}},
            ],
            "edges": [{"id": "e1", "source": "start", "target": "answer"}],
        }
    },
}

SCREENS = ((1440, 900), (1024, 768), (390, 844))


def test_message_leaves_the_field_at_once_is_sent_once_and_comes_back_if_it_is_refused(
    unwatched: Page,
):
    page = unwatched
    use_sample(page, "A chatbot that remembers")
    chip, box = page.locator("[data-say]").first, message_box(page)
    send = page.get_by_role("button", name="Send")
    held: list[Route] = []
    page.route("**/say/", lambda route: held.append(route))

    chip.click()
    expect(box).to_have_value("")
    expect(send).to_be_disabled()
    chip.click()
    box.press("Enter")
    until(page, lambda: held, why="the message was not sent")
    assert len(held) == 1

    held[0].fulfill(status=422, body="No")
    expect(box).to_have_value(chip.inner_text())
    expect(send).to_be_enabled()

    page.unroute("**/say/")
    send.dblclick()
    expect(page.locator(".chat-log .bubble-it")).to_have_count(1)
    expect(box).to_have_value("")
    expect(page.locator(".chat-log .bubble-me")).to_have_count(1)


def test_strip_and_box_stay_in_sight_and_the_log_follows_what_is_said(signed_in: Page):
    page = signed_in
    use_sample(page, "A chatbot that remembers")
    for number in range(4):
        say(page, f"I own {number} umbrellas, and none of them is here when it rains in November.")
    strip = page.locator(".run-bar")
    expect(strip.locator("[data-run-state]")).to_have_text("Succeeded")

    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        in_sight(page, strip.locator("[data-run-state]"))
        in_sight(page, strip.get_by_role("link", name="Details"))
        in_sight(page, strip.locator(".run-past > summary"))
        only_the_log_scrolls(page)
        expect(page.locator(".chat-note").last).to_be_in_viewport(ratio=1)

    page.get_by_role("textbox", name="Message").fill("My bicycle is green.")
    strip.locator(".run-past > summary").click()
    expect(strip.get_by_role("button", name="Save as test case")).to_be_in_viewport(ratio=1)
    strip.get_by_role("button", name="Step through").click()
    expect(strip.locator(".run-past")).not_to_have_attribute("open", re.compile(""))
    expect(strip.locator("[data-run-state]")).to_have_text("Paused")
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        for name in ("Continue", "Step", "Stop"):
            in_sight(page, strip.get_by_role("button", name=name, exact=True))
        expect(page.locator(".bubble-me").last).to_be_in_viewport(ratio=1)


def test_earlier_runs_and_memories_are_listed_live_as_the_runs_page_lists_them(signed_in: Page):
    use_sample(signed_in, "A chatbot that remembers")
    check_earlier_runs_open_over_the_log_and_leave_when_one_is_chosen(signed_in)
    check_live_pane_and_the_runs_page_agree_on_what_a_search_missed(signed_in)
    check_memory_searched_for_stands_first_though_its_node_was_slower(signed_in)


def check_earlier_runs_open_over_the_log_and_leave_when_one_is_chosen(signed_in: Page):
    page = signed_in
    say(page, "My bicycle is green.")
    past = page.locator(".run-past")

    past.locator("summary").click()
    runs = past.locator("[data-open-run]")
    expect(runs).to_have_count(1)
    expect(runs.first).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("textbox", name="Message")).to_be_in_viewport(ratio=1)
    runs.first.click()

    expect(past).not_to_have_attribute("open", re.compile(""))
    expect(page.locator("#panel-log [data-log-rows] > *")).to_have_count(5)


SEARCH = {"scope": "user", "query": "tea", "sought": {"top_k": 5}, "entries": [{"id": "2"}]}
MISSES: list[tuple[str, dict[str, Any], str]] = [
    ("a search that had room", {}, "tea"),
    ("a search that was full", {"sought": {"top_k": 1}}, ""),
    ("one of another memory", {"scope": "global"}, ""),
    ("one that found it", {"entries": [{"id": "1"}]}, ""),
    ("one for a key", {"sought": {"top_k": 5, "key": "k"}}, ""),
    ("one with another filter", {"sought": {"top_k": 5, "filter": {"a": 1}}}, ""),
    ("no search at all", {"query": None}, ""),
]


def check_live_pane_and_the_runs_page_agree_on_what_a_search_missed(signed_in: Page):
    """One truth in two languages: ``missed_by`` here, ``findUnmatchedQuery`` in the browser."""
    page = signed_in
    entry = {"id": "1", "score": None}
    taken = {"scope": "user", "query": None, "sought": {"top_k": 5}, "entries": [entry]}
    asked = [[entry, taken, [taken, {**SEARCH, **other}]] for _, other, _ in MISSES]

    here = [
        find_missed_query(entry, event_of(taken), [event_of(taken), event_of({**SEARCH, **other})])
        for _, other, _ in MISSES
    ]
    there = page.evaluate(
        """async ([module, asked]) => {
            const { findUnmatchedQuery } = await import(module);
            return asked.map((one) => findUnmatchedQuery(...one));
        }""",
        [static("js/runs/recollections.js"), asked],
    )

    assert here == there == [expected for _, _, expected in MISSES]


def check_memory_searched_for_stands_first_though_its_node_was_slower(signed_in: Page):
    page = signed_in
    newest = {"scope": "user", "query": None, "sought": {"top_k": 5}}
    sought = {"scope": "user", "query": "tea", "sought": {"top_k": 5}}
    heard = [
        {
            **newest,
            "entries": [{"id": id_, "key": id_, "value": id_, "score": None} for id_ in "ab"],
        },
        {
            **sought,
            "entries": [{"id": id_, "key": id_, "value": id_, "score": 0.5} for id_ in "bc"],
        },
        {**newest, "entries": [{"id": "c", "key": "c", "value": "c", "score": None}]},
    ]

    added, rows = page.evaluate(
        """async ([module, heard]) => {
            const { RecalledList } = await import(module);
            const list = new RecalledList(document.createElement("div"), document.getElementById("recalled-row"));
            const added = heard.map((event) => list.add(event));
            const text = (row, part) => row.querySelector(part)?.textContent.trim() ?? "";
            return [added, [...list.el.children].map((row) => [row.dataset.entryId, text(row, "[data-score-text]")])];
        }""",
        [static("js/runs/recalled_list.js"), heard],
    )

    assert added == [2, 1, 0]  # each memory once
    assert rows == [["b", "50% match"], ["c", "50% match"], ["a", ""]]


def event_of(data: dict[str, Any]) -> RunEvent:
    return RunEvent(name="memory_recalled", data=data)


def in_sight(page: Page, control: Locator) -> None:
    for one in (
        control,
        page.locator("[data-tour=new]"),
        page.locator(".chat-head summary").first,
        page.get_by_role("textbox", name="Message"),
        page.get_by_role("button", name="Send"),
    ):
        expect(one).to_be_in_viewport(ratio=1)


def only_the_log_scrolls(page: Page) -> None:
    rest = page.locator("#panel-run").evaluate("pane => pane.scrollHeight - pane.clientHeight")
    assert rest == 0
    assert page.locator(".chat-log").evaluate("log => log.scrollHeight - log.clientHeight") > 0


def test_answer_that_has_ended_is_shown_as_the_markdown_it_is(signed_in: Page):
    page = signed_in
    import_workflow(page, ANSWERS_IN_MARKDOWN)

    answer = say(page, "What is in it?")

    expect(answer.get_by_role("listitem")).to_have_text(["salt", "sugar"])
    expect(answer.get_by_role("heading", name="Soup", level=5)).to_be_visible()
    expect(answer.get_by_role("cell", name="two spoons")).to_be_visible()
    expect(answer).not_to_contain_text("**")
    page.reload()
    expect(page.locator(".chat-log .bubble-it").get_by_role("listitem")).to_have_count(2)


def test_message_that_reaches_no_server_is_kept_and_the_person_is_told(unwatched: Page):
    page = unwatched
    use_sample(page, "A chatbot that remembers")
    page.reload()  # without what was said of the copy
    ready(page)
    box = page.get_by_role("textbox", name="Message")
    box.fill("My bicycle is green.")

    page.context.set_offline(True)
    box.press("Enter")

    toast = page.locator("[data-toast]")
    expect(toast).to_have_text(["The server can't be reached. Try again in a moment."])
    expect(box).to_have_value("My bicycle is green.")
    page.context.set_offline(False)
    box.press("Enter")
    expect(page.locator(".bubble-me")).to_have_text([re.compile("My bicycle is green.")])


def test_questions_to_ask_next_stand_below_the_newest_answer_and_go_with_one_click(
    signed_in: Page,
):
    page = signed_in
    questions = ["With pepper?", "With bread?"]
    features = {
        "suggested_questions": questions,
        "suggested_questions_after_answer": {"enabled": True},
    }
    workflow = {**ANSWERS_IN_MARKDOWN["workflow"], "features": features}
    import_workflow(page, {**ANSWERS_IN_MARKDOWN, "workflow": workflow})
    offered = page.locator("#chat-log .follow-ups [data-say]:visible")

    at_the_box = page.locator(".chat-say > .chips [data-say]:visible")
    expect(at_the_box).to_have_text(questions)
    say(page, "How do I cook it?")
    expect(offered).to_have_text(questions)
    expect(at_the_box).to_have_count(0)  # nothing is offered twice
    offered.first.click()
    expect(page.locator("#chat-log .bubble-me")).to_have_text(["How do I cook it?", questions[0]])

    expect(offered).to_have_text(questions[1:])
    page.reload()
    expect(offered).to_have_text(questions[1:])
