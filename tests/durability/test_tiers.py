"""Three tiers through real workers: what a run keeps for today, the next one has in its prompt; what it forgets comes back."""

from datetime import UTC
from typing import Any

from accounts.tenancy import tenant
from memory import services
from memory.models import Change, Entry, Read
from memory.public import MemoryCaller
from tests.durability.conftest import Cluster
from tests.durability.test_debugging import debug, line, made
from tests.support.cast import Cast
from workflows.models import DryRunChange, Workflow
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.runs import Run, start_run


STREAM = MemoryStream("project-1")


def remembering(value: list[str]) -> dict[str, Any]:
    return {
        "id": "store",
        "data": {
            "type": "memory-store",
            "title": "Keep",
            "scope": "workflow",
            "key": "said",
            "value_selector": value,
            "tier": "working",
        },
    }


def history(**data: Any) -> dict[str, Any]:
    given = {"type": "memory-retrieval", "title": "History", "topic_selector": ["start", "q"]}
    return {"id": "history", "data": {**given, **data}}


def forgetting(**data: Any) -> dict[str, Any]:
    given = {
        "type": "memory-delete",
        "title": "Forget",
        "scope": "user",
        "filter": {"topic": "tea"},
    }
    return {"id": "forget", "data": {**given, **data}}


def started(cast: Cast, workflow: Workflow, q: str, stream: MemoryStream | None = STREAM) -> Run:
    return start_run(cast.alice.principal, workflow=workflow, inputs={"q": q}, stream=stream)


def told(cluster: Cluster, run: Run, name: str) -> list[Any]:
    return [data for _seq, event, data in cluster.events(run) if event == name]


def test_working_memory_of_one_run_is_history_for_the_next_of_its_group(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(
        cast, line(history(), remembering(["start", "q"]), out=["history", "history_context"])
    )
    cluster.start("one")

    first = cluster.until_ended(started(cast, workflow, "Alice likes green tea"))
    again = started(cast, workflow, "What does she like?")
    second = cluster.until_ended(again)
    other = cluster.until_ended(started(cast, workflow, "What is it?", MemoryStream("project-2")))

    assert (first["outputs"]["o"], other["outputs"]["o"]) == ("", "")
    day = first["started_at"].astimezone(UTC).strftime("%-d %b %Y")
    text = f"## History\n\n### Record 1 (relevance: 1.00)\nAlice, {day}: Alice likes green tea"
    assert second["outputs"]["o"] == text
    (done,) = [e for e in told(cluster, again, "node_state_change")
               if e["node"] == "history" and e["status"] == "completed"]  # fmt: skip
    assert done["context_length"] == len(text)
    (recalled,) = told(cluster, again, "memory_recalled")
    assert [(one["value"], one["score"]) for one in recalled["entries"]] == [
        ("Alice likes green tea", 1.0)
    ]
    with tenant([workflow.team_id]):
        entry = Entry.objects.unscoped().get(namespace__text__endswith=":project-1")
        assert (entry.tier, entry.expires_at is not None) == ("working", True)
        read = Read.objects.unscoped().get(run_id=str(again.pk))
        assert (read.entry_id, read.node_id) == (entry.pk, "history")
    cluster.check(again)


def test_run_without_its_group_goes_on_and_says_why_it_has_no_history(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(cast, line(history(), out=["history", "history_context"]))
    cluster.start("one")

    run = started(cast, workflow, "tea", None)
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"o": ""})
    (error,) = told(cluster, run, "memory_retrieval_error")
    assert error["message"] == "sys.group_id is not set; the workflow scope needs it."


def test_group_a_form_names_is_refused_unless_the_person_has_run_the_workflow_there(
    cluster: Cluster, cast: Cast
) -> None:
    """What a person writes into a form must not open another project's memory."""
    workflow = made(
        cast,
        line(history(group_id_selector=["start", "q"]), remembering(["start", "q"]),
             out=["history", "history_context"]),
    )  # fmt: skip
    cluster.start("one")
    theirs = start_run(
        cast.bob.principal,
        workflow=workflow,
        inputs={"q": "secret-of-two words"},
        stream=MemoryStream("project-2"),
    )
    cluster.until_ended(theirs)

    run = started(cast, workflow, "project-2")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"o": ""})
    (error,) = told(cluster, run, "memory_retrieval_error")
    assert "has no access to" in error["message"]


def test_value_the_gate_lets_not_in_is_said_and_the_run_goes_on(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(cast, line(remembering(["start", "q"]), out=["store", "stored"]))
    cluster.start("one")

    run = started(cast, workflow, "hm")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"o": False})
    assert [one["reasons"] for one in told(cluster, run, "memory_kept_out")] == [["too_short"]]


def knows(cast: Cast, *values: str) -> MemoryCaller:
    alice = cast.alice
    caller = MemoryCaller(alice.principal, cast.team_a.pk, {"user_id": str(alice.user.pk)})
    for value in values:
        services.remember(caller, scope="user", key=value, value=value, metadata={"topic": value})
    return caller


def test_forgotten_by_a_run_is_audited_and_undone_as_one(cluster: Cluster, cast: Cast) -> None:
    caller = knows(cast, "tea", "coffee")
    workflow = made(cast, line(forgetting(), out=["forget", "deleted"]))
    cluster.start("one")

    run = started(cast, workflow, "go", None)
    row = cluster.until_ended(run)

    assert row["outputs"] == {"o": 1}
    (said,) = told(cluster, run, "memory_forgotten")
    assert (said["count"], said["filter"]) == (1, {"topic": "tea"})
    assert [one.key for one in services.recall(caller, scope="user")] == ["coffee"]
    with tenant([workflow.team_id]):
        change = Change.objects.unscoped().get()
    assert services.undo(caller, change_id=change.pk).count == 1
    assert {one.key for one in services.recall(caller, scope="user")} == {"tea", "coffee"}


def test_sandboxed_run_shows_what_it_would_forget_and_forgets_nothing(
    cluster: Cluster, cast: Cast
) -> None:
    caller = knows(cast, "tea", "coffee")
    workflow = made(cast, line(forgetting(), out=["forget", "deleted"]))
    cluster.start("one")

    row = cluster.until_ended(run := debug(cast, workflow, inputs={"q": "go"}, memory="sandbox"))

    assert row["outputs"] == {"o": 1}
    with tenant([workflow.team_id]):
        would = DryRunChange.objects.unscoped().get(run=run)
    assert (would.operation, would.key, would.before["value"]) == ("forget", "tea", "tea")
    assert len(services.recall(caller, scope="user")) == 2
