"""What the team made from a person's runs, pins and tests, is erased with the person; what they wrote for others is named."""

import json
from uuid import UUID

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from memory.services.erasure.erasure_jobs import order_erasure
from memory.upkeep.erasure import run_erasure
from tests.factories.workflows import make_conversation, make_journal, make_run, make_workflow
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast
from tests.support.markup import markup_of
from workflows.models import (
    Comment,
    DataCase,
    IdempotencyKey,
    Message,
    Pin,
    Run,
    RunWait,
    Workflow,
)
from workflows.services.chat.conversations import add_message
from workflows.services.erasure import count_kept, erase_person


pytestmark = pytest.mark.django_db

JSON = "application/json"
VISITOR = "visitor-7"


@pytest.fixture
def workflow(cast: Cast) -> Workflow:
    return make_workflow(cast.alice)


@pytest.fixture
def run(cast: Cast, workflow: Workflow) -> Run:
    """A run with a step for somebody without an account."""
    made = make_run(
        cast.alice,
        workflow,
        subject=VISITOR,
        subject_user=None,
        status="succeeded",
        finished_at=timezone.now(),
        inputs={"text": "I have diabetes"},
        outputs={"text": "I have diabetes"},
    )
    make_journal(made, "I have diabetes")
    return made


def count(model: type[Pin | DataCase], team_id: UUID) -> int:
    with tenant([team_id]):
        return model.objects.unscoped().count()


def erase(team_id: UUID, person: str = VISITOR) -> dict[str, int]:
    with tenant([team_id]):
        return dict(erase_person(team_id, person, dry_run=False))


def test_pin_of_a_runs_outputs_is_erased_with_the_person(
    cast: Cast, workflow: Workflow, run: Run
) -> None:
    client, team_id = cast.alice.client, cast.team_a.pk
    client.put(
        f"/api/v1/workflows/{workflow.pk}/pins/end",
        {"outputs": {"text": "I have diabetes"}, "run": str(run.pk)},
        content_type=JSON,
    )
    client.put(
        f"/api/v1/workflows/{workflow.pk}/pins/start",
        {"outputs": {"text": "made up"}},
        content_type=JSON,
    )

    counts = erase(team_id)

    assert (counts["workflows_pin"], count(Pin, team_id)) == (1, 1)


@pytest.mark.parametrize("part", [{}, {"until": ["end"]}])
def test_run_for_somebody_else_with_such_a_pin_is_erased_with_the_person(
    cast: Cast, workflow: Workflow, run: Run, part: dict[str, list[str]]
) -> None:
    client, team_id = cast.alice.client, cast.team_a.pk
    url = reverse("workflows:try", args=[workflow.pk])
    pin = f"/api/v1/workflows/{workflow.pk}/pins/end"
    form = {"text": "hi", "debug": json.dumps(part)}
    stays = client.post(url, form).json()["id"]
    client.put(pin, {"outputs": {"text": "I have"}, "run": str(run.pk)}, content_type=JSON)
    goes = client.post(url, form).json()["id"]
    client.delete(pin)
    with tenant([team_id]):
        assert Run.objects.unscoped().get(pk=goes).subject == str(cast.alice.user.pk)
        Run.objects.unscoped().update(status="succeeded", finished_at=timezone.now())

    counts = erase(team_id)

    assert counts["workflows_run"] == 2
    with tenant([team_id]):
        assert [str(row.pk) for row in Run.objects.unscoped()] == [stays]


def test_turn_with_a_pin_of_a_persons_run_is_erased_with_the_person(
    cast: Cast, workflow: Workflow, run: Run
) -> None:
    team_id = cast.team_a.pk
    conversation = make_conversation(cast.alice, workflow)
    for debug in ({"pins_of": [VISITOR]}, {"pins_of": ["somebody"]}, {}):
        copy = make_run(
            cast.alice, workflow, debug=debug, status="succeeded", finished_at=timezone.now()
        )
        with tenant([team_id]):
            add_message(conversation, run=copy, query="Hello?", answer="I have diabetes")

    counts = erase(team_id)

    assert (counts["workflows_run"], counts["workflows_message"]) == (2, 1)
    with tenant([team_id]):
        assert Run.objects.unscoped().count() == Message.objects.unscoped().count() == 2


def test_pins_of_runs_for_test_users_are_erased_with_the_member(
    cast: Cast, workflow: Workflow
) -> None:
    player = f"ben@{cast.alice.user.pk}"
    for name in (player, f"{player}x"):
        make_run(
            cast.bob,
            workflow,
            debug={"pins_of": [name]},
            status="succeeded",
            finished_at=timezone.now(),
        )

    counts = erase(cast.team_a.pk, str(cast.alice.user.pk))

    assert counts["workflows_run"] == 1


def test_form_of_a_pin_names_the_run_whose_outputs_it_shows(
    cast: Cast, workflow: Workflow, run: Run
) -> None:
    with tenant([cast.team_a.pk]):
        node = run.steps.get().node_key
    client = cast.alice.client
    place = reverse("workflows:pin", args=[workflow.pk, node])
    last = reverse("workflows:last_step", args=[workflow.pk, node])
    step = markup_of(client.get(last, {"run": str(run.pk)}))
    assert f'name="run" value="{run.pk}"' in step

    client.post(place, {"outputs": json.dumps({"text": "I have"}), "run": str(run.pk)})
    client.post(place, {"outputs": json.dumps({"text": "I"}), "run": ""})

    with tenant([cast.team_a.pk]):
        [pin] = Pin.objects.unscoped()
    assert (pin.subject, pin.outputs) == (VISITOR, {"text": "I"})


def test_test_made_from_a_run_is_erased_with_the_person(
    cast: Cast, workflow: Workflow, run: Run
) -> None:
    client, team_id = cast.alice.client, cast.team_a.pk
    made = client.get(f"/api/v1/runs/{run.pk}/case").json()
    client.post(f"/api/v1/workflows/{workflow.pk}/tests", made, content_type=JSON)
    place = f"/workflows/{workflow.pk}/tests/new/"
    form = markup_of(client.get(place, {"run": str(run.pk)}))
    assert f'name="run" value="{run.pk}"' in form
    turn = {"turn-0-say": "I have diabetes", "turn-0-person": ""}
    client.post(place, {"name": "by form", "run": str(run.pk), **turn})
    client.post(place, {"name": "made up", "run": "", **turn})
    assert count(DataCase, team_id) == 3

    counts = erase(team_id)

    assert counts["workflows_datacase"] == 2
    with tenant([team_id]):
        assert [case.name for case in DataCase.objects.unscoped()] == ["made up"]


def test_stored_answer_with_results_of_a_persons_test_is_erased_with_the_person(
    cast: Cast, workflow: Workflow, run: Run
) -> None:
    client, team_id = cast.alice.client, cast.team_a.pk
    place = f"/api/v1/workflows/{workflow.pk}/tests"
    made = client.get(f"/api/v1/runs/{run.pk}/case").json()
    own = client.post(place, made, content_type=JSON).json()["id"]
    spec = {**made["case"], "name": "made up"}
    other = client.post(place, {"case": spec}, content_type=JSON).json()["id"]
    for case in (own, other):
        body, headers = {"cases": [case]}, {"Idempotency-Key": case}
        client.post(f"{place}/run", body, content_type=JSON, headers=headers)

    counts = erase(team_id)

    with tenant([team_id]):
        assert list(IdempotencyKey.objects.unscoped().values_list("key", flat=True)) == [other]
    assert counts["workflows_idempotencykey"] == 1


def test_run_of_another_workflow_is_no_source(cast: Cast, workflow: Workflow, run: Run) -> None:
    other = make_workflow(cast.alice, "Other")

    answer = cast.alice.client.put(
        f"/api/v1/workflows/{other.pk}/pins/end",
        {"outputs": {"text": "x"}, "run": str(run.pk)},
        content_type=JSON,
    )

    assert (answer.status_code, count(Pin, cast.team_a.pk)) == (404, 0)


def test_receipt_names_runs_for_others_that_the_persons_run_called(
    cast: Cast, workflow: Workflow, run: Run
) -> None:
    bob, team_id = cast.people["bob"], cast.team_a.pk
    other = {"called_by_start": run.pk, "status": "succeeded", "finished_at": timezone.now()}
    make_run(bob, workflow, **other)
    make_run(bob, workflow, **other, subject=VISITOR, subject_user=None)
    make_run(bob, workflow, status="succeeded", finished_at=timezone.now())
    with tenant([team_id]):
        assert count_kept(team_id, str(bob.user.pk)) == {}

        assert count_kept(team_id, VISITOR) == {"workflows_run": 1}


def test_receipt_names_answers_that_were_mailed(cast: Cast, workflow: Workflow) -> None:
    team_id, address = cast.team_a.pk, "mia@example.com"
    with tenant([team_id]):
        own = make_run(cast.alice, workflow, status="succeeded", finished_at=timezone.now())
        RunWait.objects.create(
            team_id=team_id, run=own, node_key="why", form={}, answered_by=f"email:{address}"
        )

        assert count_kept(team_id, address) == {"workflows_runwait": 1}


def test_receipt_names_answers_to_others_and_comments_that_stay(
    cast: Cast, workflow: Workflow, run: Run
) -> None:
    bob, team_id = cast.people["bob"], cast.team_a.pk
    with tenant([team_id]):
        own = make_run(bob, workflow, status="succeeded", finished_at=timezone.now())
        for each, key in ((run, "why"), (own, "why")):
            RunWait.objects.create(
                team_id=team_id,
                run=each,
                node_key=key,
                form={},
                values={"reason": "I have diabetes"},
                answered_by=f"user:{bob.user.pk}",
            )
        Comment.objects.create(
            team_id=team_id, workflow=workflow, actor="x", author=bob.user, body="Nice"
        )
        assert count_kept(team_id, VISITOR) == {}

    caller, subject = at_door(bob), str(bob.user.pk)
    erasure = order_erasure(caller, subject=subject, confirmation=bob.user.email)

    run_erasure(team_id, erasure.pk)

    with tenant([team_id]):
        erasure.refresh_from_db()
    receipt = erasure.receipt
    assert receipt is not None, erasure.problem
    assert receipt["tables"]["workflows_runwait"] == 1
    kept = {"workflows_runwait": 1, "workflows_comment": 1}
    assert {name: receipt["kept"][name] for name in kept} == kept
    page = markup_of(bob.client.get(f"/memory/erase/{erasure.pk}/"))
    assert "Answers to questions of other people’s runs: 1" in page
    assert "Comments for the team: 1" in page
