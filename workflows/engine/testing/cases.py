"""Test cases: the messages or inputs of each turn, the memories before the first one, and what is expected.

A case is data, stored as JSON in the set of a workflow or of a team, or as YAML next to a document:

    name: It knows her again
    memories: [{scope: user, key: diet, value: no peanuts}]
    turns:
      - say: What should I avoid?
        person: ana
        conversation: second
        checks:
          - {of: output.answer, operator: contains, value: peanuts}
          - {of: step.recall.status, operator: is, value: succeeded}
    expected: No peanuts

Checks hold or don't. The expected answer of the last turn is scored from 0 to 1 by the way that an evaluation chooses.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from workflows.engine.errors import DocumentInvalid, EngineFault
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


MAX_TURNS: Final = 50
MAX_NAME: Final = 200
PERSON: Final = "somebody"
CONVERSATION: Final = "first"

# The subjects of a check; the rest of ``of`` is a path inside the subject.
SUBJECTS: Final = (
    *("output", "step", "recalled", "written", "answer"),
    *("status", "error", "seconds", "tokens"),
)


class _CaseModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(_CaseModel):
    """A condition that must hold. ``recalled`` and ``written`` are strings, one for each memory."""

    of: str
    operator: str = "contains"
    value: Json = None

    @field_validator("of")
    @classmethod
    def _check_subject(cls, value: str) -> str:
        if value.split(".", 1)[0] not in SUBJECTS:
            raise ValueError(f"must start with one of {', '.join(SUBJECTS)}")
        return value

    @field_validator("operator")
    @classmethod
    def _check_operator(cls, value: str) -> str:
        name = normalize_operator(value)
        if name is None:
            raise ValueError(f"must be one of {', '.join(OPERATORS)}")
        return name

    @model_validator(mode="after")
    def _check_value(self) -> "Check":
        if self.operator not in UNARY and self.value is None:
            raise ValueError("value: this operator needs a value")
        return self

    @property
    def sentence(self) -> str:
        expected = "" if self.operator in UNARY else f" {_shorten(self.value)}"
        return f"{self.of} {self.operator}{expected}"


class FormAnswer(_CaseModel):
    """What a person answers when the run waits, or that nobody answers in time."""

    values: dict[str, Json] = Field(default_factory=dict)
    action: str = Field("", max_length=80)
    is_timed_out: bool = False


class Turn(_CaseModel):
    """One run: a message in a chat, or the inputs of a workflow, and the answers to its forms in their order."""

    say: str | None = None
    inputs: dict[str, Json] = Field(default_factory=dict)
    person: str = Field(PERSON, max_length=80)
    conversation: str = Field(CONVERSATION, max_length=80)
    group: str = Field("", max_length=80)  # whose memory of the workflow the run shares
    answers: tuple[FormAnswer, ...] = ()
    checks: tuple[Check, ...] = ()


class Seed(_CaseModel):
    """A memory that exists before the first turn. In the category "page" its value is a knowledge page."""

    scope: str = "user"
    person: str = PERSON
    conversation: str = CONVERSATION
    key: str
    value: Json
    metadata: dict[str, Json] = Field(default_factory=dict)

    @property
    def is_page(self) -> bool:
        return self.metadata.get("category") == "page" and isinstance(self.value, dict)


class Case(_CaseModel):
    name: str = Field(min_length=1, max_length=MAX_NAME)
    turns: tuple[Turn, ...]
    memories: tuple[Seed, ...] = ()
    variables: dict[str, Json] = Field(default_factory=dict)  # of the conversation, at first
    pins: dict[str, dict[str, Json]] = Field(default_factory=dict)  # node → mock, see ``mocks``
    expected: Json = None  # the answer of the last turn; for "contains" it may be a list of texts

    @property
    def has_checks(self) -> bool:
        return any(turn.checks for turn in self.turns)

    @field_validator("turns")
    @classmethod
    def _check_turn_count(cls, value: tuple[Turn, ...]) -> tuple[Turn, ...]:
        if not 1 <= len(value) <= MAX_TURNS:
            raise ValueError(f"must have 1 to {MAX_TURNS} turns")
        return value


@dataclass(frozen=True, slots=True)
class Facts:
    """The result of one run, as checks see it."""

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
    """The result of a check; ``actual`` is shortened for display."""

    check: str
    ok: bool
    actual: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TurnResult:
    facts: Facts
    findings: tuple[Finding, ...] = ()

    @property
    def has_passed(self) -> bool:
        return all(finding.ok for finding in self.findings)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case. ``problem`` is the reason if it could not be run to its end."""

    name: str
    turns: tuple[TurnResult, ...] = ()
    problem: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def has_passed(self) -> bool:
        return not self.problem and all(turn.has_passed for turn in self.turns)


def read_case(source: Json) -> Case:
    """Return a case. Raises DocumentInvalid with a problem for every invalid field."""
    if isinstance(source, Mapping) and "turns" not in source:
        source = _wrap_turn(source)
    try:
        return Case.model_validate(source)
    except ValidationError as invalid:
        raise DocumentInvalid(
            Problem(
                "case." + error["type"],
                error["msg"].removeprefix("Value error, "),
                field=".".join(map(str, error["loc"])) or None,
            )
            for error in invalid.errors(include_url=False, include_context=False)
        ) from None


def build_simple_case(
    say: str = "", inputs: Mapping[str, Json] | None = None, expected: Json = None, name: str = ""
) -> Case:
    """Return a case of one message or of inputs; without a name it is called by them."""
    message = say.strip()
    turn = Turn(say=message or None, inputs=dict(inputs or {}))
    title = name or message or _shorten(dict(inputs or {}), MAX_NAME)
    return Case(name=_shorten(title, MAX_NAME), turns=(turn,), expected=expected)


def read_cases(sources: Json) -> list[Case]:
    """Return the cases of a list, or a single case as a list. Raises DocumentInvalid."""
    if not isinstance(sources, list):
        sources = [sources]
    return [read_case(item) for item in sources]


def evaluate_turn(turn: Turn, facts: Facts) -> TurnResult:
    """Evaluate every check of a turn; without checks, the run must have succeeded."""
    checks = turn.checks or (Check(of="status", operator="in", value=["succeeded"]),)
    return TurnResult(facts, tuple(_evaluate_check(check, facts) for check in checks))


def _evaluate_check(check: Check, facts: Facts) -> Finding:
    actual = _look_up(check.of, facts)
    try:
        ok = _is_met(check, actual)
    except EngineFault as fault:
        return Finding(check.sentence, ok=False, actual=_shorten(actual), problem=fault.message)
    return Finding(check.sentence, ok=ok, actual=_shorten(actual))


def _is_met(check: Check, actual: Json) -> bool:
    if isinstance(actual, _Texts):
        return _is_met_by_texts(check, actual)
    return compare(check.operator, actual, convert_expected(actual, check.value))


def _is_met_by_texts(check: Check, texts: "_Texts") -> bool:
    """Return whether a check holds for any of the strings or, if its operator is a negation, for all of them."""
    if check.operator in UNARY:
        return compare(check.operator, list(texts), None)
    is_negation = check.operator.startswith("not ") or check.operator == "is not"
    results = [compare(check.operator, text, check.value) for text in texts]
    return all(results) if is_negation else any(results)


class _Texts(tuple[str, ...]):
    """Several strings, which ``_is_met_by_texts`` compares one by one."""


def _look_up(subject: str, facts: Facts) -> Json:
    head, _dot, path = subject.partition(".")
    match head:
        case "output":
            return _follow_path(facts.outputs, path)
        case "answer":
            return facts.outputs.get("answer", facts.stream)
        case "step":
            return _look_up_step(path, facts.steps)
        case "recalled" | "written":
            texts = getattr(facts, head)
            return len(texts) if path == "count" else _Texts(texts)
    return getattr(facts, head)


def _look_up_step(path: str, steps: Iterable[StepRecord]) -> Json:
    """Return a value of a node's last execution, by a path such as ``node.status`` or ``node.outputs.text``."""
    node, _dot, rest = path.partition(".")
    executions = [step for step in steps if step.key.node_id == node]
    if not executions:
        return None
    step = executions[-1]
    head, _dot, inner = rest.partition(".")
    values: dict[str, Json] = {
        "": step.status.value,
        "status": step.status.value,
        "handle": step.handle,
        "error": step.error.message if step.error else None,
        "count": len(executions),
    }
    if head in values:
        return values[head]
    if head in ("outputs", "inputs"):
        return _follow_path(getattr(step, head), inner)
    return _follow_path(step.outputs, rest)


def _follow_path(value: Json, path: str) -> Json:
    for part in filter(None, path.split(".")):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _wrap_turn(source: Mapping[str, Json]) -> dict[str, Json]:
    """Return a case of one turn, which may be written without the list of turns, with this list."""
    turn = {key: source[key] for key in Turn.model_fields if key in source}
    rest = {key: value for key, value in source.items() if key not in turn}
    return {**rest, "turns": [turn]}


def _shorten(value: Json, max_length: int = 200) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
