"""Memory out as a file and in again, and an outside person erased with a receipt, told apart by no words."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.languages import LANGUAGES
from tests.journeys.looking import CONTRAST, NAMELESS, OVERFLOW, complaints
from tests.journeys.people import Owner
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

OUTSIDE = "ben@example.org"
TELL = """
from accounts.models import User
from accounts.principals import load_user_principal
from memory import services
who = load_user_principal(User.objects.get(pk="{owner}"))
(team,) = who.team_ids
for subject, text in (("{owner}", "I like green tea"), ("{outside}", "Ben likes black tea")):
    identity = {{"user_id": subject}}
    caller = services.MemoryCaller(who, team, identity=identity, reach=services.list_reachable(identity))
    services.remember(caller, scope="user", key="tea", value=text)
"""
AT = "2026-05-01T10:00:00Z"


@pytest.mark.parametrize("language", LANGUAGES)
def test_data_is_taken_along_brought_in_and_an_outside_person_erased(
    signed_in: Page,
    owner: Owner,
    shell: Shell,
    live_stack: LiveStack,
    tmp_path: Path,
    language: str,
):
    page = signed_in
    shell.run(TELL.format(owner=owner.id, outside=OUTSIDE))
    page.context.add_cookies(
        [{"name": "django_language", "value": language, "url": live_stack.url}]
    )
    page.goto("/memory/exchange/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    assert complaints(page, CONTRAST, NAMELESS, OVERFLOW) == []

    export_my_data(page, tmp_path)
    import_and_take_back(page, tmp_path)
    erase(page, tmp_path, OUTSIDE)


def export_my_data(page: Page, folder: Path) -> None:
    with page.expect_download() as download:
        page.locator("a[href='/memory/export/me/']").click()
    file = folder / "mine.jsonl"
    download.value.save_as(file)
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [one["value"] for one in found if one.get("key") == "tea"] == ["I like green tea"]

    # What is here already changes nothing, and no way to do so is offered.
    page.locator("#import input[type=file]").set_input_files(file)
    page.locator("#import button[type=submit]").first.click()
    expect(page.locator("#report td.num").first).to_be_visible()
    expect(page.locator("#report button[name=sure]")).to_have_count(0)


def import_and_take_back(page: Page, folder: Path) -> None:
    namespace, file = "global:brought", folder / "brought.jsonl"
    entry = {
        "type": "entry", "namespace": namespace, "id": "01900000-0000-7000-8000-000000000001",
        "key": "k", "value": "brought", "metadata": {}, "category": "fact", "tier": "long_term",
        "importance": 0.5, "revision": 1, "created_at": AT, "updated_at": AT,
    }  # fmt: skip
    lines = [
        {"format": "mnemoflow-memory", "version": 1, "of": "namespace", "name": "x", "at": AT},
        {"type": "namespace", "namespace": namespace, "scope": "global", "created_at": AT},
        entry,
        {"type": "end", "lines": 4},
    ]
    broken = [*lines[:2], {**entry, "importance": 7}, lines[3]]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in broken))
    page.locator("#import input[type=file]").set_input_files(file)
    with page.expect_response("**/memory/exchange/") as answered:
        page.locator("#import button[type=submit]").first.click()
    assert answered.value.status == 200
    expect(page.locator("#report td.mono")).to_have_text("importance")

    file.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    page.locator("#import input[type=file]").set_input_files([])
    page.locator("#import input[type=file]").set_input_files(file)
    page.locator("#import button[type=submit]").first.click()
    page.locator("#report button[name=sure]").click()
    expect(page.locator("#report .notice-ok")).to_be_visible()
    assert complaints(page, CONTRAST, NAMELESS, OVERFLOW) == []
    page.locator("#report button[form=undo-import]").click()
    expect(page.locator(".toast")).to_be_visible()


def erase(page: Page, folder: Path, outside: str) -> None:
    page.locator("a[href='/memory/erase/']").click()
    page.locator("input[name=whose][value=other]").check()
    page.locator("input[name=person]").fill(outside)
    page.locator("form.card button[type=submit]").click()
    table = page.get_by_text("memory_entry", exact=True)
    expect(table).to_be_hidden()
    page.locator("form.card summary").click()
    expect(table).to_be_visible()
    page.locator("input[name=typed]").fill(outside)
    assert complaints(page, CONTRAST, NAMELESS, OVERFLOW) == []
    page.locator("button[name=sure]").click()

    expect(page.locator("#erasure .notice-ok")).to_be_visible()
    assert complaints(page, CONTRAST, NAMELESS, OVERFLOW) == []
    with page.expect_download() as download:
        page.locator("#erasure a[download]").click()
    download.value.save_as(folder / "receipt.json")
    receipt = json.loads((folder / "receipt.json").read_text())
    assert (receipt["subject"], receipt["tables"]["memory_entry"]) == (outside, 1)
    assert set(receipt["left"].values()) == {0}
    assert receipt["audit"]["intact"]
