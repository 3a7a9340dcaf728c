"""Runs that people look into, on real workers: pauses outlive the worker, parts keep what was done before."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory.models import Entry, Revision
from tests.durability.conftest import Cluster
from tests.support.cast import Cast
from workflows.engine.language.dsl import load_document
from workflows.engine.runtime.partial_runs import Extent, Part
from workflows.models import Conversation, DryRunChange, Message, Run, Step, Workflow
from workflows.services.catalog import importing
from workflows.services.debugging.options import NodeNeedsValues, RunOptions
from workflows.services.debugging.pauses import edit_step, resume_run
from workflows.services.debugging.pins import pin_node
from workflows.services.debugging.sandbox_memory import drop_memories, keep_memories
from workflows.services.debugging.start import start_debug_run
from workflows.services.editor import drafts
from workflows.services.runs.runs import cancel_run, start_run


def template(name: str, text: str, **reads: list[str]) -> dict[str, Any]:
    variables = [{"variable": key, "value_selector": at} for key, at in reads.items()]
    data = {"type": "template-transform", "title": name, "template": text, "variables": variables}
    return {"id": name, "data": data}


def line(*nodes: dict[str, Any], out: list[str]) -> dict[str, Any]:
    ids = ["start", *(node["id"] for node in nodes), "end"]
    start = {"type": "start", "title": "Start", "variables": [{"variable": "q", "type": "string"}]}
    end = {"type": "end", "title": "End", "outputs": [{"variable": "o", "value_selector": out}]}
    return {
        "version": "0.1.0",
        "nodes": [{"id": "start", "data": start}, *nodes, {"id": "end", "data": end}],
        "edges": [
            {"id": f"e{number}", "source": a, "target": b}
            for number, (a, b) in enumerate(pairwise(ids))
        ],
    }


ABC = line(
    template("a", "a({{q}})", q=["start", "q"]),
    template("b", "b({{x}})", x=["a", "output"]),
    template("c", "c({{x}})", x=["b", "output"]),
    out=["c", "output"],
)


@pytest.fixture
def abc(cast: Cast) -> Workflow:
    return made(cast, ABC)


def made(cast: Cast, source: Any) -> Workflow:
    principal = cast.alice.principal
    return importing.import_document(principal, team_id=cast.team_a.pk, source=source).workflow


def debug(cast: Cast, workflow: Workflow, **options: Any) -> Run:
    given = {
        name: options.pop(name) for name in ("inputs", "query", "conversation") if name in options
    }
    return start_debug_run(
        cast.alice.principal,
        workflow=workflow,
        options=RunOptions(**options),
        version="draft",
        **given,
    )


def until_paused(cluster: Cluster, run: Run) -> dict[str, Any]:
    def standing() -> bool:
        status = cluster.row(run)["status"]
        assert status in ("queued", "running", "paused"), cluster.row(run)
        return bool(status == "paused")

    cluster.until(standing)
    return cluster.row(run)


def words(cluster: Cluster, run: Run) -> list[str]:
    return [node for node, _status, _attempt in cluster.steps(run)]


def test_breakpoint_outlives_the_worker_and_nothing_runs_twice(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")
    run = debug(cast, abc, inputs={"q": "1"}, breakpoints=("b", "end"))
    row = until_paused(cluster, run)
    assert (row["pause"]["nodes"], row["pause"]["reason"], row["worker"]) == (
        ["b"],
        "breakpoint",
        "",
    )
    assert words(cluster, run) == ["start", "a"]

    cluster.kill("one")
    cluster.start("two")
    edit_step(cast.alice.principal, run, node="a", outputs={"output": "edited"})
    resume_run(cast.alice.principal, run, mode="continue")
    assert until_paused(cluster, run)["pause"]["nodes"] == ["end"]
    resume_run(cast.alice.principal, run, mode="continue")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"o": "c(b(edited))"})
    assert row["kill_count"] == 0
    names = [name for _seq, name, _data in cluster.events(run)]
    assert [n for n in names if n.startswith("run_") or n == "step_edited"] == [
        "run_started",
        "run_paused",
        "step_edited",
        "run_resumed",
        "run_paused",
        "run_resumed",
        "run_finished",
    ]
    cluster.check(run)
    with tenant([abc.team_id]):
        step = Step.objects.unscoped().get(run=run, node_key="a")
        assert step.edited_by == cast.alice.principal.actor


def test_worker_killed_right_after_resume_goes_on_to_the_next_breakpoint(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")
    run = debug(cast, abc, inputs={"q": "1"}, breakpoints=("b", "c"))
    until_paused(cluster, run)
    cluster.kill("one")
    resume_run(cast.alice.principal, run, mode="continue")
    # Taken by a worker that dies before it did anything.
    cluster.db.execute(
        "update workflows_run set status = 'running', attempt = attempt + 1, lease_until = now(),"
        " worker = 'gone' where id = %s",
        (run.pk,),
    )

    cluster.start("two")
    row = until_paused(cluster, run)

    assert row["pause"]["nodes"] == ["c"]
    assert words(cluster, run) == ["start", "a", "b"]


def test_stepping_runs_one_node_at_a_time_to_the_end(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")
    run = debug(cast, abc, inputs={"q": "1"}, step=True)

    seen = []
    for _ in range(4):
        seen.append(until_paused(cluster, run)["pause"]["nodes"])
        resume_run(cast.alice.principal, run, mode="step")
        cluster.until(lambda: cluster.row(run)["status"] in ("paused", "succeeded"))
    row = cluster.until_ended(run)

    assert seen == [["a"], ["b"], ["c"], ["end"]]
    assert row["outputs"] == {"o": "c(b(a(1)))"}
    cluster.check(run)


def test_paused_run_is_stopped_and_stays_so(cluster: Cluster, cast: Cast, abc: Workflow) -> None:
    cluster.start("one")
    run = debug(cast, abc, inputs={"q": "1"}, breakpoints=("c",))
    until_paused(cluster, run)

    resume_run(cast.alice.principal, run, mode="stop")

    row = cluster.until_ended(run)
    assert row["status"] == "stopped"
    cluster.check(run)


def test_parts_run_what_they_say_and_keep_the_rest(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")
    first = start_run(cast.alice.principal, workflow=abc, inputs={"q": "1"}, version="draft")
    cluster.until_ended(first)

    until = debug(cast, abc, part=Part(Extent.UNTIL, ("b",)), inputs={"q": "2"})
    from_ = debug(cast, abc, part=Part(Extent.FROM, ("b",)), reuse=first.pk)
    only = debug(cast, abc, part=Part(Extent.ONLY, ("b",)), reuse=first.pk)
    typed = debug(cast, abc, part=Part(Extent.ONLY, ("b",)), values={"a": {"output": "typed"}})
    for run in (until, from_, only, typed):
        assert cluster.until_ended(run)["status"] == "succeeded", cluster.row(run)

    assert words(cluster, until) == ["start", "a", "b"]
    assert outputs(abc, until, "b") == {"output": "b(a(2))"}
    assert cluster.row(from_)["outputs"] == {"o": "c(b(a(1)))"}
    assert reused(abc, from_) == {"start", "a"}
    assert set(words(cluster, only)) == {"start", "a", "b", "c", "end"}
    assert reused(abc, only) == {"start", "a", "c", "end"}
    assert outputs(abc, typed, "b") == {"output": "b(typed)"}
    told = {
        data["node"]: data
        for _s, name, data in cluster.events(from_)
        if name == "node_state_change"
    }
    assert {node for node, data in told.items() if data.get("reused")} == {"start", "a"}


def test_values_typed_in_before_a_start_in_the_middle_make_nothing_run_again(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")
    first = start_run(cast.alice.principal, workflow=abc, inputs={"q": "1"}, version="draft")
    cluster.until_ended(first)
    typed = {"a": {"output": "typed"}}

    near = debug(cast, abc, part=Part(Extent.FROM, ("b",)), reuse=first.pk, values=typed)
    far = debug(cast, abc, part=Part(Extent.FROM, ("c",)), reuse=first.pk, values=typed)
    for run in (near, far):
        assert cluster.until_ended(run)["status"] == "succeeded", cluster.row(run)

    assert (cluster.row(near)["outputs"], reused(abc, near)) == (
        {"o": "c(b(typed))"},
        {"start", "a"},
    )
    assert outputs(abc, far, "a") == {"output": "typed"}
    assert (cluster.row(far)["outputs"], reused(abc, far)) == (
        {"o": "c(b(a(1)))"},
        {"start", "a", "b"},
    )
    assert words(cluster, far) == ["start", "a", "b", "c", "end"]


def test_values_typed_in_on_the_way_are_what_their_nodes_give(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")

    run = debug(
        cast,
        abc,
        part=Part(Extent.UNTIL, ("b",)),
        inputs={"q": "1"},
        values={"a": {"output": "typed"}},
    )

    assert cluster.until_ended(run)["status"] == "succeeded", cluster.row(run)
    assert outputs(abc, run, "b") == {"output": "b(typed)"}
    assert words(cluster, run) == ["start", "a", "b"]


def outputs(workflow: Workflow, run: Run, node: str) -> Any:
    with tenant([workflow.team_id]):
        return Step.objects.unscoped().get(run=run, node_key=node).outputs


def reused(workflow: Workflow, run: Run) -> set[str]:
    with tenant([workflow.team_id]):
        rows = Step.objects.unscoped().filter(run=run, reused_from__isnull=False)
        return set(rows.values_list("node_key", flat=True))


def test_node_alone_asks_for_what_nothing_has_run_for(cast: Cast, abc: Workflow) -> None:
    with pytest.raises(NodeNeedsValues) as asked:
        debug(cast, abc, part=Part(Extent.ONLY, ("b",)))

    assert [(one.node, one.field) for one in asked.value.problems] == [("a", "output")]


def test_from_after_a_change_says_what_is_old(cluster: Cluster, cast: Cast, abc: Workflow) -> None:
    cluster.start("one")
    first = start_run(cast.alice.principal, workflow=abc, inputs={"q": "1"}, version="draft")
    cluster.until_ended(first)
    changed = line(
        template("a", "A({{q}})", q=["start", "q"]),
        template("b", "B({{x}})", x=["a", "output"]),
        template("c", "c({{x}})", x=["b", "output"]),
        out=["c", "output"],
    )
    document = load_document(changed).document
    abc = drafts.replace_draft(cast.alice.principal, workflow=abc, document=document)

    run = debug(cast, abc, part=Part(Extent.FROM, ("b",)), reuse=first.pk)

    assert run.debug["warnings"] == [{"node": "a", "code": "older"}]
    assert cluster.until_ended(run)["outputs"] == {"o": "c(B(a(1)))"}


def test_pin_takes_the_place_of_the_node_in_runs_from_the_editor_only(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")
    pin_node(cast.bob.principal, workflow=abc, node="a", outputs={"output": "pinned"})

    with_pins = debug(cast, abc, inputs={"q": "1"}, pins=True)
    without = start_run(cast.alice.principal, workflow=abc, inputs={"q": "1"}, version="draft")

    assert cluster.until_ended(with_pins)["outputs"] == {"o": "c(b(pinned))"}
    assert cluster.until_ended(without)["outputs"] == {"o": "c(b(a(1)))"}
    assert with_pins.mocks == {"a": {"outputs": {"output": "pinned"}}}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            Part(Extent.FROM, ("c",)),
            {"o": "c(b(a(1)))"},
        ),  # what b gave is kept, whatever a gives now
        (Part(Extent.FROM, ("b",)), {"o": "c(b(pinned))"}),
        (Part(Extent.UNTIL, ("b",)), "b(pinned)"),
        (Part(Extent.ONLY, ("b",)), "b(pinned)"),
    ],
)
def test_pin_set_since_takes_the_place_of_the_earlier_result(
    cluster: Cluster, cast: Cast, abc: Workflow, part: Part, expected: Any
) -> None:
    cluster.start("one")
    first = start_run(cast.alice.principal, workflow=abc, inputs={"q": "1"}, version="draft")
    cluster.until_ended(first)
    pin_node(cast.bob.principal, workflow=abc, node="a", outputs={"output": "pinned"})

    run = debug(cast, abc, part=part, reuse=first.pk, pins=True)

    row = cluster.until_ended(run)
    assert row["status"] == "succeeded"
    assert outputs(abc, run, "a") == {"output": "pinned"}
    given = row["outputs"] if part.extent is Extent.FROM else outputs(abc, run, "b")["output"]
    assert given == expected
    assert words(cluster, run).count("b") == 1
    assert not run.debug["warnings"]
    cluster.check(run)


DIARY = """
version: 0.6.0
kind: app
app: {name: Diary, mode: advanced-chat}
workflow:
  conversation_variables:
    - {id: log, name: log, value_type: "array[string]", value: [], selector: [conversation, log]}
  graph:
    nodes:
      - {id: start, type: custom, data: {type: start, title: Start, variables: []}}
      - id: keep
        type: custom
        data:
          type: assigner
          title: Keep
          version: "2"
          items:
            - {variable_selector: [conversation, log], input_type: variable, operation: append, value: [sys, query]}
      - {id: answer, type: custom, data: {type: answer, title: Answer, answer: "{{#conversation.log#}}"}}
    edges:
      - {id: a, source: start, target: keep}
      - {id: b, source: keep, target: answer}
"""


def test_turn_tried_again_stands_where_it_stood_and_leaves_the_conversation_alone(
    cluster: Cluster, cast: Cast
) -> None:
    diary = made(cast, DIARY)
    cluster.start("one")
    turns = [
        start_run(cast.alice.principal, workflow=diary, query=said, conversation="c1")
        for said in ("m1", "m2", "m3")
    ]
    for turn in turns:
        cluster.until_ended(turn)

    from_writer = debug(cast, diary, part=Part(Extent.FROM, ("keep",)), reuse=turns[1].pk)
    from_answer = debug(cast, diary, part=Part(Extent.FROM, ("answer",)), reuse=turns[1].pk)

    for run in (from_writer, from_answer):
        row = cluster.until_ended(run)
        assert (row["status"], row["outputs"]["answer"]) == ("succeeded", "- m1\n- m2")
    with tenant([diary.team_id]):
        talk = Conversation.objects.unscoped().get(key="c1")
        assert talk.variables == {"log": ["m1", "m2", "m3"]}
        assert Message.objects.unscoped().filter(conversation=talk).count() == 3


def remembering(key: str = "note") -> dict[str, Any]:
    recall = {"type": "memory-recall", "title": "Recall", "scope": "user", "top_k": 10}
    store = {
        "type": "memory-store",
        "title": "Store",
        "scope": "user",
        "key": key,
        "value_selector": ["start", "q"],
    }
    after = {**recall, "title": "After", "query_selector": ["start", "q"]}
    nodes = [("before", recall), ("store", store), ("after", after)]
    return line(*({"id": name, "data": data} for name, data in nodes), out=["after", "results"])


@contextmanager
def unchanged_memory(workflow: Workflow) -> Iterator[None]:
    def state() -> tuple[Any, ...]:
        with tenant([workflow.team_id]):
            entries = Entry.objects.unscoped().order_by("id")
            return (
                tuple(entries.values_list("id", "key", "value", "revision", "deleted_at")),
                Revision.objects.unscoped().count(),
            )

    before = state()
    yield
    assert state() == before


def facts(found: list[dict[str, Any]]) -> list[Any]:
    return [(one["key"], one["value"], one["score"] and round(one["score"], 6)) for one in found]


def test_sandboxed_run_sees_what_it_would_remember_and_equals_the_real_one(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(cast, remembering())
    cluster.start("one")
    real = start_run(cast.alice.principal, workflow=workflow, inputs={"q": "tea at noon"})
    cluster.until_ended(real)

    with unchanged_memory(workflow):
        tried = debug(cast, workflow, inputs={"q": "coffee at noon"}, memory="sandbox")
        sandboxed = cluster.until_ended(tried)
    assert sandboxed["status"] == "succeeded", sandboxed
    with tenant([workflow.team_id]):
        would = DryRunChange.objects.unscoped().get(run=tried)
        assert (would.operation, would.key, would.fate) == ("store", "note", "open")
        assert would.entry["value"] == "coffee at noon"
        assert would.before["value"] == "tea at noon"
    again = start_run(cast.alice.principal, workflow=workflow, inputs={"q": "coffee at noon"})
    oracle = cluster.until_ended(again)

    assert facts(sandboxed["outputs"]["o"]) == facts(oracle["outputs"]["o"])
    assert facts(outputs(workflow, tried, "before")["results"]) == facts(
        outputs(workflow, again, "before")["results"]
    )


def test_would_be_memories_are_kept_through_the_real_door_or_dropped(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(cast, remembering("a fact"))
    cluster.start("one")
    kept = debug(cast, workflow, inputs={"q": "kept"}, memory="sandbox")
    cluster.until_ended(kept)
    dropped = debug(cast, workflow, inputs={"q": "dropped"}, memory="sandbox")
    cluster.until_ended(dropped)

    assert keep_memories(cast.alice.principal, kept).count == 1
    assert keep_memories(cast.alice.principal, kept).count == 0
    assert drop_memories(cast.alice.principal, dropped).count == 1

    with tenant([workflow.team_id]):
        entry = Entry.objects.unscoped().get(key="a fact", deleted_at=None)
        assert (entry.value, entry.source_run, entry.source_node) == ("kept", str(kept.pk), "store")
        fates = DryRunChange.objects.unscoped().order_by("id").values_list("run_id", "fate")
        assert dict(fates) == {kept.pk: "kept", dropped.pk: "dropped"}


def test_sandbox_is_there_again_after_the_worker_is_killed(cluster: Cluster, cast: Cast) -> None:
    workflow = made(cast, remembering())
    cluster.start("one")
    run = debug(cast, workflow, inputs={"q": "tea"}, memory="sandbox", breakpoints=("after",))
    until_paused(cluster, run)
    cluster.kill("one")
    cluster.start("two")
    with unchanged_memory(workflow):
        resume_run(cast.alice.principal, run, mode="continue")
        row = cluster.until_ended(run)

    assert [fact[:2] for fact in facts(row["outputs"]["o"])] == [("note", "tea")]


def test_cancel_asked_just_before_a_pause_is_not_forgotten(
    cluster: Cluster, cast: Cast, abc: Workflow
) -> None:
    cluster.start("one")
    run = debug(cast, abc, inputs={"q": "1"}, breakpoints=("b",))
    until_paused(cluster, run)

    cancel_run(cast.alice.principal, run)

    assert cluster.until_ended(run)["status"] == "stopped"
