"""A short plan of a workflow: steps one after the other, of which the last one may lead to branches."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workflows.engine.language.document import Mode


MAX_STEPS: Final = 6  # without those of branches
MAX_BRANCHES: Final = 4


class StepKind(StrEnum):
    """The kinds of nodes that a step can become."""

    LLM = "llm"
    KNOWLEDGE = "knowledge-retrieval"
    HTTP = "http-request"
    CODE = "code"
    CLASSIFIER = "question-classifier"  # has a branch for each class
    CONDITION = "if-else"  # has a branch for texts that contain a word, and one for others


@dataclass(frozen=True, slots=True)
class PlannedInput:
    """A field of the form that starts a workflow; a chat has none."""

    name: str
    label: str
    is_long: bool = True


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with the settings of its kind. One that asks the model without instructions has the default prompt."""

    title: str = ""
    instructions: str = ""
    kind: StepKind = StepKind.LLM
    url: str = ""  # of an HTTP request
    code: str = ""
    word: str = ""  # that a condition looks for
    branches: tuple["PlannedBranch", ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedBranch:
    """A branch with its steps. A condition has two: the first is taken if the text contains its word."""

    name: str
    steps: tuple[PlannedStep, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkflowPlan:
    """This says what a workflow does. If it remembers, it recalls memories for its first answers and stores facts."""

    mode: Mode = Mode.CHAT
    name: str = ""
    description: str = ""
    steps: tuple[PlannedStep, ...] = (PlannedStep(),)
    inputs: tuple[PlannedInput, ...] = ()
    remembers: bool = True
    opening: str = ""
    questions: tuple[str, ...] = ()
