"""The step of an If/else: what it compared, for the case that matched and for the Else branch."""

from typing import Any

import pytest

from tests.support.documents import document, node, start
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import StepRecord


def condition(value: str, operator: str = "is") -> dict[str, Any]:
    return {
        "variable_selector": ["start", "q"],
        "comparison_operator": operator,
        "value": value,
    }


CASES = [
    {"case_id": "one", "logical_operator": "and", "conditions": [condition("a"), condition("x")]},
    {
        "case_id": "two",
        "logical_operator": "or",
        "conditions": [condition("b"), condition("", "empty"), condition("c")],
    },
]


async def branch(q: str) -> StepRecord:
    drawn = document([start("q"), node("which", "if-else", cases=CASES)], ["start -> which"])
    result = await WorkflowRunner(drawn).run(inputs={"q": q})
    (step,) = [step for step in result.steps if step.key.node_id == "which"]
    return step


@pytest.mark.parametrize(
    ("q", "case", "compared"),
    [
        # Each row is a case, an operator, the expected value, and whether it holds; the last one decides.
        ("b", "two", [(1, "is", "a", False), (2, "is", "b", True)]),
        ("a", "false", [(1, "is", "a", True), (1, "is", "x", False), (2, "is", "b", False),
                        (2, "empty", None, False), (2, "is", "c", False)]),
    ],
)  # fmt: skip
async def test_step_records_what_it_compared(q: str, case: str, compared: list[Any]) -> None:
    step = await branch(q)

    rows = step.inputs["compared"]
    assert [
        (row["case"], row["comparison_operator"], row["expected_value"], row["result"])
        for row in rows
    ] == compared
    assert {row["actual_value"] for row in rows} == {q}
    assert step.outputs == {"result": case != "false", "selected_case_id": case}


async def test_of_a_long_value_only_the_length_is_recorded() -> None:
    # A part of it could end within a secret, which is only masked as a whole.
    row = (await branch("y" * 501)).inputs["compared"][0]

    assert row["actual_value_length"] == 501
    assert "actual_value" not in row
