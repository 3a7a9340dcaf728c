"""Who answers a human input: what its form keeps of the rows, and the rows and times that make no sense."""

from typing import Any

import pytest

from tests.engine.nodes.control.test_human_input import document, find_codes, get_form, run
from workflows.engine.kinds import UNTRUSTED_KEYS
from workflows.engine.language.dsl import Dialect, export_document, load_document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.waits import Answer


ROWS = [
    {"type": "runner"},
    {"type": "member", "value": "7"},
    {"type": "group", "value": "8"},
    {"type": "role", "value": "admin"},
    {"type": "link"},
    {"type": "email", "value": " boss@example.com "},
]
KEYS = ["runner", "user:7", "group:8", "role:admin", "link", "email:boss@example.com"]
# As Dify's editor writes it, with an account of its own database.
DELIVERIES = [
    {"id": "d1", "type": "webapp", "enabled": True, "config": {}},
    {
        "id": "d2",
        "type": "email",
        "enabled": False,
        "config": {
            "recipients": {
                "whole_workspace": False,
                "items": [
                    {"type": "member", "user_id": "9c1f"},
                    {"type": "external", "email": "desk@example.com"},
                ],
            },
            "subject": "Decide",
            "body": "Here: {{#url#}}",
            "debug_mode": True,
        },
    },
]


def find_warnings(**changes: Any) -> list[tuple[str, str | None]]:
    problems = validate(load_document(document(**changes)).document, build_kinds())
    return [(problem.code, problem.field) for problem in problems if problem.node == "ask"]


def test_form_says_whom_it_asks_and_when_they_are_reminded() -> None:
    (result,) = run(
        answerers=[*ROWS, {"type": "member"}, ROWS[0]],
        remind_after=3600,
        escalate_after=7200,
        escalate_to=[{"type": "role", "value": "owner"}],
    )

    form = get_form(result)
    assert form["answerers"] == KEYS
    assert (form["remind_after"], form["escalate_after"]) == (3600, 7200)
    assert form["escalate_to"] == ["role:owner"]


def test_form_without_rows_says_nothing_of_people() -> None:
    (result,) = run()

    assert {"answerers", "remind_after", "escalate_after"}.isdisjoint(get_form(result))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"answerers": ROWS}, []),
        ({"answerers": [{"type": "group"}]}, [("answerer.missing", "answerers.0.value")]),
        (
            {"answerers": [ROWS[0], {"type": "email", "value": "boss"}]},
            [("answerer.no_address", "answerers.1.value")],
        ),
        ({"remind_after": 3600}, []),
        ({"remind_after": 2 * 86_400}, [("form.too_late", "remind_after")]),
        ({"escalate_after": 60}, [("form.escalates_to_nobody", "escalate_to")]),
        ({"escalate_after": 60, "escalate_to": [ROWS[1]]}, []),
    ],
)
def test_rows_and_times_that_make_no_sense_are_warnings(changes: Any, expected: Any) -> None:
    assert find_warnings(**changes) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"answerers": [{"type": "king"}]},
        {"remind_after": 1},
        {"answerers": [{"type": "runner"}] * 51},
    ],
)
def test_what_no_row_can_be_is_an_error_of_its_field(changes: Any) -> None:
    (name,) = changes

    assert [str(field).split(".")[0] for _code, field in find_codes(**changes)] == [name]


@pytest.mark.parametrize("answered_by", ["link", "email:boss@example.com"])
def test_answer_from_outside_is_untrusted(answered_by: str) -> None:
    _paused, by_link = run(Answer({"comment": "x"}, "approve", answered_by))
    _paused, by_member = run(Answer({"comment": "x"}, "approve", "user:7"))

    inputs = [
        next(step.inputs for step in result.steps if step.key.node_id == "ask")
        for result in (by_link, by_member)
    ]
    assert [UNTRUSTED_KEYS in step_inputs for step_inputs in inputs] == [True, False]


@pytest.mark.parametrize("dialect", [Dialect.DIFY, Dialect.XWORKFLOW])
def test_delivery_of_a_dify_document_is_kept_in_exports(dialect: Dialect) -> None:
    loaded = load_document(document(delivery_methods=DELIVERIES, answerers=ROWS)).document

    exported = export_document(loaded, dialect, kinds=build_kinds()).text
    again = load_document(exported).document

    (ask,) = [node for node in again.nodes if node.id == "ask"]
    assert ask.data["delivery_methods"] == DELIVERIES
    assert ask.data["answerers"] == ROWS
