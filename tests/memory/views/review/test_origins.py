"""A person who decides about a proposal sees which of its memories came from outside and were never approved."""

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Proposal
from memory.services.review.contradicting import propose_contradictions
from tests.memory.services.conftest import in_run
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


def test_newer_value_of_a_contradiction_names_the_web_until_it_is_approved(alice: Person) -> None:
    caller = in_run(alice)
    services.remember(caller, scope="user", key="lyon", value="I live in Lyon.")
    newer = services.remember(
        caller, scope="user", key="oslo", value="I live in Oslo.", metadata={"origin": "web"}
    )
    assert propose_contradictions(caller, [newer]) == 1

    page = markup_of(alice.client.get("/memory/review/"))

    assert page.count("from the web") == 1
    assert page.index("Newer, ") < page.index("from the web")
    with tenant([alice.team.pk]):
        [proposal] = Proposal.objects.visible_to(alice.principal)
    assert proposal.new is not None
    assert proposal.new["metadata"] == {"supersedes": "lyon", "origin": "web"}


def test_memory_in_quarantine_says_that_it_is_from_the_web(alice: Person) -> None:
    services.remember(
        in_run(alice),
        scope="user",
        key="hours",
        value="The shop opens at nine.",
        metadata={"origin": "web"},
        tier="quarantine",
    )

    page = markup_of(alice.client.get("/memory/review/"))

    assert "The shop opens at nine." in page
    assert page.count("from the web") == 1
