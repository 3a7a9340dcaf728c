"""The records of finished steps: enough to continue from there after a crash, grouped by the scope they belong to."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from workflows.engine.language.containers import list_containers
from workflows.engine.language.document import Document, Json, Selector


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
    PARTIAL = (
        "partial-succeeded"  # finished, but a failure was handled, or a step left something undone
    )
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
    error: StepError | None = None  # of a step that succeeded: what it left undone
    writes: tuple[Write, ...] = ()
    tries: int = 1
    started_at: float = 0.0  # unix seconds
    elapsed: float = 0.0  # seconds, without ``waited``
    waited: float = 0.0  # seconds for which it waited for a place in a pool
    prompt_tokens: int = 0
    completion_tokens: int = 0


_FINISHED: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.EXCEPTION, StepStatus.FAILED})

# A container's id (None: the top level), and indexes of rounds, outermost first.
Scope = tuple[str | None, tuple[int, ...]]


class StepHistory:
    """The recorded steps directly in each scope, and those at any depth inside the rounds of each container."""

    __slots__ = ("_inside", "_parents", "_parts", "_steps")

    def __init__(self, document: Document, history: Sequence[StepRecord]) -> None:
        self._parents: Mapping[str, str | None] = {node.id: node.parent for node in document.nodes}
        self._steps: dict[Scope, list[StepRecord]] = defaultdict(list)
        self._inside: dict[Scope, list[StepRecord]] = defaultdict(list)
        self._parts: dict[StepKey, list[StepRecord]] = defaultdict(list)
        for record in history:
            self.add(record)

    def __bool__(self) -> bool:
        return bool(self._steps)

    def list_steps(self, container: str | None, rounds: tuple[int, ...]) -> Sequence[StepRecord]:
        """Return the finished steps directly in a scope, in the order in which they finished."""
        return self._steps.get((container, rounds), ())

    def list_inner_steps(self, container: str, rounds: tuple[int, ...]) -> Sequence[StepRecord]:
        """Return the steps of all rounds of a container, at every depth. ``rounds`` are the container's."""
        return self._inside.get((container, rounds), ())

    def list_parts(self, step: StepKey) -> Sequence[StepRecord]:
        """Return the finished parts of a step that may itself be unfinished."""
        return self._parts.get(step, ())

    def add(self, record: StepRecord) -> None:
        node, rounds = record.key.node_id, record.key.rounds
        if record.key.part:
            self._parts[StepKey(node, rounds)].append(record)
            return
        containers = list_containers(node, self._parents)
        if node not in self._parents or len(containers) != len(rounds):
            return  # the document has changed, and the step is no longer in it
        if record.status in _FINISHED:
            self._steps[containers[0] if containers else None, rounds].append(record)
        for depth, container in enumerate(containers, start=1):
            self._inside[container, rounds[:-depth]].append(record)
