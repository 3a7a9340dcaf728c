"""A value that a tool requires and a node leaves empty is named before a run reaches it."""

from typing import Any

import pytest

from tests.support.cast import Person
from tests.support.documents import document, end, node, start
from workflows.services.tools.tool_problems import find_tool_problems


pytestmark = pytest.mark.django_db

WEB_PAGE = {"provider_type": "builtin", "provider_id": "mnemoflow", "tool_name": "web_page"}


@pytest.mark.parametrize(
    ("parameters", "fields"),
    [
        ({}, ["tool_parameters.url"]),
        ({"url": ""}, ["tool_parameters.url"]),
        ({"url": {"type": "mixed", "value": ""}}, ["tool_parameters.url"]),
        ({"url": {"type": "variable", "value": []}}, ["tool_parameters.url"]),
        ({"url": {"type": ["mixed"], "value": ""}}, []),  # not in Dify's form
        ({"url": {"type": "mixed", "value": "https://example.org"}}, []),
        ({"url": {"type": "variable", "value": ["start", "q"]}}, []),
    ],
)
def test_empty_value_that_a_tool_requires_is_named(
    alice: Person, parameters: dict[str, Any], fields: list[str]
) -> None:
    tool = node("page", "tool", **WEB_PAGE, tool_parameters=parameters)
    subject = document([start("q"), tool, end()], ["start -> page", "page -> end"])

    problems = list(find_tool_problems(alice.team.pk, subject))

    assert [problem.field for problem in problems] == fields
    assert all(problem.message == "url is missing" for problem in problems)
