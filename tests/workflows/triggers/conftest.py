import pytest

from tests.factories.workflows import make_version, make_workflow
from tests.workflows.triggers.documents import build_source, load_triggers


@pytest.fixture
def publish():
    """`publish(person, *nodes)` → the workflow and its triggers, by node id."""

    def make(person, *nodes, name="Orders"):
        workflow = make_workflow(person, name, build_source(*nodes, name=name))
        make_version(person, workflow)
        return workflow, load_triggers(person, workflow)

    return make
