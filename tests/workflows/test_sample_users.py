"""Samples keep their memories about a user apart from those of the person who copies them."""

import pytest

from accounts.tenancy import tenant
from workflows.models import Workflow
from workflows.samples import SAMPLES


@pytest.mark.django_db
@pytest.mark.parametrize(("slug", "query"), [("support", "?person=Ana"), ("chatbot", "")])
def test_sample_with_memories_about_a_user_opens_as_that_test_user(bob, slug, query):
    answer = bob.client.post(f"/samples/{slug}/copy/")

    with tenant([bob.team.pk]):
        workflow = Workflow.objects.unscoped().get(sample=slug)
    assert answer["Location"] == f"/workflows/{workflow.pk}/{query}"


def test_no_sample_stores_memories_about_the_person_who_copies_it():
    about = {seed.person for sample in SAMPLES for seed in sample.memories if seed.scope == "user"}

    assert about == {"Ana", "sam"}
