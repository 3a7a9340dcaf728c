"""The record of a finished step: enough to continue from there after a crash."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workflows.engine.language.document import Json, Selector


class StepStatus(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXCEPTION = "exception"  # failed, and its error strategy handled the failure
    SKIPPED = "skipped"
    STOPPED = "stopped"
    PAUSED = "paused"


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial-succeeded"  # finished, but a node failure was handled on the way
    FAILED = "failed"
    STOPPED = "stopped"  # by a user
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class StepKey:
    """Identifies a step in every attempt: the node, and the rounds of the containers around it.

    ``part`` names one of the calls that a step consists of, such as "2.model" of an agent; it is empty for the step.
    """

    node_id: str
    rounds: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class StepError:
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Write:
    """A conversation or loop variable that a step set. It is set again on recovery, and saved when the run ends."""

    selector: Selector
    value: Json


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step that ended."""

    key: StepKey
    kind: str
    status: StepStatus
    handle: str | None = None  # the source handle chosen; None for plain nodes
    outputs: Mapping[str, Json] = field(default_factory=dict)
    inputs: Mapping[str, Json] = field(default_factory=dict)
    error: StepError | None = None
    writes: tuple[Write, ...] = ()
    tries: int = 1
    started_at: float = 0.0  # unix seconds
    elapsed: float = 0.0  # seconds
    prompt_tokens: int = 0
    completion_tokens: int = 0
