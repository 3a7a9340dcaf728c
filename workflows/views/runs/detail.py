"""The page of a run: its inputs, outputs, steps, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json
from workflows.models import Run, Step
from workflows.models.documents import from_json
from workflows.models.run import StepStatus
from workflows.services.models.answering import (
    MODEL_KINDS,
    AnsweringModel,
    read_answering_model,
)
from workflows.services.runs.feedback import load_own_feedback
from workflows.views.canvas.drawing import draw
from workflows.views.runs.agent_rounds import build_rounds_context
from workflows.views.runs.answering_models import split_reasoning
from workflows.views.runs.learning import get_learning_result
from workflows.views.runs.memory import (
    find_pauses,
    list_memory_events,
    list_recalled,
    list_written,
    record_access,
)
from workflows.views.runs.other_memory_changes import build_other_changes
from workflows.views.script_texts import translate_texts
from workflows.views.value_text import format_value


MIN_WIDTH: Final = 0.6  # percent of the waterfall, so that a quick step can be seen


@dataclass(frozen=True, slots=True)
class StepRow:
    """A row of the table of steps; other attributes than the formatted ones are those of the step."""

    step: Step
    # The bar of the waterfall, in percent of the time between the first step's start and the last one's end.
    start: float = 0.0
    width: float = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)

    @property
    def milliseconds(self) -> int | None:
        has_run = self.step.status not in {"skipped", "running"}
        return max(1, round(self.step.elapsed * 1000)) if has_run else None

    @property
    def total_tokens(self) -> int:
        return self.step.prompt_tokens + self.step.completion_tokens

    @property
    def model(self) -> AnsweringModel | None:
        """Return the model that the step asked, if its kind asks one."""
        return read_answering_model(self.step.inputs) if self.step.kind in MODEL_KINDS else None

    @property
    def is_cut(self) -> bool:
        """Return whether the answer reached its length limit."""
        return self.model is not None and self.step.outputs.get("finish_reason") == "length"

    @property
    def cost(self) -> float | None:
        """Return the cost of a model step in US dollars, or None if no price was known."""
        usage = (self.step.outputs or {}).get("usage")
        return usage.get("cost") if isinstance(usage, dict) else None

    @property
    def inputs_text(self) -> str:
        return format_value(self.step.inputs) if self.step.inputs else ""

    @property
    def outputs_text(self) -> str:
        return format_value(self.step.outputs) if self.step.outputs else ""

    @property
    def error_text(self) -> str:
        return self.step.error


def build_step_rows(steps: Sequence[Step]) -> list[StepRow]:
    """Return the rows of the table of steps, each with its bar in the waterfall."""
    timed = [step for step in steps if step.started_at and step.status != StepStatus.SKIPPED]
    start = min((step.started_at for step in timed), default=0.0)
    end = max((step.started_at + step.elapsed for step in timed), default=0.0)
    rows = []
    for step in steps:
        if step not in timed or end <= start:
            rows.append(StepRow(step))
            continue
        percent = 100 / (end - start)
        width = max(step.elapsed * percent, MIN_WIDTH)
        rows.append(StepRow(step, min((step.started_at - start) * percent, 100 - width), width))
    return rows


def build_run_context(principal: Principal, run: Run) -> dict[str, Any]:
    """Build the context of the page; access to an external user's memories is recorded in the audit log."""
    is_live = not run.has_ended
    # For a live run, the stream delivers all events from the beginning.
    events = [] if is_live else list_memory_events(principal, run)
    recalled, written = record_access(
        principal,
        run,
        list_recalled(principal, run, events=events) if events else [],
        list_written(principal, run, events=events) if events else [],
    )
    return {
        "run": run,
        "live": is_live,
        "can_cancel": permissions.may_cancel(principal, run),
        "drawing": draw(from_json(run.snapshot.document)),
        "words": translate_texts("canvas/view/node_state.js"),
        "inputs": _format_values(run.inputs | _extract_query(run)),
        "outputs": [
            (name, *split_reasoning(text)) for name, text in _format_values(run.outputs or {})
        ],
        "partial_text": "",  # delivered by the stream
        "steps": [] if is_live else build_step_rows(list(selectors.list_steps(principal, run))),
        "data_sets": []
        if is_live or not permissions.may_arrange(principal, run.team_id)
        else selectors.list_data_sets(principal, run.team_id)[:200],
        "can_run": permissions.may_run(principal, run.workflow),
        "feedback": load_own_feedback(principal, [run]).get(run.pk),
        "other_feedback": selectors.list_feedback(principal, run).exclude(actor=principal.actor),
        **build_rounds_context(principal, run),
        "recalled": recalled,
        "written": written,
        "pauses": find_pauses(events),
        **build_other_changes(principal, run, events),
        "learning": get_learning_result(principal, run),
    }


def _format_values(values: Mapping[str, Json]) -> list[tuple[str, str]]:
    return [
        (name, format_value(value)) for name, value in values.items() if name != "files" or value
    ]


def _extract_query(run: Run) -> dict[str, Json]:
    query = run.system.get("query")
    return {"sys.query": query} if query and query not in run.inputs.values() else {}
