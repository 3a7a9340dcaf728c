"""A person paused, through real workers: their run stores and recalls nothing, goes on, and says so."""

from typing import Any

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Read
from memory.public import MemoryCaller
from tests.durability.conftest import Cluster
from tests.durability.test_debugging import line, made
from tests.durability.test_tiers import told
from tests.support.cast import Cast, Person
from workflows.models import Workflow
from workflows.services.runs.runs import Run, start_run


RECALL = {
    "id": "recall",
    "data": {
        "type": "memory-recall",
        "title": "Recall",
        "scope": "user",
        "query_selector": ["start", "q"],
    },
}
STORE = {
    "id": "store",
    "data": {
        "type": "memory-store",
        "title": "Remember",
        "scope": "user",
        "key": "said {{#start.q#}}",
        "value_selector": ["start", "q"],
    },
}


def said(person: Person, workflow: Workflow, words: str) -> Run:
    return start_run(person.principal, workflow=workflow, inputs={"q": words})


def test_run_of_a_paused_person_remembers_nothing_and_others_runs_do(
    cluster: Cluster, cast: Cast
) -> None:
    alice, bob = cast.alice, cast.people["bob"]
    workflow = made(cast, line(RECALL, STORE, out=["recall", "count"]))
    cluster.start("one")
    for person in (alice, bob):
        cluster.until_ended(said(person, workflow, "green tea"))
    services.pause(MemoryCaller(alice.principal, cast.team_a.pk))

    paused, others = (said(person, workflow, "green tea again") for person in (alice, bob))
    ends = [cluster.until_ended(run) for run in (paused, others)]

    assert [(end["status"], end["outputs"]) for end in ends] == [
        ("succeeded", {"o": 0}),
        ("succeeded", {"o": 1}),
    ]
    assert [one["withheld"] for one in told(cluster, paused, "memory_recalled")] == ["paused"]
    assert [one["reasons"] for one in told(cluster, paused, "memory_kept_out")] == [["paused"]]
    assert not told(cluster, paused, "memory_written")
    assert [one["withheld"] for one in told(cluster, others, "memory_recalled")] == [None]
    assert len(told(cluster, others, "memory_written")) == 1
    step = _outputs(paused, "store")
    assert (step["stored"], "paused by the person" in step["reason"].lower()) == (False, True)
    assert known(cast, alice) == ["green tea"]
    assert known(cast, bob) == ["green tea", "green tea again"]
    with tenant([cast.team_a.pk]):
        assert not Read.objects.unscoped().filter(run_id=str(paused.pk)).exists()

    services.resume(MemoryCaller(alice.principal, cast.team_a.pk))
    assert cluster.until_ended(said(alice, workflow, "tea, resumed"))["outputs"] == {"o": 1}
    assert known(cast, alice) == ["green tea", "tea, resumed"]


def _outputs(run: Run, node: str) -> Any:
    with tenant([run.team_id]):
        return run.steps.get(node_key=node).outputs


def known(cast: Cast, person: Person) -> list[Any]:
    with tenant([cast.team_a.pk]):
        rows = Entry.objects.unscoped().filter(namespace__text=f"user:{person.user.pk}")
        return sorted(rows.values_list("value", flat=True))
