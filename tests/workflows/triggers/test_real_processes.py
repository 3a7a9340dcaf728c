"""Triggers with a real web server, workers, beat and curl."""

import json
import os
import re
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from config.env import ROOT
from tests.support.stack import LiveStack
from tests.support.waiting import until
from tests.workflows.triggers.documents import CLOCK, HOOK, build_source


# Makes a team with published workflows, and prints what a caller is told.
SET_UP = """
import json
from accounts.models import User
from accounts.principals import load_user_principal
from accounts.services import create_team
from accounts.tenancy import tenant
from workflows.services import publishing
from workflows.services.catalog import importing
from workflows.services.triggers.activation import list_triggers
from workflows.services.triggers.addresses import read_token, replace_secret

user = User.objects.create_user({email!r}, name="Tess")
team = create_team(owner=user, name="Triggers")
principal = load_user_principal(user)
made = []
for source in json.loads({sources!r}):
    workflow = importing.import_document(
        principal, team_id=team.pk, source=source, name="Orders").workflow
    publishing.publish(principal, workflow=workflow)
    with tenant([team.pk]):
        trigger = list_triggers(principal, workflow).get()
        token = read_token(trigger)
        secret = replace_secret(principal, trigger=trigger) if token else ""
    made.append([str(workflow.pk), token, secret])
print("made=" + json.dumps(made))
"""
RUNS = (
    "select status, inputs::text, outputs::text, channel from workflows_run where workflow_id = %s"
)
DUE = "update workflows_trigger set next_at = now() - interval '1 s' where workflow_id = any(%s::uuid[])"
ENDED = "select count(*) from workflows_run where workflow_id = any(%s::uuid[]) and status = 'succeeded'"
ALL = "select count(*), count(distinct workflow_id) from workflows_run where workflow_id = any(%s::uuid[])"


def set_up(stack: LiveStack, *sources: object) -> list[tuple[str, str, str]]:
    email = f"tess-{uuid4().hex[:12]}@example.org"
    code = SET_UP.format(email=email, sources=json.dumps(sources))
    text = stack.manage("shell", "--no-imports", "-c", code)
    return [(each[0], each[1], each[2]) for each in json.loads(text.rpartition("made=")[2])]


def read_documented_call() -> str:
    page = Path(ROOT / "docs/build/start-runs-by-themselves.md").read_text()
    (block,) = [
        text for text in re.findall(r"```console\n(.*?)```", page, re.S) if "openssl" in text
    ]
    return block


def run_shell(script: str, **environment: str) -> str:
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    return result.stdout


def test_documented_curl_starts_a_run_that_gets_its_values(live_stack: LiveStack):
    signed = build_source({**HOOK, "authentication": "hmac"})
    ((workflow, token, secret),) = set_up(live_stack, signed)
    url = f"{live_stack.url}/hooks/{token}"

    answer = run_shell(read_documented_call(), WEBHOOK_URL=url, WEBHOOK_SECRET=secret)

    assert json.loads(answer) == {"ok": True}
    until(lambda: [row[0] for row in live_stack.sql(RUNS, [workflow])] == ["succeeded"])
    ((_status, _inputs, outputs, channel),) = live_stack.sql(RUNS, [workflow])
    assert (json.loads(str(outputs))["order"], channel) == ("A-1", "webhook")


@pytest.fixture
def crowded_stack(live_stack: LiveStack):
    """With beat, and a second worker that is never killed."""
    live_stack.start_beat()
    live_stack.start_worker("second")
    yield live_stack
    live_stack.stop_worker("second")
    live_stack.stop_worker("beat")


def test_due_schedules_start_one_run_each_although_a_worker_is_killed(crowded_stack: LiveStack):
    stack = crowded_stack
    workflows = [row[0] for row in set_up(stack, *[build_source(CLOCK) for _each in range(6)])]
    stack.sql(DUE, [workflows])
    stack.kill_worker()
    until(lambda: stack.sql(ENDED, [workflows]) == [(6,)])
    # Beat asks every five seconds, the worker every second; nothing is due any more.
    stack.sql("update workflows_trigger set error = 'looked' where next_at <= now()")

    assert stack.sql(ALL, [workflows]) == [(6, 6)]
    due = "select count(*) from workflows_trigger where workflow_id = any(%s::uuid[]) and next_at <= now()"
    assert stack.sql(due, [workflows]) == [(0,)]
