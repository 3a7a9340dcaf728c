"""Finding a mistake with a browser: run, look, hold, change, go on, run a part, pin, try memory out, ask why."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.journeys import seeing
from tests.journeys.editing import import_workflow, open_sample, point_at_edge, press_label
from tests.journeys.seeing import ready


pytestmark = pytest.mark.browser

START = {"type": "start", "title": "Start", "variables": [{"variable": "q", "type": "string"}]}


def template(name: str, text: str, read: list[str]) -> dict[str, Any]:
    variables = [{"variable": "x", "value_selector": read}]
    return {"type": "template-transform", "title": name, "template": text, "variables": variables}


WORKFLOW = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": START},
        {"id": "first", "data": template("First", "a({{ x }})", ["start", "q"])},
        {
            "id": "keep",
            "data": {
                "type": "memory-store",
                "title": "Keep",
                "scope": "user",
                "key": "note",
                "value_selector": ["first", "output"],
            },
        },
        {"id": "second", "data": template("Second", "b({{ x }})", ["first", "output"])},
        {
            "id": "end",
            "data": {
                "type": "end",
                "title": "End",
                "outputs": [{"variable": "o", "value_selector": ["second", "output"]}],
            },
        },
    ],
    "edges": [
        {"id": "e1", "source": "start", "target": "first"},
        {"id": "e2", "source": "first", "target": "keep"},
        {"id": "e3", "source": "keep", "target": "second"},
        {"id": "e4", "source": "second", "target": "end"},
    ],
}


def command(page: Page, node: str, name: str) -> None:
    """As the palette of commands does it; that one has journeys of its own."""
    page.evaluate(
        "([node, name]) => { const { editor } = window.mnemoflow;"
        " editor.canvas.pick([node]); editor.commands.run(name); }",
        [node, name],
    )


def run(page: Page, text: str) -> None:
    page.locator("#tab-run").click()
    page.get_by_label("q", exact=True).fill(text)
    with another_run(page):
        page.keyboard.press("Control+Enter")


@contextmanager
def another_run(page: Page) -> Iterator[None]:
    """Until the editor follows a run it didn't follow before."""
    before = page.locator("#editor").get_attribute("data-run-id")
    yield
    if before is None:
        expect(page.locator("#editor[data-run-id]")).to_be_visible()
    else:
        expect(page.locator("#editor")).not_to_have_attribute("data-run-id", before)


def until(page: Page, status: str) -> None:
    expect(page.locator(f"#editor[data-run={status}]")).to_be_visible()


def step(page: Page, title: str) -> Any:
    return page.locator(".log-row").filter(has_text=title)


def last_run(page: Page, node: str, title: str) -> Any:
    step(page, title).locator("[data-step]").click()
    shown = page.locator(f"#insp-last [data-run-step={node}]")
    expect(shown).to_be_visible()
    return shown


def test_run_is_held_changed_and_goes_on(signed_in: Page) -> None:
    page = signed_in
    import_workflow(page, WORKFLOW)
    command(page, "second", "toggle-breakpoint")
    expect(page.locator("wf-node[data-id=second][data-breakpoint]")).to_be_attached()

    run(page, "1")
    until(page, "paused")
    expect(page.locator("wf-node[data-id=second]")).to_have_attribute("data-state", "paused")
    expect(page.locator("wf-node[data-id=first]")).to_have_attribute("data-state", "completed")
    page.evaluate("window.mnemoflow.editor.panel('log')")
    shown = last_run(page, "first", "First")
    shown.locator(".run-edit textarea").fill('{"output": "changed"}')
    shown.locator(".run-edit button[type=submit]").click()
    expect(page.locator("#insp-last")).to_contain_text("Edited manually")

    page.keyboard.press("F8")
    until(page, "succeeded")

    expect(page.locator("wf-node[data-id=end]")).to_have_attribute("data-state", "completed")
    expect(last_run(page, "second", "Second")).to_contain_text("b(changed)")


def check_part_of_a_run_keeps_the_rest_and_a_pin_takes_the_nodes_place(signed_in: Page) -> None:
    page = signed_in
    run(page, "1")
    until(page, "succeeded")
    page.evaluate("window.mnemoflow.editor.panel('log')")

    shown = last_run(page, "first", "First")
    shown.locator(".run-pin summary").click()
    shown.locator(".run-pin textarea").fill('{"output": "pinned"}')
    shown.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator("wf-node[data-id=first][data-pinned]")).to_be_attached()
    run(page, "2")
    until(page, "succeeded")
    expect(last_run(page, "second", "Second")).to_contain_text("b(pinned)")

    with another_run(page):
        command(page, "second", "run-from")
    expect(step(page, "First")).to_contain_text("Reused")
    until(page, "succeeded")
    expect(step(page, "Second")).not_to_contain_text("Reused")


def test_node_alone_and_part_of_a_run_are_run_again(signed_in: Page) -> None:
    import_workflow(signed_in, WORKFLOW)
    check_node_alone_asks_for_what_it_reads(signed_in)
    check_part_of_a_run_keeps_the_rest_and_a_pin_takes_the_nodes_place(signed_in)


def check_node_alone_asks_for_what_it_reads(signed_in: Page) -> None:
    page = signed_in

    command(page, "second", "run-node")
    page.locator("[data-needs] textarea").fill("typed")
    page.locator("[data-needs] button[type=submit]").click()

    until(page, "succeeded")
    expect(last_run(page, "second", "Second")).to_contain_text("b(typed)")


def test_memory_is_tried_out_then_kept(signed_in: Page) -> None:
    page = signed_in
    import_workflow(page, WORKFLOW)
    page.get_by_label("Dry run (memory)").check()
    run(page, "tea")
    until(page, "succeeded")

    page.locator("#tab-memory").click()
    change = page.locator(".mem-change")
    expect(change.locator("ins")).to_have_text("a(tea)")
    page.get_by_role("button", name="Keep all").click()

    expect(change).to_have_attribute("data-fate", "kept")
    page.goto("/memory/namespaces/")
    page.locator("main").get_by_role("link", name="You").first.click()
    expect(page.locator("main")).to_contain_text("a(tea)")


def test_what_went_along_an_edge_is_one_press_away(signed_in: Page) -> None:
    page = signed_in
    import_workflow(page, WORKFLOW)
    run(page, "tea")
    until(page, "succeeded")

    expect(page.locator(".wf-edge[data-id=e2]")).to_have_attribute("data-taken", "yes")
    label = point_at_edge(page, "e2")
    # A label that is drawn again while it is pressed loses the click.
    expect(label).to_have_text("a(tea)")
    press_label(page, label)

    expect(page.locator("#edge-data")).to_contain_text("a(tea)")
    page.keyboard.press("Escape")
    expect(page.locator("#edge-data")).to_be_hidden()
    expect(label).to_be_focused()


def test_answer_leads_to_its_prompt_and_to_where_it_was_learnt(signed_in: Page) -> None:
    page = open_sample(signed_in).page
    for said in ("I like oolong tea", "What do I like?"):
        page.locator("textarea[name=query]").fill(said)
        with another_run(page):
            page.keyboard.press("Enter")
        until(page, "succeeded")
    expect(page.locator(".bubble-it").last).to_contain_text("oolong tea")

    why = page.locator("[data-why]").last
    why.click()

    shown = page.get_by_role("region", name="Why this answer?")
    expect(shown).to_contain_text("What do I like?")
    expect(shown.get_by_text("In the prompt").first).to_be_visible()
    expect(shown.locator("[data-learned]", has_text="I like oolong tea").first).to_be_visible()
    # The conversation stays beside it, and one gesture leads back.
    expect(why).to_be_in_viewport()
    expect(page.locator("textarea[name=query]")).to_be_in_viewport()
    for leave in (why.click, shown.get_by_role("button", name="Close the explanation").click):
        leave()
        expect(shown).to_have_count(0)
        why.click()
        expect(shown.locator(".run-prompt")).to_be_visible()
    shown.get_by_role("button", name="Open node").click()
    expect(page.locator("#insp-last .run-prompt")).to_be_visible()

    page.locator("#tab-run").click()
    expect(shown).to_be_visible()
    page.locator("textarea[name=query]").fill("not sent yet")
    page.reload()
    ready(page)
    expect(page.locator("textarea[name=query]")).to_have_value("not sent yet")
    expect(page.locator("[data-run-state]").first).to_have_text("Succeeded")
    expect(page.locator(".log-row").first).to_be_attached()
    expect(page.locator("#chat-log [data-count]").last).to_be_visible()


def test_log_of_an_ended_run_appears_though_its_stream_is_answered_with_an_error_first(
    signed_in: Page, chromium: Browser
) -> None:
    page = open_sample(signed_in).page
    page.locator("textarea[name=query]").fill("I like green tea")
    with another_run(page):
        page.keyboard.press("Enter")
    until(page, "succeeded")
    statuses: list[int] = []

    def answer_as_a_proxy_does(route: Route) -> None:
        """As while the web server behind it restarts."""
        statuses.append(502 if len(statuses) < 3 else 200)
        if statuses[-1] == 502:
            route.fulfill(status=502, body="Bad gateway")
        else:
            route.continue_()

    # A page of its own: the browser writes the errors to its console. With a clock of its own, or the page would wait for seven
    # seconds until it has asked often enough.
    other = chromium.new_context(storage_state=page.context.storage_state()).new_page()
    other.route(re.compile(r"/runs/[^/]+/events/"), answer_as_a_proxy_does)
    other.clock.install()
    other.goto(page.url)
    ready(other)

    def has_appeared() -> bool:
        other.clock.fast_forward("00:20")
        return other.locator(".log-row").count() > 0

    seeing.until(other, has_appeared, why="the log never came")
    assert statuses[:4] == [502, 502, 502, 200]
    other.context.close()
