"""Saved test cases: what somebody says or puts in, turn by turn, and what must come of it.

A case is data, kept as JSON with its workflow or as YAML beside a document:

    name: It knows her again
    memories: [{scope: user, key: diet, value: no peanuts}]
    turns:
      - say: What should I avoid?
        person: ana
        conversation: second
        checks:
          - {of: output.answer, operator: contains, value: peanuts}
          - {of: step.recall.status, operator: is, value: succeeded}
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from workflows.engine.errors import DocumentInvalid, WorkflowFault
from workflows.engine.language.comparisons import (
    OPERATORS,
    UNARY,
    compare,
    convert_expected,
    normalize_operator,
)
from workflows.engine.language.document import Json
from workflows.engine.language.problems import Problem
from workflows.engine.runtime.step_records import StepRecord


MOST_TURNS: Final = 50
PERSON: Final = "somebody"
CONVERSATION: Final = "first"

# What a check may look at; the rest of ``of`` is a path inside it.
SUBJECTS: Final = (
    "output",
    "step",
    "recalled",
    "written",
    "answer",
    "status",
    "error",
    "seconds",
    "tokens",
)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(_Part):
    """One thing that must be so. ``recalled`` and ``written`` are texts, one a memory."""

    of: str
    operator: str = "contains"
    value: Json = None

    @field_validator("of")
    @classmethod
    def _of_something(cls, given: str) -> str:
        if given.split(".", 1)[0] not in SUBJECTS:
            raise ValueError(f"must start with one of {', '.join(SUBJECTS)}")
        return given

    @field_validator("operator")
    @classmethod
    def _known(cls, given: str) -> str:
        name = normalize_operator(given)
        if name is None:
            raise ValueError(f"must be one of {', '.join(OPERATORS)}")
        return name

    @model_validator(mode="after")
    def _expects(self) -> "Check":
        if self.operator not in UNARY and self.value is None:
            raise ValueError("value: this operator needs a value")
        return self

    @property
    def sentence(self) -> str:
        expected = "" if self.operator in UNARY else f" {_short(self.value)}"
        return f"{self.of} {self.operator}{expected}"


class Turn(_Part):
    """One run: a message in a chat, or the inputs of a workflow."""

    say: str | None = None
    inputs: dict[str, Json] = Field(default_factory=dict)
    person: str = Field(PERSON, max_length=80)
    conversation: str = Field(CONVERSATION, max_length=80)
    checks: tuple[Check, ...] = ()


class Seed(_Part):
    """A memory that is there before the first turn. Of the category "page" its value is a knowledge page."""

    scope: str = "user"
    person: str = PERSON
    conversation: str = CONVERSATION
    key: str
    value: Json
    metadata: dict[str, Json] = Field(default_factory=dict)

    @property
    def is_page(self) -> bool:
        return self.metadata.get("category") == "page" and isinstance(self.value, dict)


class Case(_Part):
    name: str = Field(min_length=1, max_length=200)
    turns: tuple[Turn, ...]
    memories: tuple[Seed, ...] = ()
    variables: dict[str, Json] = Field(
        default_factory=dict
    )  # of the conversation, at its beginning
    pins: dict[str, dict[str, Json]] = Field(default_factory=dict)  # node → mock, see ``mocks``

    @field_validator("turns")
    @classmethod
    def _some(cls, given: tuple[Turn, ...]) -> tuple[Turn, ...]:
        if not 1 <= len(given) <= MOST_TURNS:
            raise ValueError(f"must have 1 to {MOST_TURNS} turns")
        return given


@dataclass(frozen=True, slots=True)
class Facts:
    """What one run gave, as checks see it."""

    status: str
    outputs: Mapping[str, Json]
    error: str = ""
    steps: Sequence[StepRecord] = ()
    recalled: Sequence[str] = ()
    written: Sequence[str] = ()
    stream: str = ""
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """A check and what came of it; ``actual`` is shortened for people."""

    check: str
    ok: bool
    actual: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TurnResult:
    facts: Facts
    findings: tuple[Finding, ...] = ()

    @property
    def passed(self) -> bool:
        return all(finding.ok for finding in self.findings)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """``problem`` says why the case could not be run to its end at all."""

    name: str
    turns: tuple[TurnResult, ...] = ()
    problem: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def passed(self) -> bool:
        return not self.problem and all(turn.passed for turn in self.turns)


def read_case(written: Json) -> Case:
    """Raises DocumentInvalid with a problem for every field that isn't as it should be."""
    if isinstance(written, Mapping) and "turns" not in written:
        written = _one_turn(written)
    try:
        return Case.model_validate(written)
    except ValidationError as invalid:
        raise DocumentInvalid(
            Problem(
                "case." + error["type"],
                error["msg"].removeprefix("Value error, "),
                field=".".join(map(str, error["loc"])) or None,
            )
            for error in invalid.errors(include_url=False, include_context=False)
        ) from None


def read_cases(written: Json) -> list[Case]:
    """A list of cases, or one; raises DocumentInvalid."""
    if not isinstance(written, list):
        written = [written]
    return [read_case(item) for item in written]


def judge(turn: Turn, facts: Facts) -> TurnResult:
    """Every check of a turn; without any, the run must simply have succeeded."""
    checks = turn.checks or (Check(of="status", operator="in", value=["succeeded"]),)
    return TurnResult(facts, tuple(_finding(check, facts) for check in checks))


def _finding(check: Check, facts: Facts) -> Finding:
    found = _look_up(check.of, facts)
    try:
        ok = _holds(check, found)
    except WorkflowFault as fault:
        return Finding(check.sentence, ok=False, actual=_short(found), problem=fault.message)
    return Finding(check.sentence, ok=ok, actual=_short(found))


def _holds(check: Check, found: Json) -> bool:
    if isinstance(found, _Texts):
        return _holds_of_texts(check, found)
    return compare(check.operator, found, convert_expected(found, check.value))


def _holds_of_texts(check: Check, found: "_Texts") -> bool:
    """ "Contains" asks whether one of them does; a negation, whether none does."""
    if check.operator in UNARY:
        return compare(check.operator, list(found), None)
    negated = check.operator.startswith("not ") or check.operator == "is not"
    answers = [compare(check.operator, text, check.value) for text in found]
    return all(answers) if negated else any(answers)


class _Texts(tuple[str, ...]):
    """Several texts of which one must do."""


def _look_up(of: str, facts: Facts) -> Json:
    head, _dot, path = of.partition(".")
    match head:
        case "output":
            return _walk(facts.outputs, path)
        case "answer":
            return facts.outputs.get("answer", facts.stream)
        case "step":
            return _of_step(path, facts.steps)
        case "recalled":
            return len(facts.recalled) if path == "count" else _Texts(facts.recalled)
        case "written":
            return len(facts.written) if path == "count" else _Texts(facts.written)
    return {
        "status": facts.status,
        "error": facts.error,
        "seconds": facts.seconds,
        "tokens": facts.tokens,
    }[head]


def _of_step(path: str, steps: Iterable[StepRecord]) -> Json:
    """``node.status``, ``node.handle``, ``node.error`` or ``node.outputs.…`` of its last execution."""
    node, _dot, rest = path.partition(".")
    found = [step for step in steps if step.key.node_id == node]
    if not found:
        return None
    step = found[-1]
    head, _dot, inner = rest.partition(".")
    known: dict[str, Json] = {
        "": step.status.value,
        "status": step.status.value,
        "handle": step.handle,
        "error": step.error.message if step.error else None,
        "count": len(found),
    }
    if head in known:
        return known[head]
    if head in ("outputs", "inputs"):
        return _walk(step.outputs if head == "outputs" else step.inputs, inner)
    return _walk(step.outputs, rest)


def _walk(value: Json, path: str) -> Json:
    for part in filter(None, path.split(".")):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _one_turn(written: Mapping[str, Json]) -> dict[str, Json]:
    """A case of one turn may be written without the list."""
    of_turn = {key: written[key] for key in Turn.model_fields if key in written}
    rest = {key: value for key, value in written.items() if key not in of_turn}
    return {**rest, "turns": [of_turn]}


def _short(value: Json, most: int = 200) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else text[: most - 1] + "…"
