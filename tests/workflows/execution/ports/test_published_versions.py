"""The version of a workflow that a person allows to be called: it is that of everything below, too."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.tenancy import tenant
from tests.factories.workflows import document, make_run, make_version, make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.execution.ports.test_children import begin, claim_of
from workflows.engine.errors import SubWorkflowUnavailable
from workflows.engine.nodes.agent.tool_use.approval import AskedCall
from workflows.engine.nodes.agent.tool_use.merged_functions import list_functions
from workflows.engine.tool_calls import Tool, ToolReference
from workflows.execution.ports.published_versions import compute_version
from workflows.execution.ports.workflow_tools import WorkflowTools
from workflows.models import Run, Workflow
from workflows.models.documents import from_json
from workflows.services.editor.drafts import replace_draft
from workflows.services.tools.workflow_tools import change_tool_settings


pytestmark = pytest.mark.django_db

MODEL = {"provider": "p", "name": "m", "mode": "chat"}
WAYS: dict[str, Any] = {  # in which a workflow runs another one
    "sub-workflow": lambda slug: {"type": "sub-workflow", "workflow": slug},
    "tool of an agent": lambda slug: build_agent(
        tools=[{"source": "workflow", "provider": slug, "name": slug}]
    ),
    "merged": lambda slug: build_agent(merge=[slug]),
    "tool": lambda slug: {"type": "tool", "provider_type": "workflow", "tool_name": slug},
}


def build_agent(**data: Any) -> dict[str, Any]:
    return {"type": "agent", "model": MODEL, "query": "x", **data}


def build_calling(name: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    source = document(name)
    ids = ["start", *(f"n{number}" for number, _node in enumerate(nodes)), "end"]
    source["nodes"] += [
        {"id": f"n{number}", "data": {"title": f"n{number}", **node}}
        for number, node in enumerate(nodes)
    ]
    source["edges"] = [
        {"id": f"e{number}", "source": ids[number], "target": ids[number + 1]}
        for number in range(len(ids) - 1)
    ]
    return source


def put_out(person: Person, name: str, *nodes: dict[str, Any]) -> Workflow:
    workflow = make_workflow(person, name, build_calling(name, *nodes))
    make_version(person, workflow)
    return workflow


def publish_anew(person: Person, workflow: Workflow, *nodes: dict[str, Any]) -> None:
    changed = from_json(build_calling("Changed", *nodes))
    replace_draft(person.principal, workflow=workflow, document=changed)
    make_version(person, workflow)


def read_version(workflow: Workflow) -> str:
    with tenant([workflow.team_id]):
        return compute_version(Workflow.objects.unscoped().get(pk=workflow.pk))


@pytest.fixture
def lowest(cast: Cast) -> Workflow:
    return put_out(cast.alice, "Lowest")


@pytest.fixture
def outer(cast: Cast, lowest: Workflow) -> Workflow:
    """It runs a workflow that runs the lowest one."""
    put_out(cast.alice, "Middle", {"type": "sub-workflow", "workflow": lowest.slug})
    return put_out(cast.alice, "Outer", {"type": "sub-workflow", "workflow": "middle"})


@pytest.fixture
def run(cast: Cast, outer: Workflow) -> Run:
    caller = make_workflow(cast.alice, "Caller")
    change_tool_settings(cast.alice.principal, workflow=outer, is_tool=True)
    return make_run(cast.alice, caller, status="running")


def find_tools(run: Run) -> list[Tool]:
    """Return the outer workflow as a tool, and as the run of a merged workflow."""
    tools: Any = WorkflowTools(claim_of(run), children=None)  # type: ignore[arg-type]  # nothing is called
    [tool] = async_to_sync(tools.find)([ToolReference("workflow", "outer", "outer")])
    merged = async_to_sync(tools.load)("outer")
    return [tool, async_to_sync(list_functions)(merged, tools)[0]]


@pytest.mark.parametrize("way", WAYS)
def test_version_is_another_one_once_a_workflow_below_is_published_anew(
    cast: Cast, lowest: Workflow, way: str
) -> None:
    outer = put_out(cast.alice, "Outer", WAYS[way]("lowest"))
    by_id = put_out(cast.alice, "Names it by its id", WAYS[way](str(lowest.pk)))
    before = [read_version(outer), read_version(by_id)]

    publish_anew(cast.alice, lowest)

    assert [read_version(outer), read_version(by_id)] != before
    assert not {read_version(outer), read_version(by_id)} & {*before}


@pytest.mark.django_db(transaction=True)
def test_call_of_a_workflow_is_another_one_once_one_two_levels_below_is_published_anew(
    cast: Cast, run: Run, lowest: Workflow
) -> None:
    def list_digests() -> list[str]:
        return [AskedCall("outer", {}, tool.version).digest for tool in find_tools(run)]

    before = list_digests()
    unchanged = list_digests()
    publish_anew(cast.alice, lowest)

    assert unchanged == before
    assert not {*list_digests()} & {*before}


def test_other_workflows_and_those_of_another_team_change_nothing(
    cast: Cast, outer: Workflow
) -> None:
    other = put_out(cast.alice, "Other")
    namesake = put_out(cast.carol, "Lowest")
    before = read_version(outer)

    for person, workflow in ((cast.alice, other), (cast.carol, namesake)):
        publish_anew(person, workflow)

    assert namesake.slug == "lowest"
    assert read_version(outer) == before
    assert read_version(other) != before


def test_workflow_without_others_has_the_id_of_its_version(cast: Cast, lowest: Workflow) -> None:
    with tenant([lowest.team_id]):
        lowest.refresh_from_db()

    assert read_version(lowest) == str(lowest.published_version_id)


def test_circle_of_workflows_is_read_once_and_each_level_takes_a_statement(
    cast: Cast, outer: Workflow, lowest: Workflow, django_assert_num_queries: Any
) -> None:
    publish_anew(cast.alice, lowest, {"type": "sub-workflow", "workflow": "outer"})
    with tenant([outer.team_id]):
        row = Workflow.objects.unscoped().select_related("published_version").get(pk=outer.pk)
        version = compute_version(row)

        with django_assert_num_queries(4):  # middle, lowest, outer, and the secrets of all
            again = compute_version(row)

    assert again == version != read_version(lowest)


def test_call_that_a_person_allowed_starts_nothing_that_was_published_since(
    cast: Cast, run: Run, outer: Workflow, lowest: Workflow
) -> None:
    version = read_version(outer)
    child = begin(run, "a", "outer", version=version)
    publish_anew(cast.alice, lowest)

    with pytest.raises(SubWorkflowUnavailable, match="was changed after a person") as refusal:
        begin(run, "b", "outer", version=version)

    assert refusal.value.retryable
    with tenant([run.team_id]):
        assert [*Run.objects.unscoped().filter(parent_id=run.pk)] == [child]
    begin(run, "b", "outer", version=read_version(outer))
    begin(run, "c", "outer")  # about which nobody was asked
