"""Knowledge from talk to page and back: made by a workflow, followed both ways, written by hand, and undone."""

import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.journeys.chatting import say, use_sample
from tests.journeys.languages import LANGUAGES
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser


@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_are_made_followed_changed_and_undone(
    signed_in: Page, live_stack: LiveStack, language: str
) -> None:
    """One journey in chapters: each begins where the last one ended."""
    page, lamp = signed_in, "Brass Lamp"
    speak(page, live_stack, "en")
    asked = made_by_a_workflow(page, lamp)
    speak(page, live_stack, language)

    page.goto(asked)
    expect(page.locator("html")).to_have_attribute("lang", language)
    knowledge_base = followed_both_ways(page, lamp)
    undone_with_its_run(page)
    water, tea = written_by_hand(page, knowledge_base)
    referred_to(page, water, tea)
    conflicting(page, tea)
    brought_back_from_its_history(page, tea)
    forgotten_and_undone(page, tea)
    taken_out_byte_for_byte(page, knowledge_base)


def speak(page: Page, live_stack: LiveStack, language: str) -> None:
    cookie = {"name": "django_language", "value": language, "url": live_stack.url}
    page.context.add_cookies([cookie])  # type: ignore[list-item]  # a TypedDict, to the checker


def made_by_a_workflow(page: Page, lamp: str) -> str:
    """What was said becomes a page, and is answered from it; the address of the run that answered."""
    use_sample(page, "A wiki that maintains itself")
    say(page, f"The {lamp} is under the roof.")
    expect(say(page, "Make pages")).to_contain_text(lamp)
    expect(say(page, f"Where is the {lamp}?")).to_contain_text("under the roof")
    return str(page.get_by_role("link", name="Why?").last.get_attribute("href"))


def followed_both_ways(page: Page, lamp: str) -> str:
    """Run → memory → that run and the one that wrote it → the page; the address of its knowledge base."""
    run = page.url
    page.locator("#recalled .recollection").filter(has_text=lamp).locator(
        "a[href*='/memory/entries/']"
    ).click()
    expect(page.locator("#reads-title")).to_be_visible()
    recalled = page.locator("section[aria-labelledby=reads-title] a[href^='/runs/']").first
    assert run.endswith(str(recalled.get_attribute("href")))
    recalled.click()
    expect(page.locator("#memory-of-run")).to_be_visible()
    page.go_back()
    page.locator(".page-head a[href*='/memory/knowledge/pages/']").click()
    expect(page.locator("article.prose")).to_contain_text("under the roof")
    knowledge_base = page.locator(".crumbs a").last.get_attribute("href")
    page.locator("section[aria-labelledby=page-facts] a[href*='/memory/entries/']").click()
    page.locator("section[aria-labelledby=source-title] a[href^='/runs/']").click()
    expect(page.locator("#written .recollection").filter(has_text=lamp).first).to_be_visible()
    return str(knowledge_base)


def undone_with_its_run(page: Page) -> None:
    """Counted, done, and brought back, on the page of the run that wrote it."""
    page.locator("form[action*='/memory/undo/'] button").click()
    page.locator("[role=alertdialog] [name=reason]").fill("not so")
    page.locator("[role=alertdialog] button[type=submit]").click()
    back = page.locator("form[action*='/memory/changes/'] button")
    expect(back).to_be_visible()
    back.click()
    expect(page.locator("form[action*='/memory/undo/'] button")).to_be_visible()
    expect(back).to_have_count(0)


def written_by_hand(page: Page, knowledge_base: str) -> tuple[str, str]:
    """By the keyboard; looked at before it is saved."""
    found = []
    for title, content in (("Water", "Wet."), ("Tea", "Made of **hot** [[Water]].")):
        page.goto(knowledge_base)
        page.locator("a[href*='/memory/knowledge/new/']").first.focus()
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.locator("[name=title]").press_sequentially(title)
        page.locator("[name=content]").fill(content)
        page.locator("button[name=preview]").press("Enter")
        expect(page.locator("#preview")).to_contain_text(content.split("*")[0].strip())
        page.locator(".writing .button-main").press("Enter")
        expect(page.locator("h1")).to_have_text(title)
        found.append(page.url.partition("#")[0])
    return found[0], found[1]


def referred_to(page: Page, water: str, tea: str) -> None:
    page.goto(tea)
    page.locator("article.prose a.page-link").click()
    expect(page).to_have_url(water)
    page.locator("section[aria-labelledby=backlinks-title] a").click()
    expect(page).to_have_url(tea)


def conflicting(page: Page, tea: str) -> None:
    """Two tabs: the later one is shown what differs, and may save all the same."""
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(f"{tea}edit/")
    page.locator("[name=content]").fill("Made of cold [[Water]].")
    page.locator(".writing .button-main").click()
    expect(page.locator("article.prose")).to_contain_text("cold")
    other.locator("[name=content]").fill("Made of boiled [[Water]].")
    other.locator(".writing .button-main").click()
    expect(other.locator(".difference del")).to_have_text("cold")
    expect(other.locator(".difference ins")).to_have_text("boiled")
    other.locator(".writing .button-main").click()
    expect(other.locator("article.prose")).to_contain_text("boiled")
    other.close()


def brought_back_from_its_history(page: Page, tea: str) -> None:
    page.goto(f"{tea}history/")
    expect(page.locator(".rows > li")).to_have_count(3)
    oldest = page.locator(".rows > li").last
    oldest.locator("summary").click()
    oldest.locator("[name=reason]").fill("it was right")
    oldest.locator("button[name=revision]").click()
    expect(page.locator("article.prose strong")).to_have_text("hot")


def forgotten_and_undone(page: Page, tea: str) -> None:
    page.goto(tea)
    page.locator("form[action$='/forget/'] button").click()
    expect(page.locator(".page-list a.title").filter(has_text="Tea")).to_have_count(0)
    page.locator("form[action*='/memory/changes/'] button").click()
    expect(page.locator(".page-list a.title").filter(has_text="Tea")).to_have_count(1)


def taken_out_byte_for_byte(page: Page, knowledge_base: str) -> None:
    """What comes in as a file goes out as that file; found by searching as one types it."""
    data = b"---\nid: cups\ntitle: Cups\nowner: kitchen\n---\nTwelve.\r\n"
    page.goto(knowledge_base)
    page.locator("details summary").last.click()
    file = FilePayload(name="cups.md", mimeType="text/markdown", buffer=data)
    page.locator("#import-files").set_input_files(file)
    form = page.locator("form[action$='/import/']")
    # Only tried: the file stays chosen, and nothing comes in.
    form.locator("button[formaction]").click()
    expect(form.locator("#import-preview .notice-ok")).to_be_visible()
    form.locator("button.button-main").click()
    expect(page.locator(".toast").last).to_be_visible()
    page.locator("main [name=q]").fill("cups")
    page.locator("main [name=q]").press("Enter")
    expect(page.locator(".page-list a.title")).to_have_text(["Cups"])
    with page.expect_download() as download:
        page.locator("a[href$='/export/']").click()
    with zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())) as archive:
        assert archive.read("cups.md") == data
        assert {name for name in archive.namelist() if re.match(r"(tea|water)\.md", name)}
