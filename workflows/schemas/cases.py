"""Request and response schemas of the test cases API."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example
from workflows.models import EvaluationResult


class CaseIn(Body):
    """A test case in the format of the engine, which validates it and reports every invalid field.

    ``run`` is the run that it was made from, if any: the case is erased with the person for whom the run was.
    """

    model_config = with_example(
        case={"name": "Knows the town", "turns": [{"say": "I live in Bern."}]}
    )

    case: dict[str, Any]
    run: UUID | None = None


class RunCasesIn(Body):
    """The ids of the test cases to run, by default all; with ``wait_seconds`` the response waits for the results."""

    model_config = with_example(wait_seconds=30)

    cases: Annotated[list[UUID], Field(max_length=200)] | None = None
    offline: bool = False
    wait_seconds: Annotated[float, Field(ge=0, le=120)] = 0.0


class ResultOut(Schema):
    """The result of a case. ``problem`` says why a case could not be run, and ``reason`` why its score is below 1."""

    id: UUID
    case_id: UUID
    status: Literal["queued", "running", "passed", "failed", "stopped"]
    queued_at: datetime
    finished_at: datetime | None
    elapsed: float | None
    score: float | None
    reason: str
    problem: str
    detail: dict[str, Any]

    @staticmethod
    def resolve_status(result: EvaluationResult) -> str:
        return result.verdict.value

    @staticmethod
    def resolve_queued_at(result: EvaluationResult) -> datetime:
        return result.evaluation.created_at


class CaseOut(Schema):
    id: UUID
    name: str
    case: dict[str, Any]
    updated_at: datetime
    last: ResultOut | None
