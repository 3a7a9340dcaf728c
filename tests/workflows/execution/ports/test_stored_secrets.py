"""The secrets of a team and of a workflow, by which a run recognizes them in what a model writes."""

import base64
from urllib.parse import quote

import pytest

from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from tests.factories.workflows import make_provider, make_workflow
from tests.support.cast import Cast
from workflows.execution.ports.stored_secrets import StoredSecrets
from workflows.models import WorkflowSecret


KEY, OTHER, PASSWORD = "sk-0123/456789abcdef", "sk-of-another-team", "workflow password 42"


@pytest.mark.django_db(transaction=True)
async def test_secrets_of_the_team_and_the_workflow_are_recognized_in_every_form(
    cast: Cast,
) -> None:
    workflow_id = await _store(cast)
    secrets = StoredSecrets(cast.team_a.pk, workflow_id)

    for text in (KEY, PASSWORD, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()):
        assert await secrets.is_in({"value": [f"It is {text}."]}), text
    for text in (OTHER, "nothing", ""):
        assert not await secrets.is_in({"value": [f"It is {text}."]}), text


async def _store(cast: Cast):  # type: ignore[no-untyped-def]
    from asgiref.sync import sync_to_async

    return await sync_to_async(_store_now)(cast)


def _store_now(cast: Cast):  # type: ignore[no-untyped-def]
    make_provider(cast.alice, secret=KEY)
    workflow = make_workflow(cast.alice)
    with tenant([cast.team_a.pk]):
        WorkflowSecret.objects.create(
            team_id=cast.team_a.pk, workflow=workflow, name="password", secret=encrypt(PASSWORD)
        )
    return workflow.pk
