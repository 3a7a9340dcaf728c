"""A member's own run is not an outside person's: the real start of a run decides, not the test."""

import asyncio
from typing import Any

import pytest

from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from memory.core.errors import AccessDenied
from memory.models import Policy
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person, make_key
from workflows.engine.ports import Origin
from workflows.execution.claims import Claim
from workflows.execution.ports.adapters import build_memory
from workflows.models import Run
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)


def _claim(run: Run, row: dict[str, Any]) -> Claim:
    claim = Claim.__new__(Claim)
    for name, value in {"run_id": run.pk, "team_id": run.team_id, "row": row}.items():
        object.__setattr__(claim, name, value)
    return claim


def _started(person: Person, subject: str | None) -> Run:
    workflow = make_workflow(person, f"Echo {subject}")
    return start_run(person.principal, workflow=workflow, inputs={"text": "x"}, subject=subject)


def test_members_own_run_writes_global_memory_and_an_outside_persons_does_not(cast: Cast) -> None:
    own, outside = _started(cast.bob, None), _started(cast.bob, "mia")

    with tenant([cast.team_a.pk]):
        assert _rows(own, outside) == [cast.bob.user.pk, None]
    assert _in_wall(cast, own) == f"global:{own.workflow_id}"
    with pytest.raises(AccessDenied, match="external users can only read"):
        _in_wall(cast, outside)


def test_policy_lets_runs_for_outside_people_write_global_memory(cast: Cast) -> None:
    outside = _started(cast.bob, "mia")
    with tenant([cast.team_a.pk]):
        Policy.objects.unscoped().create(team=cast.team_a, subjects_write_global=True)

    assert _in_wall(cast, outside) == f"global:{outside.workflow_id}"


@pytest.mark.parametrize("subject", [None, "mia"])
def test_run_of_a_key_writes_global_memory_if_the_key_may(cast: Cast, subject: str | None) -> None:
    scopes = {"workflows:read", "runs:write"}
    workflow = make_workflow(cast.alice)
    writer, reader = (
        start_run(
            KeyPrincipal(make_key(cast, cast.alice, scopes=scopes | more)[0]),
            workflow=workflow,
            inputs={"text": "x"},
            subject=subject,
            version="draft",
        )
        for more in ({"memory:write"}, set[str]())
    )

    assert _in_wall(cast, writer) == f"global:{writer.workflow_id}"
    with pytest.raises(AccessDenied, match="external users can only read"):
        _in_wall(cast, reader)


def _rows(*runs: Run) -> list[Any]:
    return [run.subject_user_id for run in runs]


def _in_wall(cast: Cast, run: Run) -> str:
    with tenant([cast.team_a.pk]):
        row = list(Run.objects.unscoped().filter(pk=run.pk))
    assert row
    return _stored(row[0])


def _stored(run: Run) -> str:
    row = {
        "system": run.system,
        "subject_user_id": str(run.subject_user_id) if run.subject_user_id else None,
        "started_by_id": str(run.started_by_id) if run.started_by_id else None,
        "api_key_id": str(run.api_key_id) if run.api_key_id else None,
    }
    port = build_memory(_claim(run, row))
    at: dict[str, Any] = {"identity": {}, "origin": Origin(str(run.pk), "store", "s1")}
    entry: Any = asyncio.run(port.store(scope="global", key="k", value="v", **at))
    return str(entry.namespace)
