"""The driver makes no description of the page while something isn't there yet."""

import pytest
from playwright.sync_api import expect

from tests.journeys.rooms import Rooms


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
