"""The scheduler against the plainest reading of the rule, on random graphs."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.documents import branch, document, end, node, start
from workflows.engine.language.document import Document
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.scheduler import EdgeState, Scheduler


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Document, list[bool]]:
    """Node 0 is the start; every third node branches; edges only lead onwards."""
    size = draw(st.integers(2, 12))
    made = [start()]
    for index in range(1, size):
        name = f"n{index}"
        made.append(branch(name, ["start", "q"], "x") if index % 3 == 0
                    else node(name, "template-transform", template="t"))  # fmt: skip
    edges = []
    for target in range(1, size):
        for source in draw(st.sets(st.integers(0, target - 1), min_size=1, max_size=3)):
            name = "start" if source == 0 else f"n{source}"
            handle = draw(st.sampled_from(["true", "false"])) if source and source % 3 == 0 else ""
            edges.append(f"{name}{':' + handle if handle else ''} -> n{target}")
    choices = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return document(made, edges), choices


def naive(plan, choices):
    """Look at everything again and again until nothing changes."""
    edges = [EdgeState.UNKNOWN] * len(plan.edges)
    done = {plan.root}
    skipped: set[int] = set()
    changed = True
    first = True
    while changed:
        changed = False
        for one in plan.nodes:
            into = [edges[edge.index] for edge in plan.edges if edge.target == one.index]
            if one.index not in done | skipped and into and EdgeState.UNKNOWN not in into:
                (done if EdgeState.TAKEN in into else skipped).add(one.index)
                changed = True
        for edge in plan.edges:
            if edges[edge.index] is not EdgeState.UNKNOWN:
                continue
            if edge.source in skipped:
                edges[edge.index], changed = EdgeState.SKIPPED, True
            elif edge.source in done:
                source = plan.nodes[edge.source]
                chosen = "true" if choices[edge.source] else "false"
                taken = not source.is_branching or edge.handle == chosen
                edges[edge.index] = EdgeState.TAKEN if taken else EdgeState.SKIPPED
                changed = True
        changed, first = changed or first, False
    return done, skipped, [int(edge) for edge in edges]


@given(graphs(), st.randoms())
def test_scheduler_any_order_agrees_with_the_naive_rule(made, random) -> None:
    graph, choices = made
    plan = compile_plan(graph, build_kinds())
    scheduler = Scheduler(plan)
    ready, done, skipped = [plan.root], set(), set()

    while ready:
        index = ready.pop(random.randrange(len(ready)))
        assert index not in done
        done.add(index)
        handle = "true" if choices[index] else "false"
        more, passed = scheduler.finish(index, handle)
        ready += more
        skipped |= set(passed)

    assert (done, skipped, list(scheduler.edges)) == naive(plan, choices)


def test_plan_node_no_path_leads_to_is_left_out() -> None:
    nodes = [start(), node("orphan", "template-transform"), end()]

    plan = compile_plan(document(nodes, ["start -> end", "orphan -> end"]), build_kinds())

    assert [one.id for one in plan.nodes] == ["start", "end"]
    assert plan.unreached == {"orphan"}
