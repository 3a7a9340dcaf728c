"""Request and response schemas of data sets and evaluations."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example


class DataSetIn(Body):
    model_config = with_example(name="Questions of customers")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=2_000)] = ""


class DataSetOut(Schema):
    """``workflow`` is set for the tests of a workflow, whose name follows that of the workflow."""

    id: UUID
    name: str = Field(validation_alias="title")
    description: str
    workflow: UUID | None = Field(validation_alias="workflow_id")
    cases: int = Field(validation_alias="case_count")
    created_at: datetime
    updated_at: datetime


class DataCaseIn(Body):
    """A case of one message or of inputs, or a whole ``case`` with memories, turns, persons and checks.

    ``expected`` is any JSON value; for the score "contains" it may be a list of texts. In a whole case it is a part of it.
    """

    model_config = with_example(query="When are you open?", expected="nine to five")

    query: Annotated[str, Field(max_length=100_000)] = ""
    inputs: dict[str, Any] = Field(default_factory=dict)
    expected: Any = None
    case: dict[str, Any] | None = None


class CasesIn(Body):
    model_config = with_example(cases=[{"query": "When are you open?", "expected": "nine to five"}])

    cases: Annotated[list[DataCaseIn], Field(min_length=1, max_length=1_000)]


class ImportIn(Body):
    """The text of a CSV or JSON Lines file."""

    model_config = with_example(
        text="query,expected\nWhen are you open?,nine to five\n", format="csv"
    )

    text: str
    format: Literal["csv", "jsonl"]


class RunCaseIn(Body):
    model_config = with_example(run="0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b")

    run: UUID


class DataCaseOut(Schema):
    """``case`` is the whole case; ``query`` and ``inputs`` are those of its last turn, whose answer is scored."""

    id: UUID
    name: str
    case: dict[str, Any] = Field(validation_alias="spec")
    query: str
    inputs: dict[str, Any]
    expected: Any


class EvaluationIn(Body):
    """``versions``: one or two of "draft" and numbers of versions. The last three fields are for the scorer "judge"."""

    model_config = with_example(
        workflow="0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b", versions=["draft"], scorer="contains"
    )

    workflow: UUID
    versions: Annotated[
        list[Annotated[str, Field(max_length=16)]], Field(min_length=1, max_length=2)
    ] = ["draft"]
    scorer: Literal["exact", "contains", "json_subset", "json_equal", "judge"] = "exact"
    output: Annotated[
        str, Field(max_length=255, description="The scored output; empty for the answer.")
    ] = ""
    offline: bool = False
    provider: Annotated[str, Field(max_length=255)] = ""
    model: Annotated[str, Field(max_length=255)] = ""
    criteria: Annotated[str, Field(max_length=2_000)] = ""


class GateIn(Body):
    """``data_set`` is one of the team; with ``tests`` it is the workflow's own tests. Neither lifts the condition."""

    model_config = with_example(tests=True)

    data_set: UUID | None = None
    tests: bool = False


class GateOut(Schema):
    """``data_set`` is the set whose cases must pass before the workflow is published, or null."""

    data_set: UUID | None = Field(validation_alias="must_pass_id")


class EvaluationOut(Schema):
    """``summary`` has the numbers of each version, by "0" and "1"; a case without a score isn't in the mean."""

    id: UUID
    data_set: UUID = Field(validation_alias="data_set_id")
    workflow: UUID = Field(validation_alias="workflow_id")
    version: str = Field(validation_alias="label")
    other_version: str = Field(validation_alias="other_label")
    scorer: str
    output: str
    offline: bool
    status: Literal["running", "finished", "stopped"]
    summary: dict[str, dict[str, Any]]
    created_at: datetime
    finished_at: datetime | None


class EvaluationResultOut(Schema):
    """The result of a case. ``side``: 0 for the first version, 1 for the second."""

    case: UUID = Field(validation_alias="case_id")
    side: int
    status: Literal["queued", "running", "done", "stopped"]
    has_passed: bool
    answer: Any
    score: float | None
    reason: str
    problem: str
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


class EvaluationDetailOut(EvaluationOut):
    results: list[EvaluationResultOut]
