"""Secrets go in and are used; they are found nowhere else."""

import html
import json
import re

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command

from accounts.errors import InvalidChoice, NotAllowed, NotFound
from accounts.models import AuditEntry
from accounts.services import issue_key
from accounts.tenancy import tenant
from config.encryption.crypto import SecretUnreadable, decrypt
from tests.factories.workflows import document, make_provider, make_workflow, within
from tests.support.markup import markup_of
from workflows import selectors
from workflows.errors import InvalidValue, NameTaken
from workflows.models import Credential, ModelProvider, WorkflowSecret
from workflows.services import credentials
from workflows.services.editor.draft_rows import read_secrets
from workflows.services.editor.snapshots import take_snapshot


pytestmark = pytest.mark.django_db

CANARY = "sk-canary-5f1e8b7c2d9a4e60"
ENV_CANARY = "env-canary-77aa21c4b8d3"


def with_secret():
    secret = {"name": "KEY", "value_type": "secret", "value": ENV_CANARY}
    return document() | {"environment_variables": [secret]}


def stored(model, pk):
    return model.objects.unscoped().get(pk=pk)


def test_secret_is_readable_for_the_call_and_hinted_for_people(alice):
    provider = make_provider(alice, secret=CANARY)

    with tenant([alice.team.pk]):
        row = stored(Credential, provider.credential_id)
    assert decrypt(bytes(row.secret)) == CANARY
    assert (row.hint, row.hosts) == ("…4e60", "models.example.org")


def test_short_secret_has_no_hint():
    assert credentials.build_hint("0123456") == "…"


def test_canaries_are_in_no_column_response_or_admin_page(owner_db, cast, capfd):
    provider = make_provider(cast.alice, secret=CANARY)
    workflow = make_workflow(cast.alice, source=with_secret())
    take_snapshot(workflow)
    cast.alice.user.is_staff = cast.alice.user.is_superuser = True
    cast.alice.user.save()
    client = cast.alice.client

    tables = [
        row[0]
        for row in owner_db.execute("SELECT tablename FROM pg_tables WHERE schemaname='public'")
    ]
    dump = "\n".join(
        str(row) for table in tables for row in owner_db.execute(f"SELECT t::text FROM {table} t")
    )
    pages = [
        client.get(path)
        for path in (
            "/api/v1/providers",
            f"/api/v1/providers/{provider.pk}",
            "/api/v1/credentials",
            f"/api/v1/workflows/{workflow.pk}",
            f"/api/v1/workflows/{workflow.pk}/export",
            "/admin/workflows/credential/",
            f"/admin/workflows/credential/{provider.credential_id}/change/",
            "/admin/workflows/workflowsecret/",
            f"/admin/workflows/modelprovider/{provider.pk}/change/",
        )
    ]
    said = capfd.readouterr()

    assert [page.status_code for page in pages] == [200] * 9
    assert "models.example.org" in dump  # the dump holds what could leak
    for canary in (CANARY, ENV_CANARY, CANARY.encode().hex(), ENV_CANARY.encode().hex()):
        assert canary not in dump
        assert not [page for page in pages if canary in markup_of(page)]
        assert canary not in said.out + said.err


def test_rotated_secrets_need_the_new_key_only(alice, settings):
    provider = make_provider(alice, secret=CANARY)
    workflow = make_workflow(alice, source=with_secret())
    old, new = settings.SECRET_KEYS_AT_REST, Fernet.generate_key().decode()

    settings.SECRET_KEYS_AT_REST = [new, *old]
    call_command("rotate_secrets", verbosity=0)

    settings.SECRET_KEYS_AT_REST = [new]
    with tenant([alice.team.pk]):
        assert decrypt(bytes(stored(Credential, provider.credential_id).secret)) == CANARY
        assert read_secrets(workflow) == {("environment", "KEY"): ENV_CANARY}
        settings.SECRET_KEYS_AT_REST = old
        with pytest.raises(SecretUnreadable):
            decrypt(bytes(stored(Credential, provider.credential_id).secret))


def test_replaced_secret_is_the_new_one_and_dated(alice):
    provider = make_provider(alice, secret=CANARY)

    with tenant([alice.team.pk]):
        row = stored(Credential, provider.credential_id)
        credentials.replace_secret(alice.principal, credential=row, secret="sk-other-0123456789")
        again = stored(Credential, row.pk)

    assert decrypt(bytes(again.secret)) == "sk-other-0123456789"
    assert again.rotated_at is not None


def test_provider_moved_to_another_host_loses_the_secret_of_the_old_one(alice):
    provider = make_provider(alice, secret=CANARY)

    credentials.update_provider(
        alice.principal, provider=provider, base_url="https://models.example.org/v2"
    )
    assert provider.credential.hint == "…4e60"

    credentials.update_provider(
        alice.principal, provider=provider, base_url="https://elsewhere.example.org/v1"
    )
    assert provider.credential is None


def test_deleted_provider_takes_its_credential_along(alice):
    provider = make_provider(alice)

    credentials.delete_provider(alice.principal, provider=provider)

    with tenant([alice.team.pk]):
        assert not ModelProvider.objects.unscoped().exists()
        assert not Credential.objects.unscoped().exists()


def test_credentials_are_managed_by_admins_and_by_no_ordinary_key(alice, bob, vic, carol, api_key):
    provider = make_provider(alice)

    with within(alice):
        assert selectors.find_provider(bob.principal, provider.pk) == provider
        with pytest.raises(NotAllowed):
            selectors.find_provider(bob.principal, provider.pk, change=True)
        with pytest.raises(NotAllowed):
            selectors.find_provider(vic.principal, provider.pk)
        with pytest.raises(NotFound):
            selectors.find_provider(carol.principal, provider.pk)
    assert api_key(alice).get("/api/v1/providers").status_code == 403


def test_key_with_the_permission_for_it_adds_what_the_page_says_and_reads_no_secret(alice, api_key):
    client = api_key(alice, scopes={"credentials:write"})
    page = html.unescape(alice.client.get("/models/").content.decode())
    (text,) = re.findall(r"api/v1/providers.*?-d '(.*?)'", page, re.DOTALL)
    body = json.loads(text)

    def post(path, **fields):
        return client.post(f"/api/v1/{path}", fields, content_type="application/json")

    added = post("providers", **{**body, "secret": CANARY})
    credential = post("credentials", name="mail", secret=CANARY)
    answers = [
        added,
        credential,
        client.put(
            f"/api/v1/credentials/{credential.json()['id']}/secret",
            {"secret": CANARY[::-1]},
            content_type="application/json",
        ),
        client.get("/api/v1/providers"),
        client.get("/api/v1/credentials"),
        client.get(f"/api/v1/providers/{added.json()['id']}"),
    ]

    assert [answer.status_code for answer in answers] == [201, 201, 200, 200, 200, 200]
    for answer in answers:
        assert CANARY not in answer.content.decode()
        assert CANARY[::-1] not in answer.content.decode()
    with tenant([alice.team.pk]):
        rows = AuditEntry.objects.unscoped().filter(action__startswith="credential.")
        lines = list(rows.order_by("seq").values_list("actor_kind", "action"))
    assert [action for _kind, action in lines] == [
        "credential.created",  # of the provider, and of its secret
        "credential.created",
        "credential.created",
        "credential.changed",
    ]
    assert {kind for kind, _action in lines} == {"key"}
    assert client.delete(f"/api/v1/providers/{added.json()['id']}").status_code == 204


def test_key_that_manages_credentials_exports_no_secret(alice, api_key):
    workflow = make_workflow(alice)
    client = api_key(alice, scopes={"credentials:write", "workflows:read", "workflows:write"})

    answer = client.get(f"/api/v1/workflows/{workflow.pk}/export", {"include_secrets": "true"})

    assert answer.status_code == 403


def test_key_for_one_workflow_can_not_manage_credentials(alice):
    workflow = make_workflow(alice)

    with pytest.raises(InvalidChoice):
        issue_key(
            principal=alice.principal,
            team=alice.team,
            name="app",
            scopes=["credentials:write"],
            workflow_id=workflow.pk,
        )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x",
        "https://",
        "https://user:pw@example.org",
        "https://example.org?key=1",
        "http://x:99999",
    ],
)
def test_address_that_is_none_or_holds_a_password_is_refused(url, alice):
    with pytest.raises(InvalidValue):
        credentials.create_provider(alice.principal, team_id=alice.team.pk, name="x", base_url=url)


def test_second_provider_of_a_name_is_refused(alice):
    make_provider(alice)

    with pytest.raises(NameTaken):
        make_provider(alice)


def test_offline_provider_needs_no_address(alice):
    made = credentials.create_provider(
        alice.principal, team_id=alice.team.pk, name="offline", kind="offline"
    )

    assert (made.base_url, made.credential) == ("", None)


def test_secret_variable_is_no_plain_column(alice):
    workflow = make_workflow(alice, source=with_secret())

    with tenant([alice.team.pk]):
        token = WorkflowSecret.objects.unscoped().get(workflow=workflow).secret
        rows = json.dumps(list(workflow.variables.values_list("name", "value")))
    assert (rows, ENV_CANARY.encode() in bytes(token)) == ('[["KEY", null]]', False)
