"""The mark of outside text on ways that a document doesn't spell out: the values of rounds, and a chat's own question."""

from dataclasses import replace
from typing import Any

from memory.core.records import Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.language.test_untrusted import ASK, SYSTEM, WEB, Page, found, path
from tests.support.cases import for_each
from tests.support.documents import change, document, end, inside, llm, node, start, template
from workflows.engine.language.content_marks.untrusted import ContentFlow, has_untrusted_source
from workflows.engine.language.document import Mode
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


WHILE = {"variable_selector": ["loop", "n"], "comparison_operator": "less_than", "value": 2}
REPEAT = node("lp", "loop", condition=WHILE, initial_vars={"note": "mine", "n": 0})
FOLD = node(
    "it", "iteration", iterator_selector=["start", "q"], operation="reduce", output_variable="all"
)
SCOPE = "__scope__"


@for_each(
    "container, source, output",
    [
        (REPEAT, ["loop", "note"], ["lp", "output"]),
        (REPEAT, ["lp", "note"], ["lp", "output"]),
        (FOLD, [SCOPE, "accumulator"], ["it", "all"]),
    ],
)
def test_what_a_round_leaves_to_the_next_one_is_followed(
    container: Any, source: list[str], output: list[str]
) -> None:
    """In bodies with an End, rounds read it under names that no node has."""
    keeps = template("keeps", "{{ a }}", a=source)
    body = [keeps, WEB, end("done", note=["web", "text"], n=[SCOPE, "_iteration"])]
    made = path(ASK, *inside(container, *body), template("t", "{{ a }}", a=output))

    marked = found(made)

    assert {"keeps", container.id, "t"} <= marked
    assert has_untrusted_source([tuple(source)], marked)


@for_each("source", [["loop", "note"], ["lp", "note"]])
def test_what_an_assigner_leaves_to_the_next_round_is_followed(source: list[str]) -> None:
    keeps = template("keeps", "{{ a }}", a=source)
    body = [keeps, WEB, change("a", ["loop", "note"], "over-write", ["web", "text"])]
    condition = {**WHILE, "variable_selector": ["lp", "n"]}
    repeat = node("lp", "loop", condition=condition, initial_vars={"note": "mine", "n": 0})
    made = path(ASK, *inside(repeat, *body), template("t", "{{ a }}", a=["lp", "output"]))

    assert {"keeps", "lp", "t"} <= found(made)


def test_rounds_that_leave_nothing_of_the_web_stay_clean() -> None:
    keeps = template("keeps", "{{ a }}", a=["loop", "note"])
    body = [keeps, end("done", note=["keeps", "output"])]

    assert found(path(ASK, *inside(REPEAT, *body), WEB)) == {"web"}


async def test_loop_stores_nothing_of_the_web_that_its_round_before_has_read() -> None:
    keeps = node("s", "memory-store", scope="user", key="k", value_selector=["loop", "note"])
    body = [keeps, WEB, end("done", note=["web", "text"], n=[SCOPE, "_iteration"])]
    made = path(ASK, *inside(REPEAT, *body))
    edges = ["lpstart -> s", "s -> web", "web -> done"]
    inner = document([], edges).edges
    made = replace(made, edges=(*made.edges, *(replace(e, id=f"i{e.id}") for e in inner)))
    memory = InMemoryProvider()

    result = await WorkflowRunner(made, memory=memory, plugins=[Page()]).run(
        inputs={"q": "Tea opens at nine"}, system=SYSTEM
    )

    assert result.status is RunStatus.SUCCEEDED, result.error
    values = {entry.value: entry.tier for entry in memory.living("user:mia").values()}
    assert values.get("Tea opens at nine") in (None, Tier.QUARANTINE), values


@for_each(
    "reader",
    [
        node("say", "agent", model={"provider": "p", "name": "m", "mode": "chat"}),
        llm("say", ("system", "Be kind"), memory={"window": {"enabled": True, "size": 4}}),
        llm("say", ("user", "{{#sys.query#}}")),
    ],
)
def test_question_is_followed_to_those_that_read_it_without_naming_it(reader: Any) -> None:
    """The question of a chat that another workflow calls may be text from outside."""
    made = path(start(), reader, template("t", "{{ a }}", a=["say", "text"]), mode=Mode.CHAT)

    flow = ContentFlow(made.nodes, build_kinds(), made.edges)

    assert {"say", "t"} <= flow.find_untrusted({"sys"})
    assert flow.find_untrusted() == frozenset()
