"""The rows of a human input: who answers, and how its link is sent."""

import json
import re
from html import unescape
from typing import Any

from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.workflows.questions.asking import make_group
from tests.workflows.views.test_inspector import document, fragment


DELIVERIES = [
    {"id": "d1", "type": "webapp", "enabled": False, "config": {}},
    {
        "type": "email",
        "config": {
            "recipients": {
                "items": [
                    {"type": "member", "user_id": "9c1f"},
                    {"type": "external", "email": "desk@example.com"},
                ]
            },
            "subject": "Decide",
            "body": "Here",
        },
    },
    {"type": "slack", "enabled": True, "config": {}},
]


def show(cast: Cast, **data: Any) -> str:
    source = document("human-input", form_content="Well?", **data)
    return fragment(cast.bob, make_workflow(cast.bob, "Ask", source))


def part_of(html: str, key: str) -> str:
    """Return the rows of a list, without the blank row that the scripts copy."""
    start = html.index(f'data-key="{key}"')
    return html[start : html.index("<template>", start)]


def list_selected(html: str) -> list[str]:
    return re.findall(r'<option value="([^"]*)"\s+selected', html)


def test_rows_of_who_answers_offer_the_people_groups_and_roles_of_the_team(cast: Cast) -> None:
    group = make_group(cast.alice, "Desk", cast.vic)
    rows = [
        {"type": "member", "value": str(cast.vic.user.pk)},
        {"type": "group", "value": str(group.pk)},
        {"type": "role", "value": "admin"},
        {"type": "email", "value": "boss@example.com"},
        {"type": "runner"},
    ]

    html = part_of(show(cast, answerers=rows), "answerers")

    assert list_selected(html) == [
        *("member", str(cast.vic.user.pk), "group", str(group.pk), "role", "admin", "email"),
        "runner",
    ]
    assert [name in html for name in ("Alice", "Ada", "Vic", "Carol")] == [True, True, True, False]
    assert "Admin or higher" in html
    assert 'value="boss@example.com"' in html


def test_row_of_somebody_who_is_not_in_the_team_says_so(cast: Cast) -> None:
    carol = str(cast.carol.user.pk)

    html = part_of(show(cast, answerers=[{"type": "member", "value": carol}]), "answerers")

    assert list_selected(html) == ["member", carol]
    assert "Not in this team" in html
    assert "Carol" not in html


def test_delivery_is_shown_in_rows_which_keep_what_they_do_not_show(cast: Cast) -> None:
    html = part_of(show(cast, delivery_methods=DELIVERIES), "delivery_methods")

    assert list_selected(html) == ["webapp", "email", "slack"]
    (others,) = re.findall(r'data-others="([^"]*)"', html)
    assert json.loads(unescape(others)) == [{"type": "member", "user_id": "9c1f"}]
    assert re.search(r"<textarea[^>]*data-as=\"addresses\"[^>]*>\s*desk@example\.com\s*<", html)
    assert len(re.findall(r'data-key="enabled"[^>]*checked', html)) == 2


def test_recipients_of_another_form_are_edited_as_json(cast: Cast) -> None:
    config = {"recipients": ["desk@example.com"]}

    html = part_of(
        show(cast, delivery_methods=[{"type": "email", "config": config}]), "delivery_methods"
    )

    assert "addresses" not in html
    (text,) = re.findall(r'data-as="json"[^>]*>(.*?)</textarea>', html, re.S)
    assert json.loads(unescape(text)) == config
