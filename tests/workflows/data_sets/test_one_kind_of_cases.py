"""The migration that makes saved tests and cases of data sets one keeps everything that people had."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connections, transaction

from config.ids import uuid7
from config.management.migration_states import Executor, PartialState
from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from workflows.engine.testing.cases import read_case
from workflows.models import Workflow
from workflows.services.editor.snapshots import take_snapshot


BEFORE = ("workflows", "0043_who_answers")
SPEC = {"name": "Knows her", "turns": [{"say": "hi"}], "memories": [{"key": "a", "value": "b"}]}


def migrate(target: tuple[str, str]) -> Any:
    """Migrate as the owner, and return the models of that state."""
    executor = Executor(connections["owner"])  # the product's own, which is quicker
    executor.migrate([target])
    connections["owner"].cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")
    state = executor.loader.project_state([target])
    return PartialState(state.models, state.real_apps).apps


def find_after() -> tuple[str, str]:
    """Return the migration behind the one before, whatever its number is."""
    graph = Executor(connections["owner"]).loader.graph
    return next(key for key in graph.node_map[BEFORE].children if key[0] == "workflows").key


def create(apps: Any, model: str, **fields: Any) -> UUID:
    row = (
        apps.get_model("workflows", model)._base_manager.using("owner").create(id=uuid7(), **fields)
    )
    return row.pk


def read(apps: Any, model: str, pk: UUID) -> Any:
    return apps.get_model("workflows", model)._base_manager.using("owner").get(pk=pk)


def fill(apps: Any, workflow: Workflow, snapshot_id: UUID) -> dict[str, UUID]:
    team = {"team_id": workflow.team_id}
    test = create(
        apps, "TestCase", **team, workflow_id=workflow.pk, name="Knows her", rank=1, spec=SPEC
    )
    result = {**team, "case_id": test, "snapshot_id": snapshot_id, "spec": SPEC}
    passed = create(
        apps, "TestResult", **result, status="passed", elapsed=1.5, detail={"problem": ""}
    )
    failed = create(apps, "TestResult", **result, status="failed", detail={"problem": "No"})
    lost = create(apps, "TestResult", **result, status="queued")
    data_set = create(apps, "DataSet", **team, name="Greetings")
    case = {**team, "data_set_id": data_set}
    said = create(apps, "DataCase", **case, rank=1, query="Hi?", expected=["a"])
    again = create(apps, "DataCase", **case, rank=2, query="Hi?", inputs={"n": None}, expected="x")
    typed = create(apps, "DataCase", **case, rank=3, inputs={"text": "hi"}, subject="ana")
    return {
        "test": test,
        "passed": passed,
        "failed": failed,
        "lost": lost,
        "data_set": data_set,
        "said": said,
        "again": again,
        "typed": typed,
    }


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_tests_results_and_cases_stay_under_their_ids(alice: Person) -> None:
    workflow = make_workflow(alice)
    snapshot_id = take_snapshot(workflow).pk
    after = find_after()

    with transaction.atomic(using="owner"):
        ids = fill(migrate(BEFORE), workflow, snapshot_id)
        apps = migrate(after)

        test = read(apps, "DataCase", ids["test"])
        own = read(apps, "DataSet", test.data_set_id)
        assert (own.workflow_id, test.name, test.spec) == (workflow.pk, "Knows her", SPEC)
        results = [read(apps, "EvaluationResult", ids[name]) for name in ("passed", "failed")]
        assert [(row.score, row.seconds, row.problem) for row in results] == [
            (1, 1.5, ""),
            (0, 0, "No"),
        ]
        evaluation = read(apps, "Evaluation", results[0].evaluation_id)
        assert (evaluation.workflow_id, evaluation.snapshot_id) == (workflow.pk, snapshot_id)
        assert (evaluation.status, evaluation.is_partial) == ("finished", True)
        assert evaluation.summary["0"]["passed"] == 1
        rows = apps.get_model("workflows", "EvaluationResult")._base_manager.using("owner")
        assert not rows.filter(pk=ids["lost"]).exists()
        said, again, typed = (
            read(apps, "DataCase", ids[name]) for name in ("said", "again", "typed")
        )
        assert (said.name, again.name, typed.subject) == ("Hi?", "Hi? (2)", "ana")
        assert said.spec == {"name": "Hi?", "turns": [{"say": "Hi?"}], "expected": ["a"]}
        assert again.spec["turns"] == [{"say": "Hi?", "inputs": {"n": None}}]
        assert typed.spec["turns"] == [{"inputs": {"text": "hi"}}]
        assert all(read_case(row.spec) for row in (test, said, again, typed))
        transaction.set_rollback(True, using="owner")
