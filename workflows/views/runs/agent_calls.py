"""The calls of an agent as rows: what its model wrote, what its tools returned, what a person answered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workflows.engine.nodes.agent.session import TOOL_KIND
from workflows.engine.nodes.agent.todo import QUESTION_KIND
from workflows.engine.nodes.agent.todo_text import StepReport, parse_report
from workflows.models import RunEvent, StepPart
from workflows.views.value_text import format_value


MAX_TEXT: Final = 4_000  # characters of a thought, of arguments or of a result
# What the calls of these kinds are shown as; any other is a call of the model.
_KINDS: Final = {TOOL_KIND: "tool", QUESTION_KIND: "question"}

StepId = tuple[str, tuple[int, ...]]
CallKey = tuple[StepId, str]


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call of an agent: finished, running, or failed. ``start`` and ``width`` are percentages of the time line."""

    part: str
    kind: str  # model, tool or question
    status: str
    title: str
    started_at: float
    elapsed: float | None
    tokens: int = 0
    text: str = ""  # what the model wrote, what the tool returned, or what the person answered
    reasoning: str = ""
    arguments: str = ""
    is_error: bool = False
    is_untrusted: bool = False
    report: StepReport | None = None  # of a step of the todo loop: what ``text`` says
    start: float = 0.0
    width: float = 0.0

    @property
    def percent(self) -> int | None:
        """Return the completion that the model reported."""
        completion = self.report.completion if self.report else None
        return None if completion is None else round(completion * 100)


def build_row(part: StepPart) -> CallRow:
    inputs, outputs = part.inputs or {}, part.outputs or {}
    kind = _KINDS.get(part.kind, "model")
    is_question = kind == "question"
    text = str(outputs.get("answer" if is_question else "text") or "")
    arguments = inputs.get("question" if is_question else "arguments")
    return CallRow(
        part.part,
        kind,
        "failed" if outputs.get("is_error") else "completed",
        str(inputs.get("name") or "") if kind == "tool" else "",
        part.started_at,
        part.elapsed,
        part.prompt_tokens + part.completion_tokens,
        _cut(text),
        _cut(str(outputs.get("reasoning") or "")),
        _cut(format_value(arguments)) if arguments else "",
        bool(outputs.get("is_error")),
        bool(outputs.get("is_untrusted")),
        parse_report(text) if is_step_of_todo(part.part) and kind == "model" else None,
    )


def add_unfinished(
    calls: dict[CallKey, CallRow], events: Iterable[RunEvent], *, is_live: bool
) -> None:
    """Add the calls that began and have no result: they are running, or they failed."""
    finished = frozenset(calls)
    for event in events:
        data: Mapping[str, Any] = event.data
        key = get_key(data["node"], data.get("rounds") or (), data["part"])
        status = str(data.get("status"))
        if key in finished or status == "completed" or (status == "running" and not is_live):
            continue
        calls[key] = CallRow(
            data["part"],
            _KINDS.get(str(data.get("kind")), "model"),
            status,
            str(data.get("title") or ""),
            float(data.get("at") or 0),
            data.get("elapsed"),
            text=_cut(str(data.get("error") or "")),
            is_error=status == "failed",
        )


def get_key(node: str, rounds: Iterable[int], part: str) -> CallKey:
    return (node, tuple(rounds)), part


def is_step_of_todo(part: str) -> bool:
    return part.startswith("todo.")


def _cut(text: str) -> str:
    return f"{text[:MAX_TEXT]}…" if len(text) > MAX_TEXT else text
