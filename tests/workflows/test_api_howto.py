"""What docs/build/use-the-api.md tells a stranger to type is what the API takes."""

import json
import re

import pytest

from config.env import ROOT
from tests.factories.workflows import within
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.samples.samples import copy_sample


TEXT = (ROOT / "docs/build/use-the-api.md").read_text(encoding="utf-8")
CALL = re.compile(
    r"""call (?:-N )?(?:-X (\w+) )?"\$API(/[^"]+)"(?: -d (?:'([^']+)'|"((?:[^"\\]|\\.)+)"))?"""
)


def calls() -> list[tuple[str, str, str]]:
    return [
        (verb or "GET", path, plain or quoted.replace('\\"', '"'))
        for verb, path, plain, quoted in CALL.findall(TEXT)
    ]


@pytest.mark.django_db
def test_every_call_of_the_page_is_taken_as_it_stands(cast: Cast, api_key, settings):
    client = api_key(cast.alice)
    workflow: Workflow = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="chatbot")
    answers = {}
    folder = ""

    for verb, path, body in calls():
        if path.endswith("/events") or "blocking" in body:
            continue  # these wait for a worker
        run = ""
        if "$RUN" in path:
            with within(cast.alice):
                run = str(Run.objects.unscoped().latest("created_at").pk)
        address = "/api/v1" + path.replace("$WORKFLOW", str(workflow.pk)).replace("$RUN", run)
        address, body = (text.replace("$FOLDER", folder) for text in (address, body))
        sent = {"wait_seconds": 60}, {"wait_seconds": 0}
        given = json.dumps(
            sent[1] if body and json.loads(body) == sent[0] else json.loads(body or "{}")
        )
        answer = client.generic(
            verb, address, given if verb != "GET" else "", content_type="application/json"
        )
        answers[verb, path] = answer.status_code
        if path == "/folders":
            folder = answer.json()["id"]

    assert len(answers) >= 8
    assert {at: code for at, code in answers.items() if code not in (200, 201, 202, 204)} == {}


def test_call_without_a_key_says_what_to_send(client):
    answer = client.get("/api/v1/workflows")

    assert answer.status_code == 401
    assert "Authorization: Bearer" in answer.json()["error"]["message"]


def test_page_reads_the_calls_it_is_tested_by():
    assert ("GET", "/me", "") in calls()
    assert len(calls()) == len(re.findall(r"^(?:\w+=\$\()?call ", TEXT, re.M))
