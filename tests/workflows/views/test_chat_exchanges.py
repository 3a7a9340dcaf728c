"""A question in a chat says what the next message does, and shows what the person wrote."""

from datetime import UTC, datetime
from typing import Any

import pytest

from workflows.models import Run, RunWait
from workflows.views.waits.forms import Exchange, build_exchange, build_question


CITY = {"name": "city", "type": "text-input", "required": True}
SUBMIT = {"id": "submit", "title": "Submit"}


def build(form: dict[str, Any], **answer: Any) -> Exchange:
    wait = RunWait(form=form, node_key="ask", **answer)
    return build_exchange(build_question(Run(status="paused"), wait, "/answer/", shows_names=False))


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        (
            {"inputs": [CITY], "actions": [SUBMIT]},
            "Your reply fills in “city” and chooses “Submit”.",
        ),
        ({"inputs": [{**CITY, "label": "Town"}]}, "Your reply fills in “Town”."),
        ({"inputs": [CITY], "type": "question"}, "The reply below answers this question."),
        ({"inputs": [CITY], "actions": [SUBMIT, {"id": "skip", "title": "Skip"}]}, ""),
    ],
)
def test_hint_names_the_field_and_the_button_that_a_reply_stands_for(
    form: dict[str, Any], hint: str
) -> None:
    assert build(form).reply_hint == hint


def test_answer_by_a_message_is_what_the_person_wrote() -> None:
    answer = {
        "values": {"city": "Lisbon please"},
        "action": "submit",
        "answered_at": datetime(2026, 5, 1, tzinfo=UTC),
    }

    asked_alone = build({"inputs": [CITY], "actions": [SUBMIT]}, **answer)
    with_choice = build(
        {"inputs": [CITY], "actions": [SUBMIT, {"id": "skip", "title": "Skip"}]}, **answer
    )

    assert (asked_alone.answer, with_choice.answer) == ("Lisbon please", "Submit, Lisbon please")
