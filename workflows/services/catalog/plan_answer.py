"""What a model is told about plans of workflows, and the plan that is read from its answer."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from django.utils.translation import get_language
from pydantic import BaseModel, Field, ValidationError, model_validator

from workflows.engine.language.document import Mode
from workflows.sandbox.checking import check_code
from workflows.services.catalog.plan import (
    MAX_BRANCHES,
    MAX_STEPS,
    PlannedBranch,
    PlannedInput,
    PlannedStep,
    StepKind,
    WorkflowPlan,
)


_LANGUAGES: Final = {"zh-hans": "Simplified Chinese"}
_INSTRUCTIONS: Final = """\
You plan small workflows for an editor. Answer with one JSON object and nothing else:
{{"name": "up to five words", "description": "one sentence", "kind": "chat" or "form",
"inputs": [{{"name": "lower_case_name", "label": "Label"}}], "remembers": true or false,
"steps": [step, ...], "opening": "first message of a chat", "questions": ["a question to try"]}}
A chat answers messages and has no inputs. A form takes inputs and returns one text. Each step has a "type" and a "title" of two or
three words, and passes its text on to the next one:
{{"type": "llm", "instructions": "the system prompt"}} asks a language model.
{{"type": "knowledge"}} searches the team's knowledge pages for the text, for the next "llm" step.
{{"type": "http", "url": "https://..."}} sends a GET request and passes its response on.
{{"type": "code", "code": "def main(text: str) -> dict:\\n    return {{\\"result\\": text.upper()}}"}} runs plain Python; "result" is a text.
{{"type": "classify", "branches": [{{"name": "Billing questions", "steps": [step, ...]}}, ...]}} lets a model choose a branch.
{{"type": "condition", "word": "refund", "branches": [{{"name": "with the word", "steps": [...]}}, {{"name": "without", "steps": [...]}}]}}
Only the last step may have branches, {branches} at most, and their steps have none. Use "knowledge", "http", "code", "classify" and
"condition" only where the description asks for it, and "llm" for the rest: one step unless the task needs more, {most} at most.
"remembers" is true if what a person says should be known in later conversations. Write all texts in {language}."""
# What the answer calls a step, and its kind.
_KINDS: Final = {
    "llm": StepKind.LLM,
    "knowledge": StepKind.KNOWLEDGE,
    "http": StepKind.HTTP,
    "code": StepKind.CODE,
    "classify": StepKind.CLASSIFIER,
    "condition": StepKind.CONDITION,
}


class _Input(BaseModel):
    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,39}$")
    label: str = Field(default="", max_length=80)


class _SimpleStep(BaseModel):
    """A step without branches."""

    type: str = Field(default="llm", pattern="^(llm|knowledge|http|code)$")
    title: str = Field(default="", max_length=80)
    instructions: str = Field(default="", max_length=8_000)
    url: str = Field(default="", max_length=2_000)
    code: str = Field(default="", max_length=8_000)

    @model_validator(mode="after")
    def _check_settings(self) -> "_SimpleStep":
        if check := _SETTING_CHECKS.get(self.type):
            check(self)
        return self


class _Branch(BaseModel):
    name: str = Field(min_length=1, max_length=200)
    steps: list[_SimpleStep] = Field(default_factory=list, max_length=MAX_STEPS)


class _BranchingStep(BaseModel):
    type: str = Field(pattern="^(classify|condition)$")
    title: str = Field(default="", max_length=80)
    word: str = Field(default="", max_length=200)
    branches: list[_Branch] = Field(min_length=2, max_length=MAX_BRANCHES)

    @model_validator(mode="after")
    def _check_condition(self) -> "_BranchingStep":
        if self.type == "condition" and (not self.word.strip() or len(self.branches) != 2):
            raise ValueError("A condition needs a word and two branches.")
        return self


class _Answer(BaseModel):
    """The plan as the model writes it, without its steps."""

    name: str = Field(min_length=1, max_length=120)
    description: str = Field(default="", max_length=500)
    kind: str = Field(pattern="^(chat|form)$")
    inputs: list[_Input] = Field(default_factory=list, max_length=8)
    remembers: bool = True
    steps: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_STEPS)
    opening: str = Field(default="", max_length=500)
    questions: list[str] = Field(default_factory=list, max_length=4)


def build_instructions() -> str:
    language = _LANGUAGES.get((get_language() or "").lower(), "English")
    return _INSTRUCTIONS.format(most=MAX_STEPS, branches=MAX_BRANCHES, language=language)


def read_plan(answer: str, name: str, *, drops_invalid_steps: bool = False) -> WorkflowPlan:
    """Return the plan of an answer. Raises ValueError with what is wrong with it, for the model to repair."""
    try:
        content = json.loads(_cut_object(answer))
    except (ValueError, RecursionError):
        raise ValueError("The answer is not one JSON object.") from None
    try:
        plan = _Answer.model_validate(content)
        steps = _read_steps(plan.steps, drops_invalid_steps)
    except ValidationError as invalid:
        messages = [error["msg"] for error in invalid.errors(include_url=False)]
        raise ValueError(str(messages[:5])) from None
    return _build_plan(plan, steps, name)


def keep_model_steps(steps: Sequence[PlannedStep]) -> tuple[PlannedStep, ...]:
    """Return only the steps that ask a model, or one with the default prompt."""
    return tuple(step for step in steps if step.kind is StepKind.LLM) or (PlannedStep(),)


def _cut_object(answer: str) -> str:
    """Return the JSON object in the answer, without a code fence or words around it."""
    return answer[answer.find("{") : answer.rfind("}") + 1]


def _read_steps(
    rows: Sequence[dict[str, Any]], drops_invalid: bool
) -> list[_SimpleStep | _BranchingStep]:
    steps: list[_SimpleStep | _BranchingStep] = []
    for position, row in enumerate(rows, 1):
        is_branching = row.get("type") in ("classify", "condition") and position == len(rows)
        model: type[_SimpleStep] | type[_BranchingStep] = (
            _BranchingStep if is_branching else _SimpleStep
        )
        try:
            steps.append(model.model_validate(row))
        except ValidationError:
            is_only_one = position == len(rows) and not steps
            if not drops_invalid or is_only_one:
                raise
    return steps


def _build_plan(
    answer: _Answer, steps: Sequence[_SimpleStep | _BranchingStep], name: str
) -> WorkflowPlan:
    is_chat = answer.kind == "chat"
    plan = WorkflowPlan(
        mode=Mode.CHAT if is_chat else Mode.WORKFLOW,
        name=name or answer.name,
        description=answer.description,
        steps=tuple(map(_build_step, steps)),
        inputs=tuple(PlannedInput(item.name, item.label or item.name) for item in answer.inputs),
        remembers=answer.remembers,
    )
    if not is_chat:
        return plan
    return replace(plan, inputs=(), opening=answer.opening, questions=tuple(answer.questions))


def _build_step(step: _SimpleStep | _BranchingStep) -> PlannedStep:
    planned = PlannedStep(title=step.title, kind=_KINDS[step.type])
    if isinstance(step, _BranchingStep):
        branches = tuple(
            PlannedBranch(branch.name, tuple(map(_build_step, branch.steps)))
            for branch in step.branches
        )
        return replace(planned, word=_quote(step.word), branches=branches)
    instructions = _quote(step.instructions)
    return replace(planned, instructions=instructions, url=_quote(step.url), code=step.code)


def _quote(text: str) -> str:
    """Return the text without references: what the model wrote must not name variables that don't exist."""
    return text.replace("{{", "{ {").replace("}}", "} }")


def _check_instructions(step: _SimpleStep) -> None:
    if not step.instructions.strip():
        raise ValueError("A step of the type llm needs instructions.")


def _check_url(step: _SimpleStep) -> None:
    if not step.url.startswith(("https://", "http://")) or any(map(str.isspace, step.url)):
        raise ValueError("A step of the type http needs the url of a web server.")


def _check_program(step: _SimpleStep) -> None:
    problems = check_code(step.code) if step.code.strip() else []
    if problems:
        raise ValueError(f"Line {problems[0].line} of the code: {problems[0].message}")
    if "def main(text" not in step.code or "result" not in step.code:
        raise ValueError('The code needs a function main(text) that returns {"result": ...}.')


_SETTING_CHECKS: Final[dict[str, Callable[[_SimpleStep], None]]] = {
    "llm": _check_instructions,
    "http": _check_url,
    "code": _check_program,
}
