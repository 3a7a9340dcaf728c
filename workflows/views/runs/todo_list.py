"""The to-dos of an agent: each with its state, its completion and its steps, and the notes that the steps share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.models import Run, StepPart
from workflows.views.runs.agent_calls import CallRow


# State → what people read, and the pill that shows it.
_STATES: Final[Mapping[str, tuple[Promise, str]]] = {
    "pending": (_("Pending"), ""),
    "working": (_("Working"), "pill-run"),
    "retrying": (_("Retrying"), "pill-warn"),
    "waiting": (_("Waits for an answer"), "pill-warn"),
    "done": (_("Done"), "pill-ok"),
    "failed": (_("Failed"), "pill-bad"),
    "skipped": (_("Skipped: limit reached"), "pill-warn"),
    "unfinished": (_("Not finished"), "pill-warn"),
}
# What a to-do in this state adds to the completion of all, whatever the model reported.
_COUNTED_AS: Final = {"done": 1.0, "failed": 0.0}
_OF_STATUS: Final = {"running": "working", "completed": "done"}


@dataclass(slots=True)
class RoundRow:
    """A round, or a step of a to-do. ``number`` is "answer" for the answer after the last to-do."""

    number: str
    calls: list[CallRow] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(call.tokens for call in self.calls)


@dataclass(frozen=True, slots=True)
class NoteRow:
    content: str
    todo: int  # the number of the to-do that wrote it, or 0
    source: str
    time: datetime
    is_temporary: bool


@dataclass(slots=True)
class TodoRow:
    """A to-do. ``completion`` is the share from 0 to 1 that the model reported last."""

    number: int
    content: str
    status: str  # as the agent recorded it
    completion: float
    retries: int
    state: str = "pending"
    rounds: list[RoundRow] = field(default_factory=list)

    @property
    def percent(self) -> int:
        return round(self.completion * 100)

    @property
    def state_text(self) -> Promise:
        return _STATES[self.state][0]

    @property
    def pill(self) -> str:
        return _STATES[self.state][1]

    @property
    def is_open(self) -> bool:
        """Return whether the steps are shown without a click."""
        return self.state in ("working", "retrying", "waiting", "failed", "skipped", "unfinished")


@dataclass(frozen=True, slots=True)
class TodoList:
    """The to-dos of one agent. ``plan`` are the rounds before them, ``answer`` is the one after them."""

    goal: str
    todos: Sequence[TodoRow]
    plan: Sequence[RoundRow]
    answer: Sequence[RoundRow]
    notes: Sequence[NoteRow]

    @property
    def done(self) -> int:
        return sum(todo.state == "done" for todo in self.todos)

    @property
    def completion(self) -> float:
        """Return how much of all to-dos is done, from 0 to 1."""
        shares = [_COUNTED_AS.get(todo.state, todo.completion) for todo in self.todos]
        return sum(shares) / len(shares) if shares else 0.0

    @property
    def percent(self) -> int:
        return round(self.completion * 100)


def build_todo_list(
    run: Run, state: StepPart, rounds: Mapping[tuple[int, str], RoundRow], notes: Sequence[StepPart]
) -> TodoList:
    """Return the to-dos of an agent as ``state`` recorded them last, with the steps that came after it, too.

    ``rounds`` are those of the agent by the number of their to-do, which is 0 for the others, and their own number.
    """
    todos = [_build_todo(each, rounds) for each in state.outputs.get("todos") or ()]
    failures = _count_failures(notes)
    for todo in todos:
        todo.retries = failures.get(todo.number, 0)
        todo.state = _find_state(todo, run)
        if todo.state == "failed" and todo.retries:
            todo.retries -= 1  # the last failure was not followed by another attempt
    others = [row for (todo_number, _number), row in rounds.items() if todo_number == 0]
    return TodoList(
        goal=str(state.outputs.get("goal") or ""),
        todos=todos,
        plan=[row for row in others if row.number != "answer"],
        answer=[row for row in others if row.number == "answer"],
        notes=[*_iter_notes(notes)][::-1],
    )


def _build_todo(value: Mapping[str, Any], rounds: Mapping[tuple[int, str], RoundRow]) -> TodoRow:
    number = int(str(value["id"]).rpartition("_")[2]) + 1
    steps = [row for (todo_number, _number), row in rounds.items() if todo_number == number]
    reported = [
        call.report.completion
        for row in steps
        for call in row.calls
        if call.report is not None and call.report.completion is not None
    ]
    return TodoRow(
        number,
        str(value["content"]),
        str(value["status"]),
        reported[-1] if reported else float(value.get("completion") or 0),
        retries=0,
        rounds=steps,
    )


def _count_failures(notes: Iterable[StepPart]) -> dict[int, int]:
    """Return the number of failed steps of each to-do. The first failure of a step is noted as ``failure.1``."""
    counts: dict[int, int] = {}
    for part in notes:
        names = part.part.split(".")
        if names[-2:] == ["failure", "1"]:
            counts[int(names[1])] = counts.get(int(names[1]), 0) + 1
    return counts


def _find_state(todo: TodoRow, run: Run) -> str:
    state = _OF_STATUS.get(todo.status, todo.status)
    if state != "working":
        return state if state in _STATES else "pending"
    if run.has_ended:
        return "unfinished"
    if run.status == "paused" and (run.pause or {}).get("reason") == "input":
        return "waiting"
    return "retrying" if todo.retries else "working"


def _iter_notes(parts: Iterable[StepPart]) -> Iterator[NoteRow]:
    for part in parts:
        value = part.outputs or {}
        source = str(value.get("source") or "")
        number = source.removeprefix("todo_")
        yield NoteRow(
            str(value.get("content") or ""),
            int(number) + 1 if number.isdecimal() else 0,
            source,
            datetime.fromtimestamp(float(value.get("time") or 0) / 1000, UTC),
            bool(value.get("temporary")),
        )
