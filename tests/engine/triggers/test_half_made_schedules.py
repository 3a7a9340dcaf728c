"""A half-made schedule is a problem of its node, and breaks nothing beside it."""

import pytest

from tests.support.documents import document, end, node
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


@pytest.mark.parametrize(
    "settings", [{"frequency": "9.9.9"}, {"frequency": "weekly", "visual_config": {"weekdays": ["x"]}}]
)  # fmt: skip
def test_schedule_without_a_time_beside_an_outside_source_is_a_problem(settings) -> None:
    nodes = [
        node("when", "trigger-schedule", mode="visual", timezone="UTC", **settings),
        node("page", "http-request", method="get", url="https://example.org"),
        end(body=["page", "body"]),
    ]

    problems = validate(document(nodes, ["when -> page", "page -> end"]), build_kinds())

    assert "schedule.invalid" in {problem.code for problem in problems}
