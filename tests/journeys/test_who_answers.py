"""An author chooses who answers, how the link is sent, and names a button: everything is stored as the document has it."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import import_workflow
from tests.journeys.test_inspector import choose, data_of, saved
from tests.journeys.test_waiting import WORKFLOW


pytestmark = pytest.mark.browser


def test_people_delivery_and_buttons_are_chosen_in_the_form(signed_in: Page) -> None:
    page = signed_in
    import_workflow(page, WORKFLOW)
    choose(page, "ask")
    people = page.locator("[data-field=answerers]")
    people.get_by_role("button", name="Add person").click()
    people.get_by_label("Who", exact=True).select_option("role")
    people.get_by_label("Person, group or role").select_option("admin")
    saved(page)
    people.get_by_label("Who", exact=True).select_option("email")
    people.get_by_label("Email address").fill("boss@example.com")
    saved(page)

    delivery = page.locator("[data-field=delivery_methods]")
    delivery.get_by_role("button", name="Add delivery").click()
    delivery.get_by_label("Addresses (one per line)").fill("desk@example.com\nshop@example.com")
    delivery.get_by_label("Subject").fill("Decide")
    saved(page)

    buttons = page.locator("[data-field=user_actions]")
    buttons.get_by_role("button", name="Add button").click()
    row = buttons.locator("[data-button-row]").last
    row.get_by_label("Title").fill("Send it later!")
    expect(row.get_by_label("Name")).to_have_value("send_it_later")
    buttons.get_by_role("button", name="Add button").click()
    row = buttons.locator("[data-button-row]").last
    row.get_by_label("Title").fill("Send")
    expect(row.get_by_label("Name")).to_have_value("send_2")
    row.get_by_label("Title").blur()
    saved(page)

    data = data_of(page, "ask")
    assert data["answerers"] == [{"type": "email", "value": "boss@example.com"}]
    (method,) = data["delivery_methods"]
    assert method == {
        "type": "email",
        "enabled": True,
        "config": {
            "recipients": {
                "items": [
                    {"type": "external", "email": "desk@example.com"},
                    {"type": "external", "email": "shop@example.com"},
                ]
            },
            "subject": "Decide",
        },
    }
    assert [action["id"] for action in data["user_actions"]] == [
        *("send", "discard", "send_it_later", "send_2")
    ]
