"""What a link to a question says of who asks: what a public page would show strangers, and nothing else."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories.workflows import within
from tests.support.cast import Cast
from tests.workflows.questions.asking import ask_people
from workflows.execution.questions.links import sign_wait
from workflows.models import Workflow
from workflows.services.public_pages.settings import change_page


pytestmark = pytest.mark.django_db

NAME, ICON = "Quarterly <bonus>", "🐙"


@pytest.mark.parametrize(
    ("access", "is_named"),
    [("", False), ("off", False), ("members", False), ("link", True), ("password", True)],
)
def test_link_names_the_workflow_only_if_strangers_may_open_its_page(
    cast: Cast, access: str, is_named: bool
) -> None:
    wait = ask_people(cast.alice)
    with within(cast.alice):
        workflow = Workflow.objects.unscoped().get(runs=wait.run_id)
        Workflow.objects.unscoped().filter(pk=workflow.pk).update(name=NAME, icon=ICON)
    if access:
        change_page(
            cast.alice.principal, workflow=workflow, access=access, password="long-enough-1"
        )

    answer = Client().get(reverse("workflows:answer", args=[sign_wait(wait.team_id, wait.pk)]))

    page = answer.content.decode()
    assert answer.status_code == 200
    assert ("<b>Quarterly &lt;bonus&gt;</b>" in page, ICON in page) == (is_named, is_named)
    assert " on testserver asks this" in page
    assert "Never enter a password here." in page
    for private in (
        cast.alice.user.email,
        cast.alice.user.name,
        str(workflow.pk),
        workflow.team.name,
    ):
        assert private not in page
