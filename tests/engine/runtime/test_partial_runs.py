"""Parts of runs, pauses and nodes that are switched off, without a database."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support.documents import assign, branch, document, end, node, start, template
from tests.support.engine import ports, run_plan
from workflows.engine.language.disabled_nodes import remove_disabled
from workflows.engine.language.document import Document
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.breakpoints import PauseControl, format_step_name
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.partial_runs import (
    Extent,
    Part,
    build_manual_step,
    extract_part,
    find_root,
    list_external_reads,
    mark_missing_nodes,
    select_missing_node_steps,
    select_reusable_steps,
    select_valid_steps,
)
from workflows.engine.runtime.run_request import RunResult, RunStart
from workflows.engine.runtime.step_records import RunStatus, StepRecord


pytestmark = pytest.mark.asyncio

KINDS = build_kinds()


def chain() -> Document:
    nodes = [
        start("q"),
        template("a", "a({{ q }})", q=["start", "q"]),
        template("b", "b({{ x }})", x=["a", "output"]),
        template("c", "c({{ x }})", x=["b", "output"]),
        end(o=["c", "output"]),
    ]
    return document(nodes, ["start -> a", "a -> b", "b -> c", "c -> end"])


def forked() -> Document:
    nodes = [
        start("q"),
        branch("if", ["start", "q"], "yes"),
        template("good", "GOOD"),
        template("bad", "BAD"),
        end(g=["good", "output"], b=["bad", "output"]),
    ]
    edges = ["start -> if", "if:true -> good", "if:false -> bad", "good -> end", "bad -> end"]
    return document(nodes, edges)


async def run(
    whole: Document,
    part: Part = Part(),  # noqa: B008 - frozen
    *,
    inputs: Mapping[str, Any] | None = None,
    history: Sequence[StepRecord] = (),
    brake: PauseControl | None = None,
    journal: ListJournal | None = None,
    conversation: Mapping[str, Any] | None = None,
) -> RunResult:
    piece = extract_part(whole, part, find_root(whole, KINDS))
    plan = mark_missing_nodes(compile_plan(piece, KINDS), whole)
    return await execute_plan(
        plan,
        RunStart("run", inputs or {"q": "1"}, conversation=conversation or {}),
        ports(),
        journal or ListJournal(),
        history=history,
        pause_control=brake,
        seeds=select_missing_node_steps(plan, history),
    )


def names(result: RunResult) -> list[str]:
    return [step.key.node_id for step in result.steps]


def held(result: RunResult) -> list[str]:
    return [key.node_id for key in result.waiting_steps]


async def test_until_runs_what_leads_there_and_nothing_else() -> None:
    result = await run(chain(), Part(Extent.UNTIL, ("b",)))

    assert (names(result), result.status) == (["start", "a", "b"], RunStatus.SUCCEEDED)


async def test_until_needs_no_more_than_that_to_be_in_order() -> None:
    broken = chain()
    nodes = [replace(n, data={"type": "no-such-kind"}, kind="no-such-kind") if n.id == "c" else n
             for n in broken.nodes]  # fmt: skip

    result = await run(replace(broken, nodes=tuple(nodes)), Part(Extent.UNTIL, ("b",)))

    assert result.is_successful


async def test_until_a_node_on_the_way_not_taken_leaves_it_out() -> None:
    result = await run(forked(), Part(Extent.UNTIL, ("good",)), inputs={"q": "no"})

    assert (names(result), result.status) == (["start", "if"], RunStatus.SUCCEEDED)


async def test_from_keeps_what_came_before() -> None:
    first = await run(chain())
    kept = select_reusable_steps(chain(), first.steps, ["b"])
    journal = ListJournal()

    again = await run(chain(), Part(Extent.FROM, ("b",)), history=kept, journal=journal)

    assert [record.key.node_id for record in kept] == ["start", "a"]
    assert [record.key.node_id for record in journal.records] == ["b", "c", "end"]
    assert again.outputs == {"o": "c(b(a(1)))"}


async def test_only_reads_what_is_given_and_runs_alone() -> None:
    typed = build_manual_step("a", "template-transform", {"output": "typed"})
    journal = ListJournal()

    result = await run(chain(), Part(Extent.ONLY, ("b",)), history=[typed], journal=journal)

    assert [record.key.node_id for record in journal.records] == ["start", "b"]
    assert result.steps[-1].outputs == {"output": "b(typed)"}


async def test_only_the_start_itself_runs() -> None:
    result = await run(chain(), Part(Extent.ONLY, ("start",)))

    assert names(result) == ["start"]


async def test_kept_writes_count_once() -> None:
    steps = [start("q"), assign("one", "n", "+=", 1, "constant"), assign("two", "n", "+=", 10, "constant"), end()]  # fmt: skip
    counting = document(
        steps, ["start -> one", "one -> two", "two -> end"], conversation={"n": ("number", 0)}
    )
    first = await run(counting)
    assert first.conversation == {"n": 11}

    again = await run(
        counting,
        Part(Extent.FROM, ("two",)),
        history=select_reusable_steps(counting, first.steps, ["two"]),
    )

    assert again.conversation == {"n": 11}


async def test_fitting_leaves_out_what_no_longer_follows() -> None:
    first = await run(chain())
    inserted = chain()
    nodes = (*inserted.nodes, template("new", "new"))
    edges = document([], ["start -> a", "a -> new", "new -> b", "b -> c", "c -> end"]).edges
    changed = replace(inserted, nodes=nodes, edges=edges)

    kept = select_valid_steps(compile_plan(changed, KINDS), first.steps)

    assert [record.key.node_id for record in kept] == ["start", "a"]


async def test_reads_are_found_in_selectors_and_texts() -> None:
    talk = node("llm", "llm", model={"provider": "p", "name": "m", "mode": "chat"},
                prompt_template=[{"role": "user", "text": "{{#a.output#}} {{#sys.query#}}"}])  # fmt: skip
    whole = document([start(), template("a", "x"), talk], ["start -> a", "a -> llm"])

    assert list_external_reads(whole, "llm", KINDS) == [("a", "output"), ("sys", "query")]
    assert list_external_reads(chain(), "b", KINDS) == [("a", "output")]


async def test_breakpoint_pauses_before_its_node_and_goes_on_from_there() -> None:
    first = await run(chain(), brake=PauseControl({"b"}))
    assert (first.status, names(first), held(first)) == (RunStatus.PAUSED, ["start", "a"], ["b"])

    past = {format_step_name(key) for key in first.waiting_steps}
    journal = ListJournal()
    rest = await run(chain(), history=first.steps, brake=PauseControl({"b"}, past), journal=journal)

    assert (rest.status, rest.outputs) == (RunStatus.SUCCEEDED, {"o": "c(b(a(1)))"})
    assert [record.key.node_id for record in journal.records] == ["b", "c", "end"]


@pytest.mark.parametrize("budget", [0, 1, 2, 4])
async def test_budget_lets_so_many_nodes_begin(budget: int) -> None:
    result = await run(chain(), brake=PauseControl(budget=budget))

    assert (len(result.steps), result.status) == (budget, RunStatus.PAUSED)


async def test_budget_for_all_of_them_pauses_nowhere() -> None:
    assert (await run(chain(), brake=PauseControl(budget=5))).status is RunStatus.SUCCEEDED


async def test_one_held_node_holds_its_neighbours_too() -> None:
    nodes = [start("q"), template("x", "x"), template("y", "y"), end()]
    fan = document(nodes, ["start -> x", "start -> y", "x -> end", "y -> end"])

    result = await run(fan, brake=PauseControl({"x"}))

    assert (names(result), held(result)) == (["start"], ["x", "y"])


async def test_paused_answer_is_not_finished() -> None:
    nodes = [start("q"), template("a", "A"), node("answer", "answer", answer="{{#a.output#}}!")]
    talk = document(nodes, ["start -> a", "a -> answer"])

    result = await run(talk, brake=PauseControl({"a"}))

    assert (result.stream, result.status) == ("", RunStatus.PAUSED)


# -- switched off ---------------------------------------------------------------------------------


def off(whole: Document, *ids: str) -> Document:
    nodes = [
        replace(n, data={**n.data, "disabled": True}) if n.id in ids else n for n in whole.nodes
    ]
    return replace(whole, nodes=tuple(nodes))


async def test_disabled_node_is_passed_by() -> None:
    journal = ListJournal()

    result = await run_plan(off(chain(), "b"), inputs={"q": "1"}, journal=journal)

    assert [record.key.node_id for record in journal.records] == ["start", "a", "c", "end"]
    assert result.outputs == {"o": "c(None)"}  # as Jinja prints what isn't there


async def test_disabled_branch_goes_its_first_way() -> None:
    result = await run_plan(off(forked(), "if"), inputs={"q": "no"})

    assert result.outputs["g"] == "GOOD"
    assert "bad" not in names(result)


async def test_disabled_nodes_in_a_row_leave_one_edge() -> None:
    kept, _removed = remove_disabled(off(chain(), "a", "b", "c"), KINDS)

    assert [(edge.source, edge.target) for edge in kept.edges] == [("start", "end")]


async def test_disabled_node_may_be_half_done_and_who_reads_it_is_warned() -> None:
    half = off(chain(), "b")
    nodes = [replace(n, data={"type": n.kind, "disabled": True}) if n.id == "b" else n for n in half.nodes]  # fmt: skip

    problems = validate(replace(half, nodes=tuple(nodes)), KINDS)

    assert [(one.code, one.node, one.is_error) for one in problems] == [
        ("reference.disabled_node", "c", False)
    ]


async def test_start_can_not_be_switched_off() -> None:
    whole = off(chain(), "start")

    assert (await run_plan(whole, inputs={"q": "1"})).outputs == {"o": "c(b(a(1)))"}
    assert [one.code for one in validate(whole, KINDS)] == ["node.disabled_start"]
