"""What the live region of the editor says."""

import re

import pytest
from playwright.sync_api import Page, Route

from tests.journeys.editing import open_sample


pytestmark = pytest.mark.browser


def test_redo_is_announced_when_the_page_was_read_anew_before_its_answer(signed_in: Page):
    """The new page holds the step already, so that its late answer changes nothing."""
    draft = open_sample(signed_in)
    page = draft.page
    draft.add_template_after("Recall")
    page.keyboard.press("Control+z")
    draft.heard(re.compile("Undone: "))
    anew = {"revision": 0, "reload": True, "changes": [], "shape": None, "parts": None}

    def overtake(route: Route) -> None:
        answer = route.fetch()
        page.route("**/changes/**", lambda other: other.fulfill(json=anew), times=1)
        page.evaluate("mnemoflow.editor.edits.catchUp()")
        route.fulfill(response=answer)

    page.route("**/redo/", overtake, times=1)
    page.keyboard.press("Control+Shift+Z")

    draft.heard(re.compile("Redone: "))
