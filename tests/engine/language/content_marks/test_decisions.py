"""What outside text decides beside the branches: which rounds there are, what a failure leaves, and what didn't run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.language.test_untrusted import ASK, WEB, Page, found
from tests.support.cases import for_each
from tests.support.documents import (
    assign,
    branch,
    change,
    document,
    end,
    inside,
    iteration,
    llm,
    loop,
    node,
    template,
)
from workflows.engine.language.content_marks.untrusted import ContentFlow, select_carried_over
from workflows.engine.language.document import Document
from workflows.engine.nodes import build_kinds


READS = template("reads", "{{ a }}", a=["web", "text"])
OWN = template("own", "x")
SURVIVES: dict[str, Any] = {"error_handle_mode": "continue-on-error"}
HANDLES: dict[str, Any] = {"error_strategy": "default-value"}
STOP = node("stop", "loop-end")


def build(container: Any, body: Sequence[Any], edges: Sequence[str]) -> Document:
    """The start, the page, and the container with this body behind it."""
    nodes = [ASK, WEB, *inside(container, *body)]
    return document(nodes, ["start -> web", f"web -> {container.id}", *edges])


def build_iteration(**data: Any) -> Document:
    """Rounds over the person's list, in which a node that reads the page may fail in front of another one."""
    rounds = iteration("it", ["start", "q"], ["own", "output"], **data)
    return build(rounds, [READS, OWN], ["itstart -> reads", "reads -> own"])


@for_each("data", [SURVIVES, {"error_handle_mode": "remove-abnormal-output"}, HANDLES])
def test_failed_round_after_which_a_run_goes_on_decides_what_is_behind_and_what_rounds_give(
    data: dict[str, Any],
) -> None:
    assert {"own#chosen", "own", "it"} <= found(build_iteration(**data))


def test_failed_round_that_ends_the_run_decides_nothing_in_it() -> None:
    assert found(build_iteration()) == {"web", "reads"}


def test_failure_decides_nothing_in_front_of_its_node_if_other_rounds_go_on() -> None:
    rounds = iteration("it", ["start", "q"], ["own", "output"], **SURVIVES)
    made = build(rounds, [OWN, READS], ["itstart -> own", "own -> reads"])

    assert "own#chosen" not in found(made)


def test_failure_in_a_loop_that_is_handled_decides_about_the_rounds_that_would_follow() -> None:
    made = build(loop("lo", 3, **HANDLES), [OWN, READS], ["lostart -> own", "own -> reads"])

    assert "own#chosen" in found(made)


def test_node_with_outputs_for_its_failure_loses_no_round() -> None:
    handled = replace(READS, data={**READS.data, **HANDLES})
    rounds = iteration("it", ["start", "q"], ["own", "output"], **SURVIVES)
    made = build(rounds, [handled, OWN], ["itstart -> reads", "reads -> own"])

    assert "own#chosen" not in found(made)


LOOPS = {
    "a variable that it sets": build(
        loop("lo", 3, {"seen": ("string", "")}, [("seen", "is", "enough")]),
        [OWN, change("set", ["lo", "seen"], "over-write", ["web", "text"])],
        ["lostart -> own", "own -> set"],
    ),
    "a node inside": build(
        node("lo", "loop", loop_count=3, break_conditions=[
            {"variable_selector": ["reads", "output"], "comparison_operator": "is", "value": "x"}]),
        [OWN, READS],
        ["lostart -> own", "own -> reads"],
    ),
    "a branch to its end": build(
        loop("lo", 3),
        [OWN, branch("if", ["web", "text"], "enough"), STOP],
        ["lostart -> own", "own -> if", "if:true -> stop"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", LOOPS)
def test_outside_text_that_ends_a_loop_decides_about_all_that_is_in_it(way: str) -> None:
    assert "own#chosen" in found(LOOPS[way])


def test_loop_that_ends_by_the_persons_words_decides_freely() -> None:
    variables = {"seen": ("string", ("start", "q"))}
    made = build(
        loop("lo", 3, variables, [("seen", "is", "enough")]),
        [OWN, READS],
        ["lostart -> own", "own -> reads"],
    )

    assert "own#chosen" not in found(made)


# -- what didn't run -----------------------------------------------------------------------------


def build_flag(selector: list[str]) -> ContentFlow:
    made = document(
        [ASK, WEB, branch("if", selector, "x"),
         assign("set", "flag", "over-write", "yes", "constant"), end()],
        ["start -> web", "web -> if", "if:true -> set", "set -> end", "if:false -> end"],
        conversation={"flag": ("string", "no")},
    )  # fmt: skip
    return ContentFlow(made.nodes, build_kinds(plugins=[Page()]), made.edges)


@for_each("selector, expected", [(["web", "text"], ("conversation.flag",)), (["start", "q"], ())])
def test_variable_that_outside_text_left_as_it_was_is_marked_for_later_turns(
    selector: list[str], expected: tuple[str, ...]
) -> None:
    flow = build_flag(selector)

    left = flow.find_left(["start", "web", "if", "end"], ())

    assert select_carried_over(left) == expected


# -- names ---------------------------------------------------------------------------------------


@for_each("name", [["sys", "webhook_call", "body"], ["hook", "sys.webhook_call"]])
def test_call_of_a_webhook_that_a_node_reads_as_a_system_variable_is_from_outside(
    name: list[str],
) -> None:
    made = document(
        [ASK, template("t", "{{ a }}", a=name), template("own", "{{ a }}", a=["sys", "user_id"])],
        ["start -> t", "t -> own"],
    )
    flow = ContentFlow(made.nodes, build_kinds(), made.edges)

    assert flow.find_untrusted() & {"t", "own"} == {"t"}
    assert flow.find_left(["start", "t", "own"], ()) & {"t", "own"} == {"t"}


def test_question_that_is_named_as_an_output_of_the_start_is_followed() -> None:
    made = document([ASK, template("t", "{{ a }}", a=["other", "sys.query"])], ["start -> t"])

    assert "t" in ContentFlow(made.nodes, build_kinds(), made.edges).find_untrusted({"sys"})


def test_node_whose_id_is_written_as_a_number_is_followed() -> None:
    page = node("17", "web-page")
    repeated = node("lo", "loop", loop_count=1, loop_variables=[
        {"label": "x", "var_type": "string", "value_type": "variable", "value": [17, "text"]}])  # fmt: skip
    made = document(
        [ASK, page, *inside(repeated, llm("say", ("user", "{{#lo.x#}}")))],
        ["start -> 17", "17 -> lo", "lostart -> say"],
    )

    assert {"lo", "say"} <= found(made)
