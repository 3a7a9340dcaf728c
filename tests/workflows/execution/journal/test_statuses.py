"""The database refuses statuses that nobody knows, although it checks little else of a journal's rows."""

import psycopg
import pytest

from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from workflows.models import Run
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(cast: Cast) -> Run:
    return start_run(cast.alice.principal, workflow=make_workflow(cast.alice), inputs={"text": "x"})


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'lost'", "run_status_known"),
        ("status = 'failed'", "run_ended_has_a_time"),
        ("status = 'succeeded', finished_at = null", "run_ended_has_a_time"),
    ],
)
def test_run_with_an_unknown_status_or_an_end_without_a_time_is_refused(
    run: Run, owner_db: psycopg.Connection[object], change: str, constraint: str
) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        owner_db.execute(f"update workflows_run set {change} where id = %s", (run.pk,))

    assert refusal.value.diag.constraint_name == constraint


def test_step_with_an_unknown_status_is_refused(
    run: Run, owner_db: psycopg.Connection[object]
) -> None:
    values = (run.team_id, run.pk)
    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        owner_db.execute(
            "insert into workflows_step (id, team_id, run_id, node_key, rounds, attempt, kind, title, status, inputs,"
            " outputs, error, error_type, writes, tries, started_at, elapsed, prompt_tokens, completion_tokens)"
            " values (gen_random_uuid(), %s, %s, 'a', '{}', 1, 'x', '', 'lost', '{}', '{}', '', '', '[]', 1, 0, 0, 0, 0)",
            values,
        )

    assert refusal.value.diag.constraint_name == "step_status_known"
