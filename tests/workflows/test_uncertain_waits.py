"""Deciding about a step whose outcome is unknown: who may, how the answer is checked, and what it does."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from tests.support.cast import Cast, Person, make_key
from tests.workflows.test_waits import answer, ask, load_run
from workflows.engine.errors import InputRejected
from workflows.engine.kind_examples import build_example_outputs
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.waits import build_uncertain_form
from workflows.execution.questions.links import sign_wait
from workflows.models import RunWait, StepIntent
from workflows.models.documents import from_json, to_json
from workflows.services.questions.links import make_link_token
from workflows.services.runs import waits


pytestmark = pytest.mark.django_db


def ask_about(person: Person, example: Mapping[str, Json] | None = None) -> RunWait:
    """A paused run whose echoing end node is uncertain, as far as the page is concerned."""
    form = build_uncertain_form(
        "Order", {"url": "https://shop.example"}, can_have_happened=True, example=example
    )
    wait = ask(person, form)
    with tenant([wait.team_id]):
        wait.part = "uncertain.1"
        wait.save(update_fields=["part"])
        wait.run.pause = {**wait.run.pause, "uncertain": True}
        wait.run.save(update_fields=["pause"])
    return wait


@pytest.mark.parametrize(
    ("action", "status"),
    [("happened", "queued"), ("again", "queued"), ("stop", "stopped")],
)
def test_decision_continues_or_stops_the_run(action: str, status: str, cast: Cast) -> None:
    wait = ask_about(cast.alice)
    assert load_run(wait).is_uncertain

    answer(cast.alice, wait, action)

    run = load_run(wait)
    assert (run.status, run.is_uncertain) == (status, False)


def test_form_shows_an_example_of_the_outputs(cast: Cast) -> None:
    example = build_example_outputs(build_kinds()["http-request"], {"method": "get", "url": "x"})
    wait = ask_about(cast.alice, example)

    page = cast.alice.client.get(f"/runs/{wait.run_id}/").content.decode()

    expected = r"""Example: {"status_code": 200, "body": "{\"id\": 4711}"}"""
    assert escape(expected) in page
    assert escape("Call again") in page


def test_form_shows_when_the_call_was_made_and_under_which_key(cast: Cast) -> None:
    wait = ask_about(cast.alice)
    key = f"{wait.run_id}:{wait.node_key}:"
    with tenant([wait.team_id]):
        StepIntent.objects.unscoped().create(
            team_id=wait.team_id, run_id=wait.run_id, node_key=wait.node_key, rounds=wait.rounds,
            attempt=1, idempotency_key=key,
        )  # fmt: skip

    page = cast.alice.client.get(f"/runs/{wait.run_id}/").content.decode()

    [shown] = cast.alice.client.get(f"/api/v1/runs/{wait.run_id}/waits").json()["items"]
    assert "Called at" in page
    assert key in page
    assert shown["idempotency_key"] == key
    assert shown["called_at"] is not None


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        ({"status": 201}, "The node has no output status. Its outputs are: status_code, body"),
        ({"status_code": "created"}, "status_code is of type"),
    ],
)
def test_outputs_must_be_those_of_the_node(
    outputs: dict[str, Json], problem: str, cast: Cast
) -> None:
    wait = ask_about(cast.alice)
    order = NodeSpec(wait.node_key, "http-request", {"method": "post", "url": "https://x.example"})
    with tenant([wait.team_id]):
        document = from_json(wait.run.snapshot.document)
        wait.run.snapshot.document = to_json(replace(document, nodes=(order,)))

    wait.values = {"outputs": outputs}
    with tenant([wait.team_id]), pytest.raises(InputRejected) as refused:
        waits._check_outputs(wait.run, wait)

    assert problem in str(refused.value.problems[0].message)


def test_page_of_the_run_says_what_was_decided(cast: Cast) -> None:
    wait = ask_about(cast.alice)
    answer(cast.alice, wait, "happened")

    page = cast.alice.client.get(f"/runs/{wait.run_id}/").content.decode()

    assert "Decided about “Order”: It happened" in page


def test_nobody_decides_by_a_link(cast: Cast) -> None:
    wait = ask_about(cast.alice)
    url = reverse("workflows:answer", args=[sign_wait(wait.team_id, wait.pk)])

    with pytest.raises(NotFound), tenant([wait.team_id]):
        make_link_token(cast.alice.principal, wait)

    assert [Client().get(url).status_code, Client().post(url).status_code] == [404, 404]
    [shown] = cast.alice.client.get(f"/api/v1/runs/{wait.run_id}/waits").json()["items"]
    assert (shown["type"], shown["link"]) == ("uncertain", None)


def test_only_those_decide_who_see_the_run(cast: Cast) -> None:
    wait = ask_about(cast.alice)

    with pytest.raises(NotAllowed):
        answer(cast.bob, wait, "again")


def test_reading_key_may_not_decide(cast: Cast) -> None:
    _key, secret = make_key(cast, cast.alice, scopes={"runs:read", "workflows:read"})
    wait = ask_about(cast.alice)
    headers = {"Authorization": f"Bearer {secret}"}

    answered = Client().post(
        f"/api/v1/runs/{wait.run_id}/waits/{wait.pk}",
        data={"action": "again", "values": {}},
        content_type="application/json",
        headers=headers,
    )

    assert answered.status_code in (403, 404)
    assert load_run(wait).is_uncertain


def test_outputs_must_be_an_object(cast: Cast) -> None:
    wait = ask_about(cast.alice)

    with pytest.raises(InputRejected):
        answer(cast.alice, wait, "happened", outputs=[1])

    assert load_run(wait).is_uncertain


def test_button_that_the_form_lacks_is_refused(cast: Cast) -> None:
    wait = ask_about(cast.alice)

    with pytest.raises(InputRejected):
        answer(cast.alice, wait, "maybe")
