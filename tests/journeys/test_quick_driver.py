"""What the driver leaves out: descriptions of pages that nobody reads, and news of requests that nobody listens to."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import document
from tests.journeys.editing import store_workflow
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import note_requests


pytestmark = pytest.mark.browser


def test_what_is_not_there_is_missed_without_a_description_of_the_page(rooms: Rooms):
    with rooms.lent() as context:
        page = context.pages[0]
        page.goto("about:blank")
        page.set_content("<main><h1>Something else</h1></main>")
        nothing = page.locator("#nothing")

        with pytest.raises(AssertionError, match="expected to be visible") as missed:
            expect(nothing).to_be_visible(timeout=1)

        assert "Something else" not in str(missed.value)


def test_browser_tells_of_requests_as_long_as_somebody_listens(rooms: Rooms):
    with rooms.lent() as context:
        page = context.pages[0]
        before = page.goto("/accounts/login/")
        with note_requests(page) as requests:
            during = page.goto("/accounts/login/")
        number = len(requests)
        after = page.goto("/accounts/login/")

    assert (before, after) == (None, None)
    assert during is not None
    assert during.ok
    assert during.url in [request.url for request in requests]
    assert len(requests) == number > 1


def test_request_right_after_a_listener_has_come_is_heard(rooms: Rooms):
    with rooms.lent() as context:
        page = context.pages[0]
        page.goto("/accounts/login/")

        with page.expect_response("**/healthz") as answer:
            page.evaluate("async () => { await (await fetch('/healthz')).text(); }")

        assert answer.value.text()  # the browser still has it, though nobody listens any more


def test_page_that_is_opened_by_a_page_is_listened_to_with_its_context(rooms: Rooms):
    requests: list[str] = []
    with rooms.lent() as context:
        page = context.pages[0]
        page.goto("/accounts/login/")
        context.on("request", lambda request: requests.append(request.url))

        with page.expect_popup() as popup:
            page.evaluate("() => void open('/healthz')")
        popup.value.wait_for_load_state()
        with popup.value.expect_response("**/healthz?again"):
            popup.value.evaluate("() => void fetch('/healthz?again')")

        context.close()
    assert any(address.endswith("/healthz?again") for address in requests)


def test_route_holds_the_first_request_after_it_was_made(rooms: Rooms):
    with rooms.lent() as context:
        page = context.pages[0]
        page.goto("/accounts/login/")

        page.route("**/healthz", lambda route: route.fulfill(body="from the test"))

        assert page.evaluate("async () => (await fetch('/healthz')).text()") == "from the test"
        page.unroute_all()
        assert page.evaluate("async () => (await fetch('/healthz')).text()") != "from the test"


# Without the attribute that tells the browser beforehand.
ADD_LINK = """(href) => document.body.replaceChildren(
  Object.assign(document.createElement("a"), { href, textContent: "Picture" }))"""


def test_press_of_a_link_ends_when_a_download_begins(signed_in: Page):
    id_ = store_workflow(signed_in, document())
    signed_in.goto("/healthz")
    signed_in.evaluate(ADD_LINK, f"/workflows/{id_}/export.svg")

    with signed_in.expect_download() as download:
        signed_in.get_by_text("Picture").click()

    assert download.value.suggested_filename.endswith(".svg")
