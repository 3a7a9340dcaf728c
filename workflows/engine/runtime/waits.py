"""What a paused run waits for: the answer of a person, or a time; and the time of a step without its waits for a place.

The form of a wait, which a person is shown:

- ``type``: ``form``, ``question``, ``approval`` or ``uncertain``;
- ``content``: Markdown; ``{{#$output.name#}}`` marks the place of a field;
- ``inputs``: the fields, each with a ``name`` and a ``type`` of the start form, and optionally ``label``, ``required``,
  ``description``, ``default``, ``example``, ``options`` and ``max_length``; several of ``choices`` are entered one per line;
- ``answerers``: who may answer, as keys of ``engine.answerers``; without any, the run's own people and whoever has the link;
- ``remind_after``, ``escalate_after`` and ``escalate_to``: seconds until a reminder and an escalation, and its keys;
- ``actions``: the buttons, each with ``id``, ``title`` and ``style``; a form without any has one that sends it. With
  ``declines``, a button needs no field to be filled in;
- ``tool`` and ``arguments`` of an approval: what would be called, with the arguments that would be sent; ``cause``: why a
  person is asked although the author didn't say so, of ``FORGETS_FOR_OUTSIDE``, ``TAKES_MEMORY_OUTSIDE`` and
  ``CONNECTION_CHANGED``;
- ``call`` of an approval: a digest of that call, with which the answer is valid for this call alone;
- ``state`` of a tool's question: what the tool wants back with the answer, and nobody is shown;
- ``node`` and ``arguments`` of an uncertain step: what was called, perhaps.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final

from workflows.engine.answerers import EMAIL
from workflows.engine.errors import InputRejected
from workflows.engine.language.document import Json
from workflows.engine.language.problems import Problem
from workflows.engine.language.start_form import TEXT_FIELDS, Field, check_inputs
from workflows.engine.runtime.rounds import StepPaused
from workflows.engine.runtime.step_records import StepKey


# ``Answer.answered_by`` of a person who only had the link, and who may be anybody.
BY_LINK: Final = "link"
_MAX_TEXT: Final = 100_000  # characters of one field
# The form of a step whose outcome is unknown, its field with the outputs, and its buttons.
UNCERTAIN: Final = "uncertain"
OUTPUTS: Final = "outputs"
HAPPENED: Final = "happened"
AGAIN: Final = "again"
STOP: Final = "stop"  # whoever stores this answer stops the run
# What text from outside may have told a model: to forget something, or to send a memory away.
FORGETS_FOR_OUTSIDE: Final = "forgets_for_outside"
TAKES_MEMORY_OUTSIDE: Final = "takes_memory_outside"
# A person allowed the call of a workflow that calls this tool, and its connection is another one now.
CONNECTION_CHANGED: Final = "connection_changed"
# The buttons of an approval.
ALLOW: Final = "allow"
REFUSE: Final = "refuse"
APPROVAL_ACTIONS: Final[tuple[Mapping[str, Json], ...]] = (
    {"id": ALLOW, "title": "Allow", "style": "primary"},
    {"id": REFUSE, "title": "Refuse", "style": "default"},
)
_AWAITED: Final[Mapping[str, str]] = {"approval": "approval", UNCERTAIN: "decision"}


@dataclass(frozen=True, slots=True)
class Wait:
    """A request for an answer. ``form`` is what a person is shown; without one, only the time is waited for."""

    form: Mapping[str, Json] | None = None
    due_at: float | None = None  # unix seconds, at which the wait ends without an answer
    # Whether that time was counted from now. The database then counts it, because clocks of workers differ.
    is_duration: bool = False
    child_run_id: str = ""  # the run whose end is waited for, instead of an answer

    @property
    def awaited(self) -> str:
        """Return what is waited for: approval, decision (of an uncertain step), answer, time, or child (another run)."""
        if self.form is not None:
            return _AWAITED.get(str(self.form.get("type")), "answer")
        return "child" if self.child_run_id else "time"


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a wait. ``action`` is the chosen button of the form."""

    values: Mapping[str, Json] = field(default_factory=dict)
    action: str = ""
    answered_by: str = ""
    is_timed_out: bool = False  # nobody answered until ``due_at``
    call: str = ""  # that of the form which was answered, if it asked about a call
    state: Json = None  # that of the form which was answered, if a tool asked


def get_asked_call(form: Mapping[str, Json] | None) -> str:
    """Return the digest of the call that a form asks about, or an empty text if it asks about something else."""
    return str((form or {}).get("call") or "")


def is_from_outside(answer: Answer) -> bool:
    """Return whether the answer came by a link, so that whoever wrote it has no account here."""
    return answer.answered_by == BY_LINK or answer.answered_by.startswith(EMAIL)


@dataclass(frozen=True, slots=True)
class OpenWait:
    """A wait of a paused run. Its key names the step, and the part of it that needs the answer."""

    key: StepKey
    wait: Wait


def get_reason(open_waits: Sequence[OpenWait]) -> str:
    """Return why a run paused: "input" if it waits for a person, else "child" for another run, else "time"."""
    if any(each.wait.form is not None for each in open_waits):
        return "input"
    return "child" if any(each.wait.child_run_id for each in open_waits) else "time"


def is_uncertain(form: Mapping[str, Json] | None) -> bool:
    return form is not None and form.get("type") == UNCERTAIN


def build_uncertain_form(
    node: str,
    inputs: Mapping[str, Json],
    *,
    can_have_happened: bool,
    example: Mapping[str, Json] | None = None,
) -> Mapping[str, Json]:
    """Return the form with which a person decides about a step: it happened, call again, or stop the run.

    ``example`` shows which outputs the step would have.
    """
    actions = [
        {"id": HAPPENED, "title": "It happened", "style": "primary"},
        {"id": AGAIN, "title": "Call again", "style": "default"},
        {"id": STOP, "title": "Stop the run", "style": "ghost"},
    ]
    outputs: dict[str, Json] = {"name": OUTPUTS, "type": "json_object", "required": False}
    if example:
        outputs["example"] = dict(example)
    return {
        "type": UNCERTAIN,
        "node": node,
        "inputs": [outputs] if can_have_happened else [],
        "actions": actions if can_have_happened else actions[1:],
        "arguments": dict(inputs) or None,
    }


class StepWaiting(StepPaused):
    """A step waits for an answer; the run pauses when nothing else in it can run."""

    def __init__(self, wait: Wait, part: str = "") -> None:
        self.wait, self.part = wait, part
        super().__init__()


def check_answer(
    form: Mapping[str, Json], values: Mapping[str, Json], action: str = ""
) -> tuple[dict[str, Json], str]:
    """Return a value for every field of the form, and the chosen action. Raises InputRejected with all problems.

    A field that is neither required nor given gets its default. A form with one action need not name it.
    """
    problems: list[Problem] = []
    fields = list_input_fields(form)
    names = {input_field.name for input_field in fields}
    problems += [
        Problem("input.unknown", f"{name} is not a field of this form", field=str(name))
        for name in values
        if name not in names
    ]
    actions = list_actions(form)
    if not action and len(actions) == 1:
        action = next(iter(actions))
    if actions and action not in actions:
        allowed = ", ".join(actions)
        problems.append(
            Problem(
                "input.invalid", f"action must be one of the following: {allowed}", field="action"
            )
        )
    if _declines(form, action):
        fields = tuple(replace(each, required=False) for each in fields)
    checked: dict[str, Json] = {}
    try:
        checked = check_inputs(fields, _drop_blank(fields, values))
    except InputRejected as rejected:
        problems += rejected.problems
    if problems:
        raise InputRejected(problems)
    empty = {f.name: _EMPTY.get(f.type) for f in fields}
    return {
        name: empty[name] if value is None else value for name, value in checked.items()
    }, action if actions else ""


def list_input_fields(form: Mapping[str, Json]) -> tuple[Field, ...]:
    """Return the fields of a form, as those of a start node."""
    return tuple(
        Field(
            name=str(item.get("name")),
            type=str(item.get("type") or "paragraph"),
            required=item.get("required") is True,
            default=item.get("default"),
            max_length=item.get("max_length") or _MAX_TEXT,
            options=tuple(map(str, item.get("options") or ())),
        )
        for item in form.get("inputs") or ()
    )


def list_actions(form: Mapping[str, Json]) -> dict[str, str]:
    """Return the titles of the form's actions by their ids."""
    return {
        str(item.get("id")): str(item.get("title") or item.get("id"))
        for item in form.get("actions") or ()
    }


def _declines(form: Mapping[str, Json], action: str) -> bool:
    """Return whether the action says no to the whole form, for which nothing has to be filled in."""
    return any(
        item.get("declines") is True and str(item.get("id")) == action
        for item in form.get("actions") or ()
    )


def find_reply_field(form: Mapping[str, Json]) -> str | None:
    """Return the field into which a chat's next message goes, or None if a message can't answer the form.

    A message answers a form with one text field and no choice between actions.
    """
    fields = list_input_fields(form)
    if form.get("type") == "approval" or len(list_actions(form)) > 1:
        return None
    if len(fields) != 1 or fields[0].type not in TEXT_FIELDS:
        return None
    return fields[0].name


_EMPTY: Final[Mapping[str, Json]] = {
    **dict.fromkeys((*TEXT_FIELDS, "select"), ""),
    "checkbox": False,
}


def _drop_blank(fields: Sequence[Field], values: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values without the blank texts of required fields, which then count as missing."""
    required = {f.name for f in fields if f.required}
    return {
        name: value
        for name, value in values.items()
        if not (name in required and isinstance(value, str) and not value.strip())
    }


class StepTime:
    """The waits of a running step and of the steps inside it, and the time limit that they stop."""

    __slots__ = ("_began_at", "_limit", "_seconds_left", "_waiting", "outer", "waited")

    def __init__(self, outer: "StepTime | None") -> None:
        self.outer = outer
        self.waited = 0.0  # seconds
        self._waiting = 0
        self._began_at = 0.0
        self._limit: asyncio.Timeout | None = None
        self._seconds_left: float | None = None

    @asynccontextmanager
    async def limit(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError when the block has taken so many seconds without its waits."""
        async with asyncio.timeout(seconds) as self._limit:
            try:
                yield
            finally:
                self._limit = None

    def begin_wait(self) -> None:
        self._waiting += 1
        if self._waiting > 1:
            return
        self._began_at = time.monotonic()
        if self._limit is not None and (when := self._limit.when()) is not None:
            self._seconds_left = when - asyncio.get_running_loop().time()
            self._limit.reschedule(None)

    def end_wait(self) -> None:
        self._waiting -= 1
        if self._waiting:
            return
        self.waited += time.monotonic() - self._began_at
        limit, seconds_left = self._limit, self._seconds_left
        if limit is not None and seconds_left is not None and not limit.expired():
            limit.reschedule(asyncio.get_running_loop().time() + seconds_left)
        self._seconds_left = None


_current: ContextVar[StepTime | None] = ContextVar("step_time", default=None)


@contextmanager
def measure_step() -> Iterator[StepTime]:
    """Provide the time of the step that runs in this block."""
    step_time = StepTime(_current.get())
    token = _current.set(step_time)
    try:
        yield step_time
    finally:
        _current.reset(token)


@contextmanager
def pause_step_time() -> Iterator[None]:
    """Leave this block out of the time of the running step and of the containers around it."""
    steps = []
    step_time = _current.get()
    while step_time is not None:
        steps.append(step_time)
        step_time = step_time.outer
    for step in steps:
        step.begin_wait()
    try:
        yield
    finally:
        for step in steps:
            step.end_wait()
