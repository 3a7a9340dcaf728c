"""A PDF, a sheet, a deck and a picture: uploaded in the browser, read, answered from, remembered, and erased with their person."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import say
from tests.journeys.editing import import_workflow
from tests.journeys.seeing import box_of, ready
from tests.support.stack import LiveStack
from tests.workflows.sandbox.documents import made


pytestmark = pytest.mark.browser

OFFLINE = {"provider": "offline", "name": "offline", "mode": "chat"}
FIELDS = [
    {"variable": "documents", "label": "Documents", "type": "file-list", "required": True, "max_length": 3,
     "allowed_file_types": ["document"]},
    {"variable": "picture", "label": "Picture", "type": "file", "required": False, "allowed_file_types": ["image"]},
    {"variable": "question", "label": "Question", "type": "text-input", "required": True},
]  # fmt: skip
NAMES = "{% for file in files %}{{ file.name }} {% endfor %}"


def node(node_id: str, kind: str, **data: Any) -> dict[str, Any]:
    return {"id": node_id, "data": {"type": kind, "title": node_id.title(), **data}}


WORKFLOW = {
    "version": "0.1.0",
    "nodes": [
        node("start", "start", variables=FIELDS),
        node("read", "document-extractor", variable_selector=["start", "documents"], is_array_file=True),
        node("join", "template-transform", template="{{ texts|join('\n\n') }}",
             variables=[{"variable": "texts", "value_selector": ["read", "text"]}]),
        node("names", "template-transform", template=NAMES,
             variables=[{"variable": "files", "value_selector": ["start", "documents"]}]),
        node("answer", "llm", model=OFFLINE, prompt_template=[
            {"role": "system", "text": "{{#join.output#}}"}, {"role": "user", "text": "{{#start.question#}}"}]),
        node("look", "llm", model=OFFLINE, prompt_template=[{"role": "user", "text": "What is in the picture?"}],
             vision={"enabled": True, "configs": {"variable_selector": ["start", "picture"]}}),
        node("keep", "memory-store", scope="user", key="documents", value_selector=["join", "output"],
             metadata_selectors={"source": ["names", "output"]}, trusts_outside=True),
        node("end", "end", outputs=[
            {"variable": "answer", "value_selector": ["answer", "text"]},
            {"variable": "seen", "value_selector": ["look", "text"]},
            {"variable": "documents", "value_selector": ["start", "documents"]}]),
    ],
    "edges": [
        {"id": f"{one}-{two}", "source": one, "target": two}
        for one, two in [("start", "read"), ("read", "join"), ("join", "names"), ("names", "answer"),
                         ("answer", "look"), ("look", "keep"), ("keep", "end")]
    ],
}  # fmt: skip


CHAT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Look", "mode": "advanced-chat"},
    "workflow": {
        "features": {},
        "graph": {
            "nodes": [
                node("start", "start", variables=[]),
                node("look", "llm", model=OFFLINE, prompt_template=[{"role": "user", "text": "{{#sys.query#}}"}],
                     vision={"enabled": True}),
                node("answer", "answer", answer="{{#look.text#}}\n\n{{#sys.files#}}"),
            ],
            "edges": [
                {"id": "a", "source": "start", "target": "look"},
                {"id": "b", "source": "look", "target": "answer"},
            ],
        },
    },
}  # fmt: skip


def write_files(folder: Path) -> dict[str, Path]:
    contents = {
        "report.pdf": made.make_pdf("The budget of the club is 4711 euros."),
        "sales.xlsx": made.make_xlsx(),
        "plan.pptx": made.make_pptx(),
        "cat.png": made.png(40, 30),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in contents}


def look_at(page: Page, name: str) -> None:
    """Leave a picture of the page for who wants to see it."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def item(picker: Locator, name: str) -> Locator:
    return picker.locator(".file-item").filter(has_text=name)


def test_documents_are_read_remembered_and_erased(
    signed_in: Page, live_stack: LiveStack, tmp_path: Path
):
    files = write_files(tmp_path)
    page = import_workflow(signed_in, WORKFLOW).page
    card = page.locator("#run-card")
    documents, picture = card.locator("file-picker").nth(0), card.locator("file-picker").nth(1)

    choose(documents, *(files[name] for name in ("report.pdf", "sales.xlsx", "plan.pptx")))
    for name in ("report.pdf", "sales.xlsx", "plan.pptx"):
        expect(item(documents, name)).to_have_class(re.compile("is-there"))
    drop(page, picture.locator("[data-drop]"), files["cat.png"])
    expect(item(picture, "cat.png").locator("img")).to_be_visible()
    card.get_by_label("Question").fill("What is the budget of the club?")
    card.locator("summary", has_text="User and conversation").click()
    card.get_by_label("User", exact=True).fill("Reader")
    look_at(page, "form")
    card.get_by_role("button", name="Run", exact=True).click()
    expect(card.locator(".bubble-it")).to_contain_text("4711")
    expect(card.locator(".run-output a .clip")).to_have_text(
        ["report.pdf", "sales.xlsx", "plan.pptx"]
    )
    assert "token=" not in card.inner_text()
    look_at(page, "ended")
    card.get_by_role("link", name="Details").click()

    expect(page.locator("#run-body .output").first).to_contain_text(
        "The budget of the club is 4711 euros"
    )
    expect(page.locator("#run-body")).to_contain_text("I was given cat.png")
    link = page.locator(".file-item a", has_text="report.pdf").first
    expect(page.locator(".file-picture img").first).to_be_visible()
    look_at(page, "run")
    with page.expect_download() as download:
        link.click()
    assert Path(str(download.value.path())).read_bytes() == files["report.pdf"].read_bytes()
    address = str(link.get_attribute("href"))

    subject, paths = stored(live_stack, "report.pdf")
    assert all((home(live_stack) / path).exists() for path in paths)
    # The page of the memory says from which files it is.
    entry = "select e.id from memory_entry e join memory_namespace n on n.id = e.namespace_id where n.text like %s"
    ((entry_id,),) = live_stack.sql(entry, [f"%{subject.partition('@')[0]}%"])
    page.goto(f"/memory/entries/{entry_id}/")
    expect(page.locator("main")).to_contain_text("report.pdf sales.xlsx plan.pptx")
    look_at(page, "memory")
    ((value, metadata),) = remembered(live_stack, subject)
    assert "4711" in value
    assert metadata["source"].split() == ["report.pdf", "sales.xlsx", "plan.pptx"]

    erase(page, subject)

    assert remembered(live_stack, subject) == []
    assert page.request.get(address).status == 404
    assert not any((home(live_stack) / path).exists() for path in paths)


def test_file_too_many_is_explained_and_files_can_be_removed(signed_in: Page, tmp_path: Path):
    files = write_files(tmp_path)
    page = import_workflow(signed_in, WORKFLOW).page
    documents = page.locator("#run-card file-picker").nth(0)

    choose(documents, *[files["report.pdf"]] * 4)
    expect(item(documents, "At most 3 files are accepted.")).to_have_count(1)
    expect(documents.locator(".is-there")).to_have_count(3)
    for _number in range(4):
        documents.get_by_role("button", name="Remove report.pdf").first.click()

    expect(documents.locator(".file-item")).to_have_count(0)
    expect(documents.locator("input[type=hidden]")).to_have_value("")
    choose(documents, files["sales.xlsx"])
    expect(item(documents, "sales.xlsx")).to_have_class(re.compile("is-there"))


def test_file_of_another_type_is_refused_when_it_is_chosen(unwatched: Page, tmp_path: Path):
    files = write_files(tmp_path)
    disguised = tmp_path / "disguised.png"
    disguised.write_bytes(files["report.pdf"].read_bytes())
    page = import_workflow(unwatched, WORKFLOW).page
    card = page.locator("#run-card")
    picture = card.locator("file-picker").nth(1)
    expect(picture).to_contain_text("One file: images up to 10 MB")

    choose(picture, files["sales.xlsx"])  # refused by the page, by its name
    expect(item(picture, "sales.xlsx")).to_contain_text(
        "Picture: sales.xlsx is not of an accepted type. Accepted: images up to 10 MB."
    )
    look_at(page, "refused")
    choose(picture, disguised)  # refused by the server, by its content
    expect(item(picture, "disguised.png")).to_contain_text(
        "Picture: disguised.png is not of an accepted type. Accepted: images up to 10 MB."
    )
    expect(picture.locator("input[type=hidden]")).to_have_value("")


def choose(picker: Locator, *paths: Path) -> None:
    picker.locator("input[type=file]").set_input_files([str(path) for path in paths])


def drop(page: Page, target: Locator, path: Path) -> None:
    """Drop a file as a person does: its bytes are put together in the page."""
    data = page.evaluate_handle(
        """([bytes, name]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
          return transfer;
        }""",
        [list(path.read_bytes()), path.name],
    )
    for event in ("dragover", "drop"):
        target.dispatch_event(event, {"dataTransfer": data})


def home(live_stack: LiveStack) -> Path:
    return Path(live_stack.environment["MNEMOFLOW_HOME"]) / "files"


def stored(live_stack: LiveStack, name: str) -> tuple[str, list[str]]:
    """Return the person of the newest file with this name, and the paths of all files of that person."""
    query = "select subject from workflows_storedfile where name = %s order by id desc limit 1"
    ((subject,),) = live_stack.sql(query, [name])
    rows = live_stack.sql("select path from workflows_storedfile where subject = %s", [subject])
    return str(subject), [str(path) for (path,) in rows]


def remembered(live_stack: LiveStack, subject: str) -> list[tuple[str, dict[str, Any]]]:
    query = """
        select e.value::text, e.metadata::text from memory_entry e join memory_namespace n on n.id = e.namespace_id
        where n.text like %s
    """
    rows = live_stack.sql(query, [f"%{subject.partition('@')[0]}%"])
    return [(str(value), json.loads(str(metadata))) for value, metadata in rows]


def erase(page: Page, subject: str) -> None:
    token = json.loads(str(page.locator("body").get_attribute("hx-headers:inherited")))
    answer = page.request.post(
        f"/api/v1/memory/subjects/{subject}/erase",
        data=json.dumps({"dry_run": False, "runs": True}),
        headers={**token, "Content-Type": "application/json"},
    )
    assert answer.status == 200, answer.text()
    assert answer.json()["left"]["workflows_storedfile"] == 0


def test_chat_takes_files_once_its_workflow_does(signed_in: Page, tmp_path: Path):
    picture, note = tmp_path / "cat.png", tmp_path / "note.txt"
    picture.write_bytes(made.png(40, 120))
    note.write_text("A cat.")
    page = import_workflow(signed_in, CHAT).page
    expect(page.locator("file-picker")).to_have_count(0)

    page.locator(".ed-right [role=tab]", has_text="Node").click()
    with page.expect_response(re.compile("/draft/")):
        page.get_by_role("switch", name="Files with messages").check()
    page.locator(".ed-right [role=tab]", has_text="Chat").click()
    picker = page.locator("file-picker")
    expect(picker).to_have_count(1)  # without a reload
    choose(picker, picture, note)
    for name in ("cat.png", "note.txt"):
        expect(item(picker, name)).to_have_class(re.compile("is-there"))
    answer = say(page, "What is in the picture?")

    expect(answer).to_contain_text("I was given cat.png")
    expect(picker.locator(".file-item")).to_have_count(0)  # they were sent
    expect(page.locator(".chat-log .file-picture")).to_contain_text("cat.png")
    # A document beside a picture is as high as a line, not as the picture.
    link = page.locator(".chat-log .file-items .file-item", has_text="note.txt")
    assert box_of(link)["height"] < 60
    # The answer has the picture itself, and neither its link nor the link's signature.
    expect(answer).not_to_contain_text("token=")
    shown = answer.get_by_role("img", name="cat.png")
    expect(shown).to_have_js_property("naturalWidth", 40)
    look_at(page, "chat")
    shown.click()
    view = page.get_by_role("dialog", name="cat.png")
    expect(view.get_by_role("img")).to_be_visible()
    look_at(page, "chat-picture")
    page.keyboard.press("Escape")
    expect(view).to_have_count(0)


ORDER_CHAT = {
    **CHAT,
    "app": {"name": "Orders", "mode": "advanced-chat"},
    "workflow": {
        "features": {},
        "graph": {
            "nodes": [
                node("start", "start", variables=[
                    {"variable": "query", "label": "Order number", "type": "text-input", "required": True},
                    {"variable": "slip", "label": "Slip", "type": "file", "required": True,
                     "allowed_file_types": ["document"]},
                ]),
                node("answer", "answer", answer="Order {{#start.query#}}, slip {{#start.slip.name#}}: {{#sys.query#}}"),
            ],
            "edges": [{"id": "a", "source": "start", "target": "answer"}],
        },
    },
}  # fmt: skip


def test_chat_asks_for_the_fields_of_its_start(unwatched: Page, tmp_path: Path):
    """One of them has the name of the message's own field, which it must not replace."""
    slip = tmp_path / "slip.pdf"
    slip.write_bytes(made.make_pdf("Slip"))
    page = import_workflow(unwatched, ORDER_CHAT).page
    page.locator(".ed-right [role=tab]", has_text="Chat").click()
    inputs = page.locator("#chat-inputs")
    look_at(page, "chat-inputs")
    message = page.locator("#chat-form > textarea")
    message.fill("Where is it?")
    inputs.get_by_label("Order number").fill("4711")
    page.get_by_role("button", name="Send").click()
    # The server says what is missing, and nothing is lost.
    expect(inputs.locator(".field-error")).to_have_text("Enter a value for “Slip”")
    expect(message).to_have_value("Where is it?")
    expect(inputs.get_by_label("Order number")).to_have_value("4711")
    look_at(page, "chat-inputs-missing")

    choose(inputs.locator("file-picker"), slip)
    expect(item(inputs, "slip.pdf")).to_have_class(re.compile("is-there"))
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".chat-log .bubble-it").last).to_have_text(
        "Order 4711, slip slip.pdf: Where is it?"
    )
    expect(inputs).not_to_have_attribute("open", "")
    look_at(page, "chat-inputs-sent")
    expect(say(page, "And now?")).to_have_text("Order 4711, slip slip.pdf: And now?")
    # A reload keeps the inputs of the conversation, its file among them.
    page.reload()
    ready(page)
    expect(item(inputs, "slip.pdf")).to_have_class(re.compile("is-there"))
    expect(say(page, "Still there?")).to_have_text("Order 4711, slip slip.pdf: Still there?")
