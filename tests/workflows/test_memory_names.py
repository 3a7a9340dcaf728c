"""The names of runs in lists of memory and in the audit trail: never an id while the run exists."""

from uuid import uuid4

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Person
from workflows.memory_host import WorkflowsHost


pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("scope", ["run", "run_metadata"])
def test_memory_of_a_run_is_named_by_its_workflow(alice: Person, scope: str) -> None:
    run = make_run(alice, make_workflow(alice, "Support desk"))

    with tenant([alice.team.pk]):
        names = WorkflowsHost().list_names(alice.team.pk, scope, [str(run.pk), str(uuid4())])

    assert names == {str(run.pk): "Support desk"}
