"""What a paused run waits for: the answer of a person, or a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workflows.engine.language.document import Json
from workflows.engine.runtime.rounds import StepPaused
from workflows.engine.runtime.step_records import StepKey


@dataclass(frozen=True, slots=True)
class Wait:
    """A request for an answer. ``form`` is what a person is shown; without one, only the time is waited for."""

    form: Mapping[str, Json] | None = None
    due_at: float | None = None  # unix seconds, at which the wait ends without an answer


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a wait. ``action`` is the chosen button of the form."""

    values: Mapping[str, Json] = field(default_factory=dict)
    action: str = ""
    answered_by: str = ""
    is_timed_out: bool = False  # nobody answered until ``due_at``


@dataclass(frozen=True, slots=True)
class OpenWait:
    """A wait of a paused run. Its key names the step, and the part of it that needs the answer."""

    key: StepKey
    wait: Wait


def get_reason(open_waits: Sequence[OpenWait]) -> str:
    """Return why a run paused: "input" if it waits for a person, "time" if only for a time."""
    return "input" if any(each.wait.form is not None for each in open_waits) else "time"


class StepWaiting(StepPaused):
    """A step waits for an answer; the run pauses when nothing else in it can run."""

    def __init__(self, wait: Wait, part: str = "") -> None:
        self.wait, self.part = wait, part
        super().__init__()
