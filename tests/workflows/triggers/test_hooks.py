"""Calls of webhooks: what they must bring, and what they start."""

import hashlib
import hmac
import time

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import ApiKey, AuditEntry
from accounts.services import revoke_key, rotate_key
from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.workflows.triggers.documents import CLOCK, HOOK, build_source, load_triggers
from workflows.models import Run, StoredFile
from workflows.services.catalog import importing
from workflows.services.editor.drafts import archive
from workflows.services.triggers.activation import switch_trigger
from workflows.services.triggers.addresses import read_token, replace_address, replace_secret
from workflows.services.triggers.requests import choose_answer_type


pytestmark = pytest.mark.django_db
JSON = "application/json"
NOW = 1_900_000_000  # seconds since 1970


def url(trigger):
    return f"/hooks/{read_token(trigger)}"


def post(trigger, data=None, *, content_type=JSON, query="", **headers):
    body = {"order": "A-1"} if data is None else data
    return Client().post(url(trigger) + query, body, content_type=content_type, headers=headers)


def list_runs(workflow):
    with tenant([workflow.team_id]):
        rows = (
            Run.objects.unscoped()
            .filter(workflow=workflow)
            .select_related("api_key__service_account")
        )
        return list(rows.order_by("id"))


def sign(secret, body, at=None):
    stamp = str(int(at if at is not None else time.time()))
    digest = hmac.new(secret.encode(), f"{stamp}.{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Webhook-Timestamp": stamp, "X-Webhook-Signature": f"sha256={digest}"}


def test_call_starts_a_run_of_the_service_account_and_is_answered_as_drawn(bob, publish):
    workflow, triggers = publish(bob, HOOK)

    answer = post(triggers["t1"], query="?page=2", **{"X-Event": "paid"})

    (run,) = list_runs(workflow)
    assert (answer.status_code, answer.json(), answer["X-Run-Id"]) == (
        202,
        {"ok": True},
        str(run.pk),
    )
    assert run.inputs == {"X_Event": "paid", "page": 2, "order": "A-1"}
    assert (run.channel, run.started_by, run.subject_user) == ("webhook", None, None)
    assert run.subject == f"key-{run.api_key.service_account_id}"
    assert run.api_key.service_account.workflow_id == workflow.pk
    assert run.version_id == workflow.published_version_id


def test_answer_is_no_page_that_a_browser_runs(bob, publish):
    _workflow, triggers = publish(bob, {**HOOK, "response_body": "<script>alert(1)</script>"})

    answer = post(triggers["t1"])

    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("text", ["[" * 5_000, '{"a":' * 5_000, "1" * 6_000, "NaN", "{"])
def test_answer_that_no_parser_takes_is_plain_text(text: str) -> None:
    assert choose_answer_type(text) == "text/plain; charset=utf-8"


def test_answer_that_is_not_drawn_names_the_run(bob, publish):
    workflow, triggers = publish(bob, {**HOOK, "response_body": ""})

    answer = post(triggers["t1"])

    assert answer.json() == {"run_id": str(list_runs(workflow)[0].pk)}


@pytest.mark.parametrize(
    ("call", "status", "words"),
    [
        ({"data": {"total": 3}}, 422, "order"),
        ({"data": "{", "content_type": JSON}, 400, "JSON"),
        ({"data": "order=A-1", "content_type": "application/x-www-form-urlencoded"}, 415, JSON),
        ({"data": "order", "content_type": "text/plain"}, 415, JSON),
        ({"data": "x", "content_type": "application/xml"}, 415, JSON),
        ({"data": "x" * (1024 * 1024 + 1), "content_type": JSON}, 413, "KB"),
        ({"query": "?page=many"}, 422, "page"),
    ],
)
def test_call_that_does_not_fit_is_refused_by_name(bob, publish, call, status, words):
    workflow, triggers = publish(bob, HOOK)

    answer = post(triggers["t1"], **call)

    assert (answer.status_code, words in answer.content.decode()) == (status, True)
    assert list_runs(workflow) == []
    # A body that is too large is refused before anybody looks at the webhook.
    assert (load_triggers(bob, workflow)["t1"].error != "") == (status != 413)


def test_multipart_body_of_another_type_is_refused(bob, publish):
    _workflow, triggers = publish(bob, HOOK)

    assert Client().post(url(triggers["t1"]), {"order": "A-1"}).status_code == 415


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "head"])
def test_other_method_than_the_drawn_one_is_refused(bob, publish, method):
    workflow, triggers = publish(bob, HOOK)

    assert getattr(Client(), method)(url(triggers["t1"])).status_code == 405
    assert list_runs(workflow) == []


def test_get_reads_the_query(bob, publish):
    query = [{"name": "order", "type": "string", "required": True}]
    workflow, triggers = publish(bob, {**HOOK, "method": "get", "params": query, "body": []})

    answer = Client().get(url(triggers["t1"]) + "?order=A-7")

    assert (answer.status_code, list_runs(workflow)[0].inputs["order"]) == (202, "A-7")


@pytest.mark.parametrize("method", ["post", "put"])
def test_form_is_read_with_any_method_that_has_a_body(bob, publish, method):
    kind = "application/x-www-form-urlencoded"
    workflow, triggers = publish(bob, {**HOOK, "method": method, "content_type": kind})

    getattr(Client(), method)(url(triggers["t1"]), "order=A+1", content_type=kind)

    assert list_runs(workflow)[0].inputs["order"] == "A 1"


def test_uploaded_file_is_stored_and_belongs_to_the_run(bob, publish):
    body = [*HOOK["body"], {"name": "invoice", "type": "file", "required": True}]
    multipart = {**HOOK, "content_type": "multipart/form-data", "body": body}
    workflow, triggers = publish(bob, multipart)
    upload = SimpleUploadedFile("../../etc/passwd.txt", b"42 euros", "text/html")

    answer = Client().post(url(triggers["t1"]), {"order": "A-1", "invoice": upload})

    assert answer.status_code == 202
    (run,) = list_runs(workflow)
    with tenant([workflow.team_id]):
        file = StoredFile.objects.unscoped().get(run_ids__contains=[run.pk])
    assert (file.media_type, run.inputs["invoice"]["related_id"]) == ("text/plain", str(file.pk))
    assert "etc" not in file.path


@pytest.mark.parametrize(
    "invoice",
    [
        "/etc/passwd",
        {"transfer_method": "remote_url", "url": "http://127.0.0.1/secret", "type": "document"},
        {"path": "/etc/passwd", "type": "document"},
    ],
)
def test_body_cannot_name_a_file_that_it_does_not_upload(bob, publish, invoice):
    body = [*HOOK["body"], {"name": "invoice", "type": "file", "required": True}]
    workflow, triggers = publish(bob, {**HOOK, "body": body})

    answer = post(triggers["t1"], {"order": "A-1", "invoice": invoice})

    assert (answer.status_code, b"invoice" in answer.content) == (422, True)
    assert list_runs(workflow) == []


def test_text_body_is_one_value(bob, publish):
    workflow, triggers = publish(bob, {**HOOK, "content_type": "text/plain"})

    post(triggers["t1"], "Hello", content_type="text/plain")

    assert list_runs(workflow)[0].inputs["order"] == "Hello"


def test_whole_call_has_no_credentials(bob, publish):
    workflow, triggers = publish(bob, HOOK)

    post(triggers["t1"], Authorization="Bearer hush", Cookie="session=hush", **{"X-Event": "paid"})

    call = list_runs(workflow)[0].system["webhook_call"]
    assert (call["method"], call["headers"]["X-Event"], call["body"]) == (
        "POST",
        "paid",
        {"order": "A-1"},
    )
    assert "hush" not in str(call)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Webhook-Secret": "{secret}"},
        {"Authorization": "Bearer {secret}"},
    ],
)
def test_secret_opens_a_webhook_that_asks_for_one(bob, publish, headers):
    workflow, triggers = publish(bob, {**HOOK, "authentication": "secret"})
    before = post(triggers["t1"], **{"X-Webhook-Secret": ""})
    secret = replace_secret(bob.principal, trigger=triggers["t1"])

    wrong = post(triggers["t1"], **{"X-Webhook-Secret": secret + "x"})
    right = post(triggers["t1"], **{name: v.format(secret=secret) for name, v in headers.items()})

    assert [before.status_code, wrong.status_code, right.status_code] == [401, 401, 202]
    assert len(list_runs(workflow)) == 1


class TestSignature:
    @pytest.fixture
    def signed(self, bob, publish):
        workflow, triggers = publish(bob, {**HOOK, "authentication": "hmac"})
        secret = replace_secret(bob.principal, trigger=triggers["t1"])
        return workflow, triggers["t1"], secret

    def test_signed_call_is_accepted_once(self, signed):
        workflow, trigger, secret = signed
        headers = sign(secret, '{"order": "A-1"}')

        first = post(trigger, '{"order": "A-1"}', **headers)
        again = post(trigger, '{"order": "A-1"}', **headers)

        assert [first.status_code, again.status_code] == [202, 409]
        assert len(list_runs(workflow)) == 1

    def test_refused_call_may_be_sent_again(self, signed):
        """What started nothing isn't remembered, so that a sender can repeat it as it is."""
        workflow, trigger, secret = signed
        headers = sign(secret, '{"total": 1}')

        answers = [post(trigger, '{"total": 1}', **headers).status_code for _try in range(2)]

        assert (answers, list_runs(workflow)) == ([422, 422], [])

    @pytest.mark.parametrize("age", [301, -301])
    def test_call_of_another_time_is_refused(self, signed, age):
        workflow, trigger, secret = signed
        with time_machine.travel(NOW, tick=False):
            headers = sign(secret, '{"order": "A-1"}', at=NOW - age)

            assert post(trigger, '{"order": "A-1"}', **headers).status_code == 401
        assert list_runs(workflow) == []

    def test_call_within_five_minutes_is_accepted(self, signed):
        _workflow, trigger, secret = signed
        with time_machine.travel(NOW, tick=False):
            headers = sign(secret, '{"order": "A-1"}', at=NOW - 299)

            assert post(trigger, '{"order": "A-1"}', **headers).status_code == 202

    @pytest.mark.parametrize(
        "change",
        [
            {"X-Webhook-Signature": "sha256=" + "0" * 64},
            {"X-Webhook-Signature": ""},
            {"X-Webhook-Timestamp": ""},
            {"X-Webhook-Timestamp": "1e9"},
            {"X-Webhook-Timestamp": "9" * 400},
        ],
    )
    def test_other_signature_or_time_is_refused(self, signed, change):
        workflow, trigger, secret = signed
        headers = {**sign(secret, '{"order": "A-1"}'), **change}

        assert post(trigger, '{"order": "A-1"}', **headers).status_code == 401
        assert list_runs(workflow) == []

    def test_changed_body_is_refused(self, signed):
        _workflow, trigger, secret = signed

        answer = post(trigger, '{"order": "A-2"}', **sign(secret, '{"order": "A-1"}'))

        assert answer.status_code == 401

    def test_replaced_secret_ends_the_old_one(self, bob, signed):
        _workflow, trigger, secret = signed
        replace_secret(bob.principal, trigger=trigger)

        answer = post(trigger, '{"order": "A-1"}', **sign(secret, '{"order": "A-1"}'))

        assert answer.status_code == 401


def test_repeated_call_with_an_idempotency_key_gets_the_first_answer(bob, publish):
    workflow, triggers = publish(bob, {**HOOK, "response_body": ""})

    first, again = (post(triggers["t1"], **{"Idempotency-Key": "k1"}) for _call in range(2))
    other = post(triggers["t1"], {"order": "B-2"}, **{"Idempotency-Key": "k1"})

    assert first.json() == again.json()
    assert (again["Idempotent-Replayed"], other.status_code) == ("true", 422)
    assert len(list_runs(workflow)) == 1


def test_idempotency_keys_of_two_webhooks_of_a_workflow_are_apart(bob, publish):
    workflow, triggers = publish(bob, HOOK, {**HOOK, "title": "Return"})

    for node_id in ("t1", "t2"):
        assert post(triggers[node_id], **{"Idempotency-Key": "k1"}).status_code == 202
    assert [run.system["trigger_node"] for run in list_runs(workflow)] == ["t1", "t2"]


def test_switched_off_webhook_starts_nothing(bob, publish):
    workflow, triggers = publish(bob, HOOK)
    switch_trigger(bob.principal, trigger=triggers["t1"], is_on=False)

    assert post(triggers["t1"]).status_code == 409
    assert list_runs(workflow) == []


def test_revoked_key_stops_the_webhook(alice, publish):
    _workflow, triggers = publish(alice, HOOK)
    revoke_key(alice.principal, key_id=triggers["t1"].api_key_id)

    answer = post(triggers["t1"])

    assert (answer.status_code, "revoked" in answer.json()["error"]["message"]) == (409, True)


def test_replaced_key_keeps_the_webhook_going(alice, publish):
    workflow, triggers = publish(alice, HOOK)
    key, _secret = rotate_key(alice.principal, key_id=triggers["t1"].api_key_id)

    assert post(triggers["t1"]).status_code == 202
    assert list_runs(workflow)[0].api_key_id == key.pk


def test_webhook_of_an_archived_workflow_is_not_there(alice, publish):
    workflow, triggers = publish(alice, HOOK)
    archive(alice.principal, workflow=workflow)

    assert post(triggers["t1"]).status_code == 404


def test_replaced_address_is_not_there_any_more(bob, publish):
    _workflow, triggers = publish(bob, HOOK)
    old = url(triggers["t1"])
    replace_address(bob.principal, trigger=triggers["t1"])

    assert Client().post(old, {}, content_type=JSON).status_code == 404
    assert post(triggers["t1"]).status_code == 202


@pytest.mark.parametrize("token", ["x", "a" * 32, "..%2fadmin"])
def test_unknown_address_is_not_there(db, token):
    answer = Client().post(f"/hooks/{token}", {}, content_type=JSON)

    assert answer.status_code == 404
    assert answer["Content-Type"].startswith(JSON)


def test_calls_of_one_webhook_are_limited(bob, publish, settings):
    settings.API_REQUESTS_PER_MINUTE = 3
    _workflow, triggers = publish(bob, HOOK)

    with time_machine.travel("2031-03-05T10:00:00Z", tick=False):
        answers = [post(triggers["t1"]) for _call in range(4)]

    assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
    assert int(answers[3]["Retry-After"]) > 0


def test_token_and_secret_are_stored_encrypted_only(bob, publish):
    workflow, triggers = publish(bob, HOOK)
    token, secret = (
        read_token(triggers["t1"]),
        replace_secret(bob.principal, trigger=triggers["t1"]),
    )

    row = load_triggers(bob, workflow)["t1"]

    stored = str(
        {name: bytes(v) if isinstance(v, memoryview) else v for name, v in vars(row).items()}
    )
    assert token not in stored
    assert secret not in stored


def test_publishing_makes_one_key_and_records_it(bob, publish):
    workflow, triggers = publish(bob, HOOK, CLOCK)
    make_version_of_changed_draft(bob, workflow)

    (key_id,) = {trigger.api_key_id for trigger in load_triggers(bob, workflow).values()}
    with tenant([workflow.team_id]):
        entries = AuditEntry.objects.unscoped().filter(action="key.issued")
        subjects = list(entries.values_list("subject", flat=True))
    assert subjects == [f"key:{key_id}"]
    assert triggers["t1"].api_key.name == f"Triggers of {workflow.name}"


def test_publishing_without_triggers_makes_no_key(bob):
    workflow = make_workflow(bob)
    make_version(bob, workflow)

    with tenant([workflow.team_id]):
        assert not ApiKey.objects.unscoped().filter(workflow_id=workflow.pk).exists()


def make_version_of_changed_draft(person, workflow):
    source = build_source({**HOOK, "title": "Changed"}, CLOCK)
    importing.replace_from_document(person.principal, workflow=workflow, source=source)
    make_version(person, workflow)
