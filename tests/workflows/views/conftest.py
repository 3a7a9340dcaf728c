"""Chat workflows and turns for the tests of pages."""

from typing import Any

import pytest

from tests.support.cast import Person
from tests.support.markup import markup_of
from workflows.models import Workflow
from workflows.services.samples.samples import copy_sample


HTMX = {"HX-Request": "true"}


@pytest.fixture
def chat(alice: Person) -> Workflow:
    """Team A's copy of the first sample."""
    return copy_sample(alice.principal, team_id=alice.team.pk, slug="chatbot")


def text_of(answer: Any) -> str:
    """A page tidied, or a file as it was sent."""
    if answer["Content-Type"].startswith("text/html"):
        return markup_of(answer)
    text: str = answer.content.decode()
    return text
