"""The first seed's section 12 from an empty canvas, in three ways and two languages; its second run knows the first.

By day all three ways draw it, and one of them goes on through the settings to the runs; by night each does, in both languages.
"""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.building import drawn, fill_in, kept, new_workflow, reading, run, wanted
from tests.journeys.editing import Draft
from tests.journeys.languages import BY_NIGHT
from tests.journeys.seeing import until
from tests.journeys.ways import Keyboard, Mouse, Outline
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser


@pytest.fixture
def empty(signed_in: Page, live_stack: LiveStack, language: str) -> Draft:
    signed_in.context.add_cookies(
        [{"name": "django_language", "value": language, "url": live_stack.url}]
    )
    draft = new_workflow(signed_in)
    expect(signed_in.locator("html")).to_have_attribute("lang", language)
    return draft


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "language"),
    [
        (Keyboard, "en"),
        pytest.param(Keyboard, "zh-hans", marks=BY_NIGHT),
        pytest.param(Mouse, "en", marks=BY_NIGHT),
        pytest.param(Mouse, "zh-hans", marks=BY_NIGHT),
        pytest.param(Outline, "en", marks=BY_NIGHT),
        pytest.param(Outline, "zh-hans", marks=BY_NIGHT),
    ],
)
def test_workflow_built_from_an_empty_canvas_is_the_seeds_and_remembers(
    empty: Draft, way: type[Mouse | Keyboard | Outline]
):
    page = empty.page
    builder = way(empty)

    builder.build()
    fill_in(builder)
    kept(page)

    until(page, lambda: reading(empty.document) == reading(wanted()))
    conversation = f"c-{empty.id}"  # a name is one workflow's alone
    run(page, "My cat is called Miso.", conversation)
    expect(run(page, "What is my cat called?", conversation)).to_contain_text("Miso")


@pytest.mark.slow
@pytest.mark.parametrize(("way", "language"), [(Mouse, "zh-hans"), (Outline, "en")])
def test_workflow_drawn_from_an_empty_canvas_has_the_nodes_and_edges_of_the_seeds(
    empty: Draft, way: type[Mouse | Outline]
):
    builder = way(empty)

    builder.build()

    until(empty.page, lambda: drawn(empty.document) == drawn(wanted()))
