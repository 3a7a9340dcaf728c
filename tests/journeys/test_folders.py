"""Folders of the Workflows page by mouse and by keys: made, filled, searched through, renamed and taken away again."""

import re
from collections.abc import Sequence

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.canvas_document import document
from tests.journeys.editing import change, store_workflow
from tests.journeys.languages import LANGUAGES
from tests.journeys.looking import CONTRAST, NAMELESS, OVERFLOW, complaints
from tests.journeys.seeing import follow, middle
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser


@pytest.fixture
def listing(signed_in: Page, live_stack: LiveStack, language: str) -> Page:
    """The page in a language, told apart by nothing but its words."""
    page = signed_in
    page.context.add_cookies(
        [{"name": "django_language", "value": language, "url": live_stack.url}]
    )
    page.goto("/workflows/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    return page


def new_workflow(page: Page, name: str) -> None:
    """Where one is."""
    page.locator(".page-head a[href^='/workflows/new/']").click()
    page.locator("[name=name]").fill(name)
    page.locator("form.card button[type=submit]").click()
    expect(page.locator("#workflow-name")).to_have_text(name)
    follow(page, page.locator(".ed-top > a").first)
    expect(row(page, name)).to_be_visible()


def new_folder(page: Page, name: str) -> None:
    """By keys, once the dialog is open: it is typed and sent without a click."""
    page.locator(".page-head a[href^='/workflows/folders/new/']").click()
    expect(page.locator("#folder-dialog [name=name]")).to_be_focused()
    page.keyboard.type(name)
    enter(page)
    expect(tile(page, name)).to_be_visible()


def have(page: Page, *workflows: str, folders: Sequence[str] = ()) -> None:
    """By the API, where it isn't tested how they are made; on the page afterwards."""
    for name in folders:
        change(page, "folders", {"name": name})
    for name in workflows:
        store_workflow(page, document(), name)
    page.reload()


def enter(page: Page) -> None:
    """What is typed, and wait for the whole next page."""
    with page.expect_navigation():
        page.keyboard.press("Enter")


def row(page: Page, name: str) -> Locator:
    return page.locator("tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))


def tile(page: Page, name: str) -> Locator:
    return page.locator("li.folder").filter(has=page.locator("b", has_text=re.compile(f"^{name}$")))


def drag(page: Page, what: Locator, onto: Locator) -> None:
    start, end = middle(what), middle(onto)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 12, start[1] - 12, steps=4)
    page.mouse.move(*end, steps=8)
    page.mouse.move(end[0] + 2, end[1], steps=2)  # a small target is hit by the last step alone
    expect(onto).to_have_class(re.compile("is-over"))
    with page.expect_navigation():  # the next drag measures places in the whole new page
        page.mouse.up()


def search(page: Page, words: str) -> None:
    page.locator("input[type=search]").fill(words)
    enter(page)
    expect(page).to_have_url(re.compile(r"\?q="))


@pytest.mark.parametrize("language", LANGUAGES)
def test_folder_is_made_filled_found_renamed_and_taken_away(listing: Page, language: str):
    page = listing
    outer, inner, name = "Customers", "Letters", "Answer"
    new_folder(page, outer)
    new_workflow(page, name)

    drag(page, row(page, name), tile(page, outer))
    expect(row(page, name)).to_have_count(0)
    follow(page, tile(page, outer).locator("a.folder-open"))
    expect(row(page, name)).to_be_visible()

    new_folder(page, inner)
    move_by_keys(page, name, into=inner)
    expect(row(page, name)).to_have_count(0)
    search(page, name)
    expect(row(page, name).locator(".in-folder")).to_have_text(f"{outer} / {inner}")

    follow(page, row(page, name).locator(".in-folder a"))
    renamed = rename_here(page, "Post")
    delete_here(page)
    expect(page.locator("h1")).to_have_text(outer)
    expect(tile(page, renamed)).to_have_count(0)
    expect(row(page, name)).to_be_visible()


def move_by_keys(page: Page, name: str, *, into: str) -> None:
    """The row's menu, and the arrows among the places."""
    row(page, name).locator("td.pick-end summary").focus()
    page.keyboard.press("Enter")
    row(page, name).locator("td.pick-end [data-move]").focus()
    page.keyboard.press("Enter")
    dialog = page.locator("#folder-dialog")
    expect(dialog.locator("[name=into]:checked")).to_be_focused()
    place = dialog.locator("label.place").filter(has_text=into)
    for _ in range(20):
        if place.locator("input").is_checked():
            break
        page.keyboard.press("ArrowDown")
    assert complaints(page, CONTRAST, NAMELESS) == []
    enter(page)
    expect(dialog).to_be_hidden()


def rename_here(page: Page, name: str) -> str:
    page.locator(".folder-head summary").click()
    page.locator(".folder-head a[href*='/rename/']").click()
    expect(page.locator("#folder-dialog [name=name]")).to_be_focused()
    page.keyboard.type(name)  # the former one is selected, so this takes its place
    enter(page)
    expect(page.locator("h1")).to_have_text(name)
    return name


def delete_here(page: Page) -> None:
    page.locator(".folder-head summary").click()
    page.locator(".folder-head form[action*='/delete/'] button").click()
    agree(page)
    expect(page.locator("[data-toast]")).to_be_visible()


def agree(page: Page) -> None:
    """To what is asked before something goes: the first button is the one that does it."""
    asked = page.locator("#confirm")
    expect(asked).to_be_visible()
    assert complaints(page, CONTRAST, NAMELESS) == []
    asked.locator("button[value=yes]").click()


@pytest.mark.parametrize("language", ["en"])
def test_chosen_workflows_are_dragged_together_and_a_folder_by_its_tile(
    listing: Page, language: str
):
    page = listing
    ships, harbour = "Ships", "Harbour"
    sail, oar, anchor = "Sail", "Oar", "Anchor"
    have(page, sail, oar, anchor, folders=(ships, harbour))

    for name in (sail, oar):
        row(page, name).locator("input[type=checkbox]").check()
    expect(page.locator("#choose")).to_contain_text("2 selected")
    drag(page, row(page, oar), tile(page, ships))
    expect(row(page, oar)).to_have_count(0)
    drag(page, tile(page, ships), tile(page, harbour))
    expect(tile(page, ships)).to_have_count(0)

    follow(page, tile(page, harbour).locator("a.folder-open"))
    follow(page, tile(page, ships).locator("a.folder-open"))
    expect(page.locator("tbody tr")).to_have_count(2)
    drag(page, row(page, sail), page.locator(".crumbs a").first)
    expect(page.locator("tbody tr")).to_have_count(1)
    page.goto("/workflows/")
    expect(row(page, sail)).to_be_visible()
    expect(row(page, anchor)).to_be_visible()


@pytest.mark.parametrize("language", ["en"])
def test_phone_chooses_and_moves_without_dragging(listing: Page, language: str):
    page, pocket, pebble = listing, "Pocket", "Pebble"
    have(page, pebble, folders=[pocket])
    page.set_viewport_size({"width": 390, "height": 844})

    row(page, pebble).locator("input[type=checkbox]").check()
    expect(page.locator("#choose")).to_be_in_viewport(ratio=1)
    page.locator("#choose button[type=submit]").click()
    page.locator("#folder-dialog label.place").filter(has_text=pocket).click()
    assert complaints(page, OVERFLOW) == []
    page.locator("#folder-dialog button[type=submit]").click()

    expect(row(page, pebble)).to_have_count(0)
    expect(tile(page, pocket)).to_contain_text("Workflows: 1")
    assert complaints(page, OVERFLOW, NAMELESS) == []


@pytest.mark.parametrize("language", ["en"])
def test_chosen_workflows_are_archived_and_undo_brings_them_back(listing: Page, language: str):
    page, kelp, shell = listing, "Kelp", "Shell"
    have(page, kelp, shell)

    for name in (kelp, shell):
        row(page, name).locator("input[type=checkbox]").check()
    page.locator("#choose [data-archive]").click()
    expect(page.locator("[data-toast]")).to_contain_text("Archived 2 workflows.")
    expect(row(page, kelp)).to_have_count(0)
    page.locator("[data-toast]").get_by_role("button", name="Undo").click()

    expect(row(page, kelp)).to_be_visible()
    expect(row(page, shell)).to_be_visible()
    row(page, shell).locator("td.pick-end summary").click()
    last = row(page, shell).locator(".row-menu .menu-item").last
    last.click()
    expect(row(page, shell)).to_have_count(0)
