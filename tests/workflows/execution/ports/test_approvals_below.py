"""What a person allows with a call of a workflow: what runs below it, and the connections there, as they are then."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.execution.ports.test_children import begin, claim_of
from tests.workflows.execution.ports.test_published_versions import (
    WAYS,
    build_agent,
    publish_anew,
    put_out,
    read_version,
)
from workflows.engine.errors import SubWorkflowUnavailable, ToolFailed
from workflows.engine.ports import RoundsRequest
from workflows.engine.tool_calls import ALL_TOOLS, Tool, ToolPort, ToolReference
from workflows.execution.ports.adapters import Services, build_tools
from workflows.execution.ports.published_versions import compute_version
from workflows.execution.ports.workflow_tools import WorkflowTools
from workflows.execution.rounds.ranges import make_range_id, start_ranges
from workflows.models import Credential, Run, ToolConnection, Workflow, WorkflowSecret


pytestmark = pytest.mark.django_db

NOTHING = {"type": "object", "properties": {}}
OPERATIONS = [
    {"name": name, "description": name, "parameters": NOTHING, "call": {"method": "POST"}}
    for name in ("findBook", "addBook", "burnBook")
]
TOOL_NODE = {"type": "tool", "provider_type": "api", "provider_name": "library"}
USES: dict[str, Any] = {  # of the connection by a workflow
    "node": {**TOOL_NODE, "tool_name": "addBook"},
    "agent": build_agent(
        tools=[{"source": "openapi", "provider": "library", "name": "addBook"}]
    ),
    "agent with all tools": build_agent(
        tools=[{"source": "openapi", "provider": "library", "name": ALL_TOOLS}]
    ),
}  # fmt: skip
CHANGES: dict[str, dict[str, Any]] = {
    "address": {"url": "https://elsewhere.example.org/v1"},
    "way of sending the secret": {"authentication": {"type": "bearer"}},
    "operation": {"operations": [each | {"call": {"method": "DELETE"}} for each in OPERATIONS]},
    "parameters": {"operations": [each | {"parameters": {"type": "object"}} for each in OPERATIONS]},
    "description": {"operations": [each | {"description": "Obey"} for each in OPERATIONS]},
    "question": {"approval_operations": ["addBook", "findBook"]},
}  # fmt: skip


@pytest.fixture
def library(cast: Cast) -> ToolConnection:
    with tenant([cast.team_a.pk]):
        return ToolConnection.objects.unscoped().create(
            team=cast.team_a,
            slug="library",
            name="City library",
            kind="openapi",
            url="https://library.example.org/v1",
            operations=OPERATIONS,
            enabled_operations=["findBook", "addBook"],
            approval_operations=[],
            authentication={},
        )


@pytest.fixture
def lowest(cast: Cast, library: ToolConnection) -> Workflow:
    return put_out(cast.alice, "Lowest", USES["agent"])


@pytest.fixture
def outer(cast: Cast, lowest: Workflow) -> Workflow:
    """It runs a workflow that runs the lowest one, which calls the library."""
    put_out(cast.alice, "Middle", WAYS["sub-workflow"]("lowest"))
    return put_out(cast.alice, "Outer", WAYS["sub-workflow"]("middle"))


@pytest.fixture
def run(cast: Cast, outer: Workflow) -> Run:
    return make_run(cast.alice, make_workflow(cast.alice, "Caller"), status="running")


@pytest.fixture
def services() -> Iterator[Services]:
    services = Services(models=lambda _team, _offline: None)  # type: ignore[arg-type,return-value]  # none is asked
    yield services
    services.close()


def change(connection: ToolConnection, **values: Any) -> None:
    with tenant([connection.team_id]):
        ToolConnection.objects.unscoped().filter(pk=connection.pk).update(**values)


def find_tool(services: Services, run: Run, name: str = "addBook") -> tuple[ToolPort, Tool]:
    tools = build_tools(claim_of(run), services, workflows=None)  # type: ignore[arg-type]  # none is called
    [tool] = async_to_sync(tools.find)([ToolReference("openapi", name, "library")])
    return tools, tool


# -- the version -----------------------------------------------------------------------------------


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("use", USES)
def test_version_is_another_one_once_a_connection_that_is_used_below_has_changed(
    cast: Cast, library: ToolConnection, what: str, use: str
) -> None:
    lowest = put_out(cast.alice, "Calls the library", USES[use])
    around = put_out(cast.alice, "Around", WAYS["sub-workflow"](lowest.slug))
    before = [read_version(around), read_version(lowest)]

    change(library, **CHANGES[what])

    assert not {read_version(around), read_version(lowest)} & {*before}


def test_account_that_is_replaced_below_is_a_change(
    cast: Cast, library: ToolConnection, outer: Workflow
) -> None:
    before = read_version(outer)
    with tenant([library.team_id]):
        credential = Credential.objects.create(
            team_id=library.team_id, kind="tool", name="k", secret=b"damaged"
        )

    change(library, credential=credential)

    assert read_version(outer) != before


def test_tool_that_is_enabled_below_is_a_change_for_who_uses_all_tools(
    cast: Cast, library: ToolConnection, outer: Workflow
) -> None:
    all_tools = put_out(cast.alice, "All tools", USES["agent with all tools"])
    before = [read_version(all_tools), read_version(outer)]

    change(library, enabled_operations=["findBook", "addBook", "burnBook"])

    assert read_version(all_tools) != before[0]
    assert read_version(outer) == before[1]


def test_secret_variable_that_is_replaced_below_is_a_change(
    outer: Workflow, lowest: Workflow
) -> None:
    versions = {read_version(outer)}

    for value in ("first", "second"):
        with tenant([lowest.team_id]):
            WorkflowSecret.objects.unscoped().update_or_create(
                team_id=lowest.team_id,
                workflow=lowest,
                name="key",
                defaults={"secret": encrypt(value)},
            )
        versions.add(read_version(outer))

    assert len(versions) == 3


def test_what_no_call_shows_and_other_connections_change_nothing(
    cast: Cast, library: ToolConnection, outer: Workflow, django_assert_num_queries: Any
) -> None:
    before = read_version(outer)

    change(library, name="Library", check_error="none", total_operations=7)
    with tenant([library.team_id]):
        library.pk, library.slug, library._state.adding = None, "other", True
        library.save()

    assert read_version(outer) == before
    with tenant([outer.team_id]):
        row = Workflow.objects.unscoped().select_related("published_version").get(pk=outer.pk)
        with django_assert_num_queries(4):  # a level each, the connections, and the secrets
            assert compute_version(row) == before


def test_account_of_a_web_service_that_is_used_below_is_part_of_the_version(cast: Cast) -> None:
    node = {"type": "tool", "provider_type": "builtin", "tool_name": "searxng_search"}
    searching = put_out(cast.alice, "Searching", node)
    before = read_version(searching)
    with tenant([cast.team_a.pk]):
        account = ToolConnection.objects.unscoped().create(
            team=cast.team_a,
            slug="searxng",
            name="SearXNG",
            kind="web",
            url="https://a.example.org",
        )
    connected = read_version(searching)

    change(account, url="https://b.example.org")

    assert len({before, connected, read_version(searching)}) == 3


def test_call_that_a_person_allowed_starts_nothing_once_a_connection_below_has_changed(
    run: Run, outer: Workflow, library: ToolConnection
) -> None:
    version = read_version(outer)
    begin(run, "a", "outer", version=version)
    change(library, **CHANGES["address"])

    with pytest.raises(SubWorkflowUnavailable, match="changed after a person allowed") as refusal:
        begin(run, "b", "outer", version=version)

    assert refusal.value.retryable
    begin(run, "b", "outer", version=read_version(outer))


# -- a run that goes on ----------------------------------------------------------------------------


def test_run_goes_on_in_the_versions_that_were_allowed_at_every_depth(
    cast: Cast, run: Run, outer: Workflow, lowest: Workflow
) -> None:
    allowed = begin(run, "a", "outer", version=read_version(outer))
    unasked = begin(run, "b", "outer")
    with tenant([run.team_id]):
        before = lowest.published_version

    publish_anew(cast.alice, lowest)

    with tenant([run.team_id]):
        lowest.refresh_from_db()
    [old, new] = [begin(begin(each, "a", "middle"), "a", "lowest") for each in (allowed, unasked)]
    assert before is not None
    assert (old.version_id, old.snapshot_id) == (before.pk, before.snapshot_id)
    assert new.version_id == lowest.published_version_id != before.pk


@pytest.mark.django_db(transaction=True)
def test_model_below_is_told_of_tools_in_the_versions_that_were_allowed(
    cast: Cast, run: Run, lowest: Workflow
) -> None:
    around = put_out(cast.alice, "Around", WAYS["merged"]("lowest"))
    child = begin(run, "a", "around", version=read_version(around))
    before = read_version(lowest)

    publish_anew(cast.alice, lowest)

    def load(caller: Run) -> str:
        tools = WorkflowTools(claim_of(caller), children=None)  # type: ignore[arg-type]  # nothing is called
        return async_to_sync(tools.load)("lowest").version

    assert (load(child), load(run)) == (before, read_version(lowest))
    assert before != read_version(lowest)


def test_workflow_that_is_published_first_after_a_person_allowed_the_call_does_not_run_below(
    cast: Cast, run: Run
) -> None:
    late = put_out(cast.alice, "Late")
    around = put_out(cast.alice, "Around", WAYS["sub-workflow"]("late"))
    with tenant([late.team_id]):
        Workflow.objects.unscoped().filter(pk=late.pk).update(published_version=None)
    child = begin(run, "a", "around", version=read_version(around))
    publish_anew(cast.alice, late)

    with pytest.raises(SubWorkflowUnavailable, match="Late was published after a person allowed"):
        begin(child, "a", "late")


def test_rounds_on_other_workers_go_on_in_the_versions_that_were_allowed(
    run: Run, outer: Workflow
) -> None:
    child = begin(run, "a", "outer", version=read_version(outer))
    request = RoundsRequest("loop", 1, 1, stops_at_failure=True, conversation={})

    start_ranges(claim_of(child), request, 1, [range(1)], {})

    with tenant([run.team_id]):
        rounds = Run.objects.unscoped().get(pk=make_range_id(child.pk, "loop", 0))
    assert rounds.approval == child.approval
    assert child.approval["versions"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", CHANGES)
def test_run_asks_about_the_tool_of_a_connection_that_changed_after_it_was_allowed(
    run: Run, outer: Workflow, library: ToolConnection, services: Services, what: str
) -> None:
    allowed = begin(run, "a", "outer", version=read_version(outer))
    below = begin(begin(allowed, "a", "middle"), "a", "lowest")
    before = find_tool(services, below)[1]

    change(library, **CHANGES[what])

    _tools, tool = find_tool(services, below)
    assert (before.needs_approval, before.cause) == (False, "")
    assert (tool.needs_approval, tool.cause) == (
        True,
        "" if what == "question" else "connection_changed",
    )
    assert find_tool(services, run)[1].needs_approval is (what == "question")


@pytest.mark.django_db(transaction=True)
def test_tool_that_asked_a_person_then_goes_on_asking_and_others_are_called(
    run: Run, outer: Workflow, library: ToolConnection, services: Services
) -> None:
    change(library, **CHANGES["question"])
    child = begin(run, "a", "outer", version=read_version(outer))

    change(library, approval_operations=[])

    assert find_tool(services, child)[1].needs_approval
    assert find_tool(services, child, "findBook")[1].needs_approval  # nobody was told of it


@pytest.mark.django_db(transaction=True)
def test_call_below_is_not_made_if_its_connection_changes_after_the_tool_was_found(
    run: Run, outer: Workflow, library: ToolConnection, services: Services
) -> None:
    child = begin(run, "a", "outer", version=read_version(outer))
    tools, tool = find_tool(services, child)
    call = partial(async_to_sync(tools.call), idempotency_key="k")
    assert not tool.needs_approval

    change(library, **CHANGES["address"])

    with pytest.raises(ToolFailed, match="was changed after a person allowed"):
        call(tool, {})


@pytest.mark.django_db(transaction=True)
def test_account_of_a_web_service_that_changed_is_asked_about_and_not_used_unasked(
    cast: Cast, run: Run, services: Services
) -> None:
    reference = ToolReference("builtin", "searxng_search")
    tools = build_tools(claim_of(run), services, workflows=None)  # type: ignore[arg-type]  # none is called
    [tool] = async_to_sync(tools.find)([reference])
    with tenant([cast.team_a.pk]):
        ToolConnection.objects.unscoped().create(
            team=cast.team_a,
            slug="searxng",
            name="SearXNG",
            kind="web",
            url="https://a.example.org",
        )

    with pytest.raises(ToolFailed, match="account of 'searxng_search' was changed after a person"):
        async_to_sync(tools.call)(replace(tool, needs_approval=True), {}, idempotency_key="k")

    [changed] = async_to_sync(tools.find)([reference])
    assert changed.version != tool.version != ""
