"""Documents of a knowledge base in a real browser: uploaded, read, searched, answered from, replaced, removed and erased."""

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import say
from tests.journeys.editing import import_workflow
from tests.journeys.people import Owner
from tests.support.stack import LiveStack
from tests.workflows.citations.documents import MODEL, chat_document, search
from tests.workflows.sandbox.documents import made


pytestmark = pytest.mark.browser

HANDBOOK = """# Leave

## Vacation

Everyone has twenty-five days of paid vacation in each calendar year.

## Illness

Whoever is ill calls the office before nine in the morning.
"""


def look_at(page: Page, name: str) -> None:
    """Leave pictures of the page for who wants to see it: both themes, and a phone."""
    folder = os.environ.get("PICTURES")
    if not folder:
        return
    size = page.viewport_size
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=f"{folder}/{name}-{theme}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    page.screenshot(path=f"{folder}/{name}-phone.png", full_page=True)
    page.context.add_cookies([{"name": "django_language", "value": "zh-hans", "url": page.url}])
    page.set_viewport_size(size or {"width": 1280, "height": 800})
    if name in ("documents", "page", "list"):
        page.reload()
        page.screenshot(path=f"{folder}/{name}-chinese.png", full_page=True)
    page.context.clear_cookies(name="django_language")
    if name in ("documents", "page", "list"):
        page.reload()


def test_documents_become_pages_that_answers_cite_and_go_with_their_person(
    signed_in: Page, owner: Owner, live_stack: LiveStack, tmp_path: Path
) -> None:
    """One journey in chapters: each begins where the last one ended."""
    page = signed_in
    base = create_knowledge_base(page, "Handbook")
    originals = upload_documents(page, tmp_path)
    search_and_open_a_page(page, base, originals)
    replace_a_document(page, base, tmp_path)
    cite_a_document(page, live_stack, base)
    remove_and_undo(page, base)
    erase_the_person(page, live_stack, owner, base)


def create_knowledge_base(page: Page, name: str) -> str:
    page.goto("/memory/knowledge/")
    page.get_by_role("link", name="New knowledge base").click()
    look_at(page, "new-base")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Description").fill("How we work, and what it costs.")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("h1")).to_have_text(name)
    look_at(page, "empty-base")
    return page.url


def upload_documents(page: Page, folder: Path) -> dict[str, bytes]:
    contents = {
        "report.pdf": made.make_pdf("The budget of the club is 4711 euros."),
        "sales.xlsx": made.make_xlsx(),
        "plan.pptx": made.make_pptx(),
        "leave.md": HANDBOOK.encode(),
        "locked.pdf": made.make_pdf("secret", user_password="x"),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)

    field = page.locator("document-upload input[type=file]")
    field.set_input_files([str(folder / name) for name in contents])

    look_at(page, "uploading")
    expect(document(page, "report.pdf").locator(".hint").first).to_contain_text("1 page")
    expect(document(page, "sales.xlsx")).to_contain_text("1 page")
    expect(document(page, "plan.pptx")).to_contain_text("1 page")
    expect(document(page, "locked.pdf")).to_contain_text("protected by a password")
    expect(page.locator("document-upload .file-item")).to_have_count(0)
    expect(page.locator("#pages")).to_contain_text("sales › Sales")
    look_at(page, "documents")
    return contents


def document(page: Page, name: str) -> Locator:
    return page.locator("#documents .document").filter(has_text=name)


def search_and_open_a_page(page: Page, base: str, originals: dict[str, bytes]) -> None:
    page.get_by_role("searchbox", name="Search pages").fill("budget of the club")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#pages-title")).to_have_text("Matching pages")
    page.locator("#pages .title").first.click()
    expect(page.locator("article.prose")).to_contain_text("4711 euros")
    source = page.locator("section[aria-labelledby=page-sources]")
    expect(source).to_contain_text("report.pdf")
    look_at(page, "page")
    with page.expect_download() as download:
        source.get_by_role("link", name="Original document").click()
    assert Path(str(download.value.path())).read_bytes() == originals["report.pdf"]
    page.goto(base)


def replace_a_document(page: Page, base: str, folder: Path) -> None:
    field = page.locator("document-upload input[type=file]")
    field.set_input_files(str(folder / "leave.md"))
    expect(page.locator("document-upload .file-item")).to_contain_text("nothing new")
    changed = folder / "new" / "leave.md"
    changed.parent.mkdir()
    changed.write_text(HANDBOOK.replace("twenty-five", "thirty"))

    with page.expect_response(lambda answer: answer.request.method == "POST"):
        field.set_input_files(str(changed))
    expect(page.locator("document-upload .file-item progress")).to_have_count(0)
    # Once all is read the page loads itself again, which would end another way to a page.
    expect(page.locator("#documents[hx-get]")).to_have_count(0)

    page.goto(f"{base}?q=paid+vacation")
    page.locator("#pages .title").first.click()
    expect(page.locator("article.prose")).to_contain_text("thirty days of paid vacation")


def cite_a_document(page: Page, live_stack: LiveStack, base: str) -> None:
    """A chat answers from the document, and its citation leads to the page that the document became."""
    query = "select text from memory_namespace where id = %s"
    ((namespace,),) = live_stack.sql(query, [base.rstrip("/").rpartition("/")[2]])
    import_workflow(page, chat_document(search(knowledge_bases=[namespace]), *MODEL))
    page.locator(".ed-right [role=tab]", has_text="Chat").click()

    answer = say(page, "What is the budget of the club?")

    expect(answer).to_contain_text("4711 euros")
    source = page.locator(".citation > summary").first
    expect(source).to_contain_text("report")
    source.click()
    expect(page.locator(".citation-body").first).to_contain_text("report.pdf")
    look_at(page, "cited")
    page.get_by_role("link", name="Open the page").first.click()
    expect(page.locator("article.prose")).to_contain_text("4711 euros")


def remove_and_undo(page: Page, base: str) -> None:
    page.goto(base)
    document(page, "report.pdf").get_by_role("button", name="Remove").click()
    page.locator("#confirm").get_by_role("button", name="Remove").click()
    expect(document(page, "report.pdf")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(document(page, "report.pdf")).to_contain_text("1 page")


def erase_the_person(page: Page, live_stack: LiveStack, owner: Owner, base: str) -> None:
    """Nothing of the person's documents is left: neither pages nor rows nor contents."""
    rows = live_stack.sql(
        "select path from workflows_storedfile where origin = 'document' and subject = %s",
        [owner.id],
    )
    home = Path(live_stack.environment["MNEMOFLOW_HOME"]) / "files"
    assert len(rows) >= 5
    assert all((home / str(path)).exists() for (path,) in rows)
    token = json.loads(str(page.locator("body").get_attribute("hx-headers:inherited")))

    answer = page.request.post(
        f"/api/v1/memory/subjects/{owner.id}/erase",
        data=json.dumps({"dry_run": False, "runs": False}),
        headers={**token, "Content-Type": "application/json"},
    )

    assert answer.status == 200, answer.text()
    assert not any(answer.json()["left"].values())
    assert not any((home / str(path)).exists() for (path,) in rows)
    page.goto(base)
    expect(page.locator("#documents .document")).to_have_count(0)
