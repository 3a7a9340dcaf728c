"""The page of triggers, waiting for a test call, and the dialog after publishing."""

import json
import os
import subprocess

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from config.celery import app
from config.encryption.crypto import encrypt
from tests.factories.workflows import make_workflow
from tests.workflows.triggers.documents import CLOCK, HOOK, build_source, load_triggers
from workflows.engine.triggers.webhooks import WebhookConfig
from workflows.execution.history.upkeep import tidy_history
from workflows.models import Run, WorkflowSecret
from workflows.services.erasure import erase_person
from workflows.services.runs.deletion import delete_run
from workflows.services.triggers.addresses import read_secret, read_token
from workflows.tasks import BEAT_SCHEDULE
from workflows.views.triggers.examples import build_curl


pytestmark = pytest.mark.django_db


def show(person, workflow, name="triggers", *args):
    return person.client.get(reverse(f"workflows:{name}", args=[workflow.pk, *args]))


def press(person, workflow, name, node_id="t1", **data):
    url = reverse(f"workflows:{name}", args=[workflow.pk, node_id])
    return person.client.post(url, data, follow=True)


def test_page_shows_addresses_and_times(bob, publish):
    workflow, triggers = publish(bob, {**HOOK, "authentication": "hmac"}, CLOCK)

    page = show(bob, workflow).content.decode()

    assert f"/hooks/{read_token(triggers['t1'])}" in page
    assert "X-Webhook-Signature" in page
    assert "Europe/Berlin" in page
    assert "9:00 AM" in page


def test_viewer_sees_the_state_without_the_address(vic, bob, publish):
    workflow, triggers = publish(bob, HOOK)

    page = show(vic, workflow).content.decode()

    assert "Order" in page
    assert read_token(triggers["t1"]) not in page


def test_page_without_triggers_says_what_to_do(bob):
    page = show(bob, make_workflow(bob)).content.decode()

    assert "No triggers yet" in page


def test_secret_is_shown_once(bob, publish):
    workflow, _triggers = publish(bob, {**HOOK, "authentication": "secret"})

    first = press(bob, workflow, "trigger_secret").content.decode()

    secret = read_secret(load_triggers(bob, workflow)["t1"])
    assert secret in first
    assert secret not in show(bob, workflow).content.decode()


def test_trigger_is_turned_off_and_on(bob, publish):
    workflow, _triggers = publish(bob, CLOCK)

    press(bob, workflow, "switch_trigger")
    off = load_triggers(bob, workflow)["t1"]
    press(bob, workflow, "switch_trigger", on="1")

    assert (off.is_on, off.next_at) == (False, None)
    assert load_triggers(bob, workflow)["t1"].next_at is not None


class TestWaiting:
    @pytest.fixture
    def draft(self, bob):
        """A workflow that was never published; Bob waits for a test call of it."""
        workflow = make_workflow(bob, "Orders", build_source(HOOK))
        press(bob, workflow, "wait_for_call")
        return workflow, f"/hooks/{read_token(load_triggers(bob, workflow)['t1'])}"

    def call(self, url, data):
        return Client().post(url, data, content_type="application/json")

    def test_one_call_starts_a_run_of_the_draft_and_is_shown(self, bob, draft):
        workflow, url = draft
        assert "Waiting for one call" in show(bob, workflow, "test_state", "t1").content.decode()

        first, second = (self.call(f"{url}/test", {"order": "A-9"}) for _call in range(2))

        assert [first.status_code, second.status_code] == [202, 404]
        with tenant([workflow.team_id]):
            run = Run.objects.unscoped().get(workflow=workflow)
        assert (run.started_by_id, run.version_id, run.inputs["order"]) == (
            bob.user.pk,
            None,
            "A-9",
        )
        page = show(bob, workflow, "test_state", "t1").content.decode()
        assert str(run.pk) in page
        assert "A-9" in page

    def test_call_is_shown_without_the_secrets_of_the_workflow(self, bob, draft):
        workflow, url = draft
        with tenant([workflow.team_id]):
            WorkflowSecret.objects.create(
                team_id=workflow.team_id,
                workflow=workflow,
                name="key",
                secret=encrypt("s3cret-value"),
            )

        self.call(f"{url}/test", {"order": "A-9 with s3cret-value"})

        call = load_triggers(bob, workflow)["t1"].test_call
        assert call["body"] == {"order": "A-9 with [redacted]"}

    def test_call_goes_with_its_run(self, bob, draft):
        workflow, url = draft
        for delete in (self.delete_by_hand, self.delete_by_upkeep):
            press(bob, workflow, "wait_for_call")
            self.call(f"{url}/test", {"order": "A-9"})
            assert load_triggers(bob, workflow)["t1"].test_call is not None

            delete(bob, workflow)

            trigger = load_triggers(bob, workflow)["t1"]
            assert (trigger.test_call, trigger.test_run_id) == (None, None)

    def delete_by_hand(self, bob, workflow):
        with tenant([workflow.team_id]):
            run = Run.objects.unscoped().get(workflow=workflow)
            Run.objects.unscoped().filter(pk=run.pk).update(
                status="succeeded", finished_at=timezone.now()
            )
        delete_run(bob.principal, run)

    def delete_by_upkeep(self, bob, workflow):
        with tenant([workflow.team_id]):
            Run.objects.unscoped().filter(workflow=workflow).delete()
        tidy_history()

    def test_call_is_erased_with_the_person_who_waited_for_it(self, bob, draft):
        workflow, url = draft
        self.call(f"{url}/test", {"order": "A-9"})
        with tenant([workflow.team_id]):
            Run.objects.unscoped().filter(workflow=workflow).update(
                status="succeeded", finished_at=timezone.now()
            )
            counts = erase_person(workflow.team_id, str(bob.user.pk), dry_run=False)

        assert counts["workflows_trigger"] == 1
        assert load_triggers(bob, workflow)["t1"].test_call is None

    def test_refused_call_is_shown_too(self, bob, draft):
        workflow, url = draft

        answer = self.call(f"{url}/test", {})

        assert answer.status_code == 422
        assert "order" in show(bob, workflow, "test_state", "t1").content.decode()

    def test_address_of_the_published_version_stays_closed(self, draft):
        _workflow, url = draft

        assert self.call(url, {"order": "A-9"}).status_code == 404

    def test_nobody_waits_after_stopping(self, bob, draft):
        workflow, url = draft
        press(bob, workflow, "wait_for_call", stop="1")

        assert self.call(f"{url}/test", {"order": "A-9"}).status_code == 404


def test_dialog_after_publishing_shows_the_address_and_the_times(bob):
    workflow = make_workflow(bob, "Orders", build_source(HOOK, CLOCK))
    publish_url = reverse("workflows:publish", args=[workflow.pk])

    answer = bob.client.post(publish_url, headers={"Accept": "application/json"}, follow=True)

    text = answer.content.decode()
    assert read_token(load_triggers(bob, workflow)["t1"]) in text
    assert "0 9 * * *" in text


def test_api_lists_switches_and_makes_secrets(bob, vic, publish):
    workflow, triggers = publish(bob, HOOK, CLOCK)
    url = f"/api/v1/workflows/{workflow.pk}/triggers"

    rows = bob.client.get(url).json()["items"]
    off = bob.client.patch(f"{url}/t2", {"is_on": False}, content_type="application/json").json()
    secret = bob.client.post(f"{url}/t1/secret", {}, content_type="application/json").json()

    assert [row["kind"] for row in rows] == ["trigger-webhook", "trigger-schedule"]
    assert rows[0]["url"].endswith(f"/hooks/{read_token(triggers['t1'])}")
    assert (off["is_on"], off["next_at"]) == (False, None)
    assert secret["secret"] == read_secret(load_triggers(bob, workflow)["t1"])
    assert {row["url"] for row in vic.client.get(url).json()["items"]} == {""}


def test_beat_asks_for_due_schedules():
    task = BEAT_SCHEDULE["workflows-start-scheduled-runs"]["task"]

    assert task in app.tasks  # which finishes the configuration
    assert app.conf.beat_schedule["workflows-start-scheduled-runs"]["task"] == task


@pytest.mark.parametrize("authentication", ["none", "secret", "hmac"])
@pytest.mark.parametrize(
    "content_type", ["application/json", "application/x-www-form-urlencoded", "text/plain"]
)
def test_example_is_a_command_of_the_shell(authentication, content_type):
    config = WebhookConfig.model_validate(
        {
            **HOOK,
            "authentication": authentication,
            "content_type": content_type,
            "params": [{"name": "it's", "type": "string", "required": True}],
            "body": [{"name": "it's", "type": "string", "required": True}],
        }
    )
    command = build_curl(config, "http://127.0.0.1:9/hooks/x")
    # A curl that prints its arguments.
    script = "curl() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' \"$@\"; }\n"

    result = subprocess.run(
        ["bash", "-euc", script + command],
        env={"PATH": os.environ["PATH"], "WEBHOOK_SECRET": "s3"},
        capture_output=True,
        text=True,
        check=True,
    )

    arguments = json.loads(result.stdout)
    assert arguments[:3] == ["-X", "POST", "http://127.0.0.1:9/hooks/x?it%27s=A-1"]
    assert f"Content-Type: {content_type}" in arguments
