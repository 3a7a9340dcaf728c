"""Cases of data sets with memories, turns, persons and checks: they run and are scored as the tests of a workflow are."""

import json
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from tests.workflows.test_cases import BAD, CHAT, GOOD, run_all
from workflows.engine.testing.cases import read_case
from workflows.errors import InvalidValue
from workflows.models import DataCase, DataSet, Evaluation, EvaluationResult, Workflow
from workflows.services.audit_lines import list_display_names
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.data_sets.data_sets import save_data_set
from workflows.services.data_sets.evaluations import EvaluationRequest, start_evaluation
from workflows.services.data_sets.files import read_cases, write_jsonl
from workflows.services.debugging.cases import run_cases, save_case


pytestmark = pytest.mark.django_db

TWO_TURNS = {
    "name": "Each knows their own",
    "memories": [
        {"key": "pet", "value": "a cat", "person": "ana"},
        {"key": "food", "value": "a cat likes fish", "person": "ana"},
    ],
    "turns": [
        {"say": "cat", "person": "ben", "checks": [{"of": "answer", "value": "0 known"}]},
        {"say": "cat", "person": "ana"},
    ],
    "expected": "2 known",
}


@pytest.fixture
def data_set(alice: Person) -> DataSet:
    return save_data_set(alice.principal, team_id=alice.team.pk, name="Memory")


@pytest.fixture
def chat(alice: Person) -> Workflow:
    return make_workflow(alice, source=CHAT)


def evaluate(
    person: Person, data_set: DataSet, workflow: Workflow, **fields: Any
) -> list[EvaluationResult]:
    evaluation = start_evaluation(person.principal, data_set, workflow, EvaluationRequest(**fields))
    run_all(evaluation.team_id, evaluation.pk)
    with tenant([evaluation.team_id]):
        rows = EvaluationResult.objects.unscoped().filter(evaluation=evaluation)
        return list(rows.order_by("case__rank", "side"))


def test_case_begins_with_its_memories_and_each_turn_has_its_person(
    alice: Person, data_set: DataSet, chat: Workflow
) -> None:
    add_cases(alice.principal, data_set, [read_case(TWO_TURNS)])

    (result,) = evaluate(alice, data_set, chat)

    assert (result.answer, result.score, result.problem) == ("2 known", 1, "")
    assert [len(turn["recalled"]) for turn in result.detail["turns"]] == [0, 2]
    assert [turn["steps"] for turn in result.detail["turns"]] == [[], []]


def test_checks_lower_the_score_of_the_answer_and_say_why(
    alice: Person, data_set: DataSet, chat: Workflow
) -> None:
    half = {
        **BAD,
        "checks": [{"of": "answer", "value": "1 known"}, {"of": "status", "value": "succeeded"}],
    }
    wrong_answer = {**GOOD, "name": "Wrong", "expected": "9 known"}
    add_cases(alice.principal, data_set, [read_case(each) for each in (half, wrong_answer)])

    by_checks, by_answer = evaluate(alice, data_set, chat)

    assert by_checks.score == 0.5
    assert "answer contains 1 known; it was 0 known" in by_checks.reason
    assert by_answer.score == 0


def test_case_that_expects_nothing_passes_if_its_run_succeeds(
    alice: Person, data_set: DataSet, chat: Workflow
) -> None:
    add_cases(alice.principal, data_set, [make_case("hello")])

    (result,) = evaluate(alice, data_set, chat)

    assert (result.score, result.verdict) == (1, "passed")


def test_tests_of_a_workflow_are_a_data_set_that_any_version_can_be_evaluated_with(
    alice: Person, chat: Workflow
) -> None:
    case = save_case(alice.principal, workflow=chat, spec=GOOD)
    run_cases(alice.principal, workflow=chat, cases=[case])

    with tenant([chat.team_id]):
        own = DataSet.objects.unscoped().select_related("workflow").get(workflow=chat)
        (evaluation,) = Evaluation.objects.unscoped().filter(data_set=own)
    (result,) = evaluate(alice, own, chat)

    assert (own.title, evaluation.label, evaluation.is_partial) == (
        "Tests of Echo",
        "draft",
        False,
    )
    assert result.score == 1
    assert result.detail["turns"][0]["steps"]
    page = alice.client.get(f"/data-sets/{own.pk}/").content.decode()
    assert "Knows the cat" in page
    assert alice.client.post(f"/data-sets/{own.pk}/delete/").status_code == 422


def test_entries_of_the_trail_name_cases_and_tests_also_by_their_former_model(
    alice: Person, chat: Workflow
) -> None:
    case = save_case(alice.principal, workflow=chat, spec=GOOD)
    subjects = [f"testcase:{case.pk}", f"datacase:{case.pk}", f"dataset:{case.data_set_id}"]

    with tenant([chat.team_id]):
        names = list_display_names(alice.principal, chat.team_id, subjects)

    assert [names[subject].text for subject in subjects] == [
        "Knows the cat",
        "Knows the cat",
        "The tests of a workflow",
    ]


def test_whole_cases_are_exported_and_imported_again(alice: Person, data_set: DataSet) -> None:
    cases = [
        read_case(TWO_TURNS),
        make_case("Hi?", {}, "x"),
        read_case({"name": "Mine", "say": "a"}),
    ]
    text = write_jsonl(add_cases(alice.principal, data_set, cases))

    assert read_cases(text, "jsonl") == cases
    assert [sorted(json.loads(line)) for line in text.splitlines()] == [
        ["expected", "memories", "name", "turns"],
        ["expected", "inputs", "query"],
        ["name", "turns"],
    ]


def test_wrong_field_of_a_whole_case_is_named_with_its_row() -> None:
    with pytest.raises(InvalidValue, match=r"Row 2: .*turns"):
        read_cases('{"say": "a"}\n{"name": "x", "turns": []}\n', "jsonl")


def test_cases_of_one_message_get_numbers(alice: Person, data_set: DataSet) -> None:
    rows = add_cases(alice.principal, data_set, [make_case("Hi?"), make_case("Hi?")])

    assert [row.name for row in rows] == ["Hi?", "Hi? (2)"]


def test_page_adds_a_case_with_memories_and_grows_rows(alice: Person, data_set: DataSet) -> None:
    place = f"/data-sets/{data_set.pk}/cases/add/"
    typed = {"name": "Diet", "turn-0-person": "ana", "turn-0-say": "What may I eat?"}
    assert 'name="turn-0-say"' in alice.client.get(place).content.decode()

    grown = alice.client.post(place, {**typed, "add": "memory"}).content.decode()
    wrong = alice.client.post(place, {**typed, "turn-0-check-0-of": "moon"})
    saved = alice.client.post(
        place, {**typed, "memory-0-text": "no peanuts", "memory-0-person": "ana", "expected": "x"}
    )

    assert 'name="memory-0-text"' in grown
    assert (wrong.status_code, saved.status_code) == (422, 302)
    with tenant([data_set.team_id]):
        (case,) = DataCase.objects.unscoped().filter(data_set=data_set)
    assert case.spec == {
        "name": "Diet",
        "turns": [{"say": "What may I eat?", "person": "ana"}],
        "memories": [{"person": "ana", "key": "memory-1", "value": "no peanuts"}],
        "expected": "x",
    }


def test_scores_of_a_workflow_show_every_set_and_leave_parts_out_of_the_chart(
    alice: Person, data_set: DataSet, chat: Workflow
) -> None:
    first = save_case(alice.principal, workflow=chat, spec=GOOD)
    save_case(alice.principal, workflow=chat, spec=BAD)
    add_cases(alice.principal, data_set, [make_case("hello")])
    evaluate(alice, data_set, chat)
    (result,) = run_cases(alice.principal, workflow=chat, cases=[first])
    run_all(chat.team_id, result.evaluation_id)

    page = alice.client.get(f"/workflows/{chat.pk}/scores/")
    api = alice.client.get(f"/api/v1/workflows/{chat.pk}/evaluations").json()["items"]

    assert [chart.name for chart in page.context["charts"]] == ["Memory"]
    assert [row["evaluation"].data_set.title for row in page.context["evaluations"]] == [
        "Tests of Echo",
        "Memory",
    ]
    assert len(api) == 2


def test_api_adds_whole_cases_and_names_what_is_wrong(alice: Person, data_set: DataSet) -> None:
    url = f"/api/v1/data-sets/{data_set.pk}/cases"
    kind = "application/json"

    added = alice.client.post(
        url, {"cases": [{"case": TWO_TURNS}, {"query": "Hi?"}]}, content_type=kind
    )
    wrong = alice.client.post(
        url, {"cases": [{"case": {"name": "x", "turns": []}}]}, content_type=kind
    )

    assert [(row["name"], row["query"]) for row in added.json()] == [
        ("Each knows their own", "cat"),
        ("Hi?", "Hi?"),
    ]
    assert added.json()[0]["case"]["memories"] == TWO_TURNS["memories"]
    assert wrong.status_code == 422
    assert "turns" in wrong.content.decode()
