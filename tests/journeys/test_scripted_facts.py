"""A model answers *Remember* with operations: the person reads in the chat what came of them, and undoes it.

The model is the offline provider with a script. What it invents changes nothing.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from tests.journeys.editing import store_workflow
from tests.journeys.people import token_of
from workflows import samples


pytestmark = pytest.mark.browser

SAMPLE = Path(samples.__file__).parent / "chatbot" / "workflow.yml"
HOME = "I live in Berlin, near the zoo."
MOVED = "Big news: we moved to Lyon!"
LEFT = "I no longer live in Lyon."
PHONE = "My phone number is 0151 2345."
FORGET = "Please forget my phone number."


def answer(message: str, *operations: dict[str, str]) -> dict[str, str]:
    """Return the scripted answer to a turn with this message."""
    when = f'"message": {json.dumps(message)}'
    return {"when": when, "text": json.dumps({"operations": operations})}


# Of each turn, the model is shown one known fact: k1.
SCRIPT = [
    answer(
        HOME,
        {"action": "add", "text": "I live in Berlin.", "evidence": "I live in Berlin"},
        {"action": "add", "text": "I am a millionaire.", "evidence": "I am rich"},
    ),
    answer(
        MOVED,
        {"action": "forget", "id": "k1", "evidence": "moved"},
        {"action": "replace", "id": "k1", "text": "I live in Lyon.", "evidence": "moved to Lyon"},
    ),
    answer(LEFT, {"action": "end", "id": "k1", "evidence": "no longer live in Lyon"}),
    answer(PHONE, {"action": "add", "text": PHONE, "evidence": "phone number is 0151 2345"}),
    answer(FORGET, {"action": "forget", "id": "k1", "evidence": "forget my phone number"}),
]
MODEL = {
    "provider": "offline",
    "name": "offline",
    "mode": "chat",
    "completion_params": {"offline_script": SCRIPT},
}


def test_person_reads_and_undoes_what_a_model_does_to_their_memory(signed_in: Page) -> None:
    page = signed_in
    page.goto(publish_chat(page))

    told = say(page, HOME)
    expect(told).to_contain_text("Remembered: I live in Berlin.")
    expect(told).not_to_contain_text("millionaire")
    moved = say(page, MOVED)
    expect(moved).to_contain_text("Remembered: I live in Lyon.")
    expect(moved).to_contain_text("No longer holds: I live in Berlin.")
    expect(moved).not_to_contain_text("Forgotten:")
    left = say(page, LEFT)
    expect(left).to_contain_text("No longer holds: I live in Lyon.")
    expect(say(page, PHONE)).to_contain_text(f"Remembered: {PHONE}")
    forgotten = say(page, FORGET)
    expect(forgotten).to_contain_text(f"Forgotten: {PHONE}")
    conversation = page.url
    expect_cards(page, former=["I live in Berlin.", "I live in Lyon."])

    page.goto(conversation)
    undo(turn_of(page, FORGET), f"Remembered again: {PHONE}")
    undo(turn_of(page, MOVED), "Holds again: I live in Berlin.")
    undo(turn_of(page, LEFT), "Holds again: I live in Lyon.")
    page.reload()
    expect(turn_of(page, MOVED)).to_contain_text("Holds again: I live in Berlin.")
    expect_cards(page, holding=["I live in Berlin.", "I live in Lyon.", PHONE])


def publish_chat(page: Page) -> str:
    """Publish the first sample with the script, and return the address of its chat."""
    document: dict[str, Any] = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))
    [remember] = [
        node for node in document["workflow"]["graph"]["nodes"] if node["id"] == "remember"
    ]
    remember["data"]["model"] = MODEL
    id_ = store_workflow(page, document)
    published = page.request.post(
        f"/workflows/{id_}/publish/",
        headers={"X-CSRFToken": token_of(page.context), "Referer": page.url},
        form={"note": ""},
    )
    assert published.ok
    return f"/chat/{id_}/"


def say(page: Page, text: str) -> Locator:
    """Say the text, and return its turn once it has ended."""
    expect(page.locator("[data-chat-form][data-ready=yes]")).to_be_attached()
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")
    turn = turn_of(page, text)
    expect(turn).to_have_count(1)
    expect(turn.locator("run-stream")).to_have_count(0)
    expect(page.locator("[data-opening]")).to_have_count(0)
    return turn


def turn_of(page: Page, text: str) -> Locator:
    return page.locator(".turn").filter(has=page.locator(".bubble-me", has_text=text))


def undo(turn: Locator, outcome: str) -> None:
    turn.locator("[data-wishes]").get_by_role("button", name="Undo").click()
    expect(turn).to_contain_text(outcome)


def expect_cards(page: Page, holding: Sequence[str] = (), former: Sequence[str] = ()) -> None:
    """Expect these texts on the page of what is remembered, the former ones marked, and nothing else."""
    page.goto("/memory/about/")
    cards = page.locator("[data-memory]")
    expect(cards).to_have_count(len(holding) + len(former))
    expect(cards.filter(has_text="No longer holds.")).to_have_count(len(former))
    for text in (*holding, *former):
        card = cards.filter(has=page.locator(".about-words", has_text=text))
        expect(card.filter(has_text="No longer holds.")).to_have_count(int(text in former))
        expect(card).to_have_count(1)
