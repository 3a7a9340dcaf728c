"""Evaluations: every case is run once, by whichever worker, and scored."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.tenancy import tenant
from config.ids import uuid7
from tests.factories.workflows import document, make_provider, make_version, make_workflow
from tests.support.cast import Cast, Person
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.errors import InvalidValue
from workflows.execution.evaluation import case_runner, running
from workflows.models import DataSet, Evaluation, EvaluationResult, Workflow
from workflows.models.documents import from_json
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.data_sets.data_sets import save_data_set
from workflows.services.data_sets.evaluations import (
    EvaluationRequest,
    start_evaluation,
    stop_evaluation,
)
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db


class Judge:
    """A model that finds answers with "hi" right."""

    requests: list[ModelRequest]

    def __init__(self) -> None:
        self.requests = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        score = 1 if "<answer>\nhi" in request.messages[1].text else 0
        yield ModelChunk(text=f'{{"score": {score}, "reason": "because"}}', usage=Usage(9, 1, 0.5))


@pytest.fixture
def data_set(alice: Person) -> DataSet:
    row = save_data_set(alice.principal, team_id=alice.team.pk, name="Greetings")
    cases = [make_case(inputs={"text": text}, expected="hi") for text in ("hi", "ho", " hi ")]
    add_cases(alice.principal, row, cases)
    return row


def run_all(evaluation: Evaluation) -> Evaluation:
    while running.run_next_case(evaluation.team_id, evaluation.pk):
        pass
    with tenant([evaluation.team_id]):
        return Evaluation.objects.unscoped().get(pk=evaluation.pk)


def start(person: Person, data_set: DataSet, workflow: Workflow, **fields: Any) -> Evaluation:
    return start_evaluation(person.principal, data_set, workflow, EvaluationRequest(**fields))


def test_every_case_is_run_and_scored(alice: Person, data_set: DataSet) -> None:
    evaluation = run_all(start(alice, data_set, make_workflow(alice)))

    numbers = evaluation.summary["0"]
    assert evaluation.status == "finished"
    assert (numbers["cases"], numbers["scored"], numbers["passed"]) == (3, 3, 2)
    assert numbers["score"] == pytest.approx(2 / 3)


def test_two_versions_are_compared_side_by_side(alice: Person, data_set: DataSet) -> None:
    workflow = make_workflow(alice)
    version = make_version(alice, workflow)
    changed = document()
    changed["nodes"][1]["data"]["outputs"] = [
        {"variable": "other", "value_selector": ["start", "text"]}
    ]
    drafts.replace_draft(alice.principal, workflow=workflow, document=from_json(changed))

    evaluation = run_all(start(alice, data_set, workflow, versions=[version, None], output="text"))
    page = alice.client.get(f"/evaluations/{evaluation.pk}/?only=changed").content.decode()

    assert [evaluation.summary[side]["passed"] for side in ("0", "1")] == [2, 0]
    assert page.count("Worse") == 2
    assert "Version 1" in page
    assert f"/workflows/{workflow.pk}/scores/" in page


def test_a_case_whose_worker_died_is_taken_over(alice: Person, data_set: DataSet) -> None:
    evaluation = start(alice, data_set, make_workflow(alice))
    claimed = running.claim_result(alice.team.pk, evaluation.pk)
    assert claimed is not None
    with tenant([alice.team.pk]):
        EvaluationResult.objects.unscoped().filter(pk=claimed.pk).update(
            lease_until=timezone.now() - timedelta(seconds=1)
        )

    waiting = running.list_waiting_evaluations()
    evaluation = run_all(evaluation)

    assert waiting == [(alice.team.pk, evaluation.pk)]
    assert evaluation.summary["0"]["done"] == 3
    assert running.list_waiting_evaluations() == []


def test_only_a_few_cases_run_at_once(alice: Person, data_set: DataSet, monkeypatch: Any) -> None:
    monkeypatch.setattr(running, "CONCURRENCY", 2)
    evaluation = start(alice, data_set, make_workflow(alice))

    claims = [running.claim_result(alice.team.pk, evaluation.pk) for _number in range(3)]

    assert [claim is not None for claim in claims] == [True, True, False]


def test_stopped_evaluation_runs_nothing_more(alice: Person, data_set: DataSet) -> None:
    evaluation = start(alice, data_set, make_workflow(alice))
    running.run_next_case(alice.team.pk, evaluation.pk)

    stop_evaluation(alice.principal, evaluation)

    assert not running.run_next_case(alice.team.pk, evaluation.pk)
    with tenant([alice.team.pk]):
        evaluation = Evaluation.objects.unscoped().get(pk=evaluation.pk)
    assert (evaluation.status, evaluation.summary["0"]["done"]) == ("stopped", 1)


def test_the_offline_model_is_no_judge(alice: Person, data_set: DataSet) -> None:
    with pytest.raises(InvalidValue, match="Only the offline model is connected"):
        start(alice, data_set, make_workflow(alice), scorer="judge")


def test_a_model_judges(alice: Person, data_set: DataSet, monkeypatch: Any) -> None:
    make_provider(alice, "acme")
    judge = Judge()
    services = replace(case_runner.get_services(), models=lambda _team, _offline: judge)
    monkeypatch.setattr(running, "get_services", lambda: services)

    evaluation = run_all(
        start(alice, data_set, make_workflow(alice), scorer="judge", model="big", criteria="Kind?")
    )

    with tenant([alice.team.pk]):
        results = list(
            EvaluationResult.objects.unscoped().filter(evaluation=evaluation).order_by("case__rank")
        )
    assert [row.score for row in results] == [1, 0, 0]
    assert (results[0].reason, results[0].cost) == ("because", 0.5)
    assert judge.requests[0].provider == "acme"
    assert judge.requests[0].json_schema is not None
    assert "Kind?" in judge.requests[0].messages[0].text


def test_a_case_that_fails_has_a_problem(alice: Person, data_set: DataSet) -> None:
    workflow = make_workflow(alice, source=document(type="text-input"))
    add_cases(
        alice.principal, data_set, [make_case(inputs={"text": {"no": "text"}}, expected="hi")]
    )

    evaluation = run_all(start(alice, data_set, workflow))

    assert evaluation.summary["0"]["problems"] == 1


def test_a_case_without_a_required_input_is_said_in_a_plain_sentence(
    alice: Person, data_set: DataSet
) -> None:
    source = document(type="text-input", label="Topic", required=True)
    workflow = make_workflow(alice, source=source)
    add_cases(alice.principal, data_set, [make_case(inputs={"text": None}, expected="hi")])

    evaluation = run_all(start(alice, data_set, workflow))
    page = alice.client.get(f"/evaluations/{evaluation.pk}/").content.decode()

    assert "Enter a value for “Topic”" in page
    assert "input form" not in page


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"versions": [None, None]}, "two different"),
        ({"versions": []}, "one version"),
        ({"scorer": "no"}, "scored"),
    ],
)
def test_invalid_requests_are_refused(
    alice: Person, data_set: DataSet, fields: Any, message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        start(alice, data_set, make_workflow(alice), **fields)


def test_viewers_see_and_do_not_start(cast: Cast, data_set: DataSet) -> None:
    workflow = make_workflow(cast.alice)
    body = {"workflow": str(workflow.pk)}
    url = f"/data-sets/{data_set.pk}/"

    unknown = cast.alice.client.post(f"{url}evaluate/", {**body, "version": "9"})
    started = cast.alice.client.post(f"{url}evaluate/", {**body, "scorer": "exact"})

    assert (unknown.status_code, started.status_code) == (422, 302)
    assert "no such version" in unknown.content.decode()
    assert cast.vic.client.get(url).status_code == 200
    assert cast.vic.client.post(f"{url}evaluate/", body).status_code == 403
    assert cast.carol.client.get(url).status_code == 404


def test_versions_are_chosen_from_a_list(alice: Person, data_set: DataSet) -> None:
    first, second = make_workflow(alice, "A first"), make_workflow(alice, "B second")
    make_version(alice, second, note="Shorter answers\nand more")
    url = f"/data-sets/{data_set.pk}/"

    plain = alice.client.get(url).context["versions"]
    chosen = alice.client.get(url, {"workflow": str(second.pk)})

    assert plain == [("draft", "Draft")]
    assert str(first.pk) in chosen.content.decode()
    (draft, (number, label)) = chosen.context["versions"]
    assert (draft, number) == (("draft", "Draft"), "1")
    assert re.fullmatch(r"Version 1 · [^·]+ · Published · Shorter answers", label)


def test_form_begins_with_the_workflow_and_the_score_of_the_newest_evaluation(
    alice: Person, data_set: DataSet
) -> None:
    make_workflow(alice, "A first")
    second = make_workflow(alice, "B second")
    start_evaluation(alice.principal, data_set, second, EvaluationRequest(scorer="contains"))

    page = alice.client.get(f"/data-sets/{data_set.pk}/")

    assert [page.context["values"][name] for name in ("workflow", "scorer")] == [
        *(str(second.pk), "contains")
    ]
    assert re.search(rf'value="{second.pk}"\s+selected', page.content.decode())


def evaluate(*args: Any) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("evaluate", *map(str, args), stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def test_command_prints_the_scores_and_fails_below_the_bar(
    alice: Person, data_set: DataSet
) -> None:
    workflow = make_workflow(alice)
    make_version(alice, workflow)

    passed = evaluate(data_set.pk, workflow.pk, "--min-score", "0.3")
    failed = evaluate(data_set.pk, workflow.pk, "--against", "1", "--min-score", "0.9", "--json")

    assert passed[0] == 0
    assert passed[1].splitlines()[-1].startswith("draft: mean score 0.")
    assert failed[0] == 1
    report = json.loads(failed[1])
    assert (report["version"], report["cases"], len(report["results"])) == ("1", 3, 3)


def test_command_refuses_what_is_not_there_and_who_may_not(cast: Cast, data_set: DataSet) -> None:
    workflow = make_workflow(cast.alice)

    for arguments in (
        (uuid7(), workflow.pk),
        (data_set.pk, uuid7()),
        (data_set.pk, workflow.pk, "--against", "7"),
        (data_set.pk, workflow.pk, "--as", cast.vic.user.email),
        (data_set.pk, workflow.pk, "--as", cast.carol.user.email),
    ):
        with pytest.raises(CommandError):
            evaluate(*arguments)
