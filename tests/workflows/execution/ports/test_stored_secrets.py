"""The secrets of a team and of a workflow, by which a run recognizes them in what a model writes."""

import base64
from urllib.parse import quote

import pytest
from asgiref.sync import async_to_sync

from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from tests.factories.workflows import make_provider, make_workflow
from tests.support.cast import Cast
from tests.workflows.tools.encodings import ENCODINGS, SECRET
from workflows.execution.ports.stored_secrets import StoredSecrets
from workflows.models import RunSubscription, Trigger, WorkflowSecret


KEY, OTHER, PASSWORD = "sk-0123/456789abcdef", "sk-of-another-team", "workflow password 42"
ADDRESS, SIGNATURE, ANNOUNCEMENT = "of-the-webhook", "whsec_of-the-webhook", "whsec_of-ended-runs"
FORMS = (
    KEY,
    PASSWORD,
    ADDRESS,
    SIGNATURE,
    ANNOUNCEMENT,
    quote(KEY, safe=""),
    base64.b64encode(KEY.encode()).decode(),
)


@pytest.mark.django_db(transaction=True)
def test_secrets_of_the_team_and_the_workflow_are_recognized_in_every_form(cast: Cast) -> None:
    make_provider(cast.alice, secret=KEY)
    make_provider(cast.carol, secret=OTHER)
    workflow = make_workflow(cast.alice)
    with tenant([cast.team_a.pk]):
        Trigger.objects.create(
            team_id=cast.team_a.pk,
            workflow=workflow,
            node_id="hook",
            kind="trigger-webhook",
            sealed_token=encrypt(ADDRESS),
            sealed_secret=encrypt(SIGNATURE),
        )
        RunSubscription.objects.create(
            team_id=cast.team_a.pk,
            url="https://x.test/",
            events=[],
            sealed_secret=encrypt(ANNOUNCEMENT),
        )
        WorkflowSecret.objects.create(
            team_id=cast.team_a.pk, workflow=workflow, name="password", secret=encrypt(PASSWORD)
        )
    is_in = async_to_sync(StoredSecrets(cast.team_a.pk, workflow.pk).is_in)

    recognized = {text: is_in({"value": [f"It is {text}."]}) for text in (*FORMS, OTHER, "tea")}

    assert recognized == {**dict.fromkeys(FORMS, True), OTHER: False, "tea": False}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("secret", [KEY, SECRET])
def test_secret_is_recognized_in_every_encoding(cast: Cast, secret: str) -> None:
    make_provider(cast.alice, secret=secret)
    is_in = async_to_sync(StoredSecrets(cast.team_a.pk, make_workflow(cast.alice).pk).is_in)

    missed = [
        name
        for name, encode in ENCODINGS.items()
        if not is_in({"content": [f"Keep this: {encode(secret)}, please"]})
        or not is_in({encode(secret): 1})
    ]

    assert missed == []
    assert not is_in({name: encode("tea, at five o'clock") for name, encode in ENCODINGS.items()})


@pytest.mark.django_db(transaction=True)
def test_team_secret_is_one_that_the_workflow_does_not_have_and_that_is_no_word(cast: Cast) -> None:
    shared, short = "sk-shared-0123456789", "ollama-key"
    for number, secret in enumerate((KEY, shared, short)):
        make_provider(cast.alice, name=f"provider-{number}", secret=secret)
    workflow = make_workflow(cast.alice)
    with tenant([cast.team_a.pk]):
        for name, secret in (("password", PASSWORD), ("header", f"Bearer {shared}")):
            WorkflowSecret.objects.create(
                team_id=cast.team_a.pk, workflow=workflow, name=name, secret=encrypt(secret)
            )
    secrets = StoredSecrets(cast.team_a.pk, workflow.pk)
    texts = (KEY, shared, short, PASSWORD, KEY.upper(), "tea")

    recognized = {text: async_to_sync(secrets.is_team_secret_in)([text]) for text in texts}

    assert recognized == {**dict.fromkeys(texts, False), KEY: True, KEY.upper(): True}
