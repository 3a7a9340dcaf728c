"""What the page of one run shows: what went in, what came out, its steps, and its memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json
from workflows.models import Run, Step
from workflows.models.documents import from_json
from workflows.views.canvas.drawing import draw
from workflows.views.editor.words import translate_texts
from workflows.views.editor.words.canvas import RUN_STATES
from workflows.views.runs.held_memory import apart_in
from workflows.views.runs.lessons import learnt_of
from workflows.views.runs.memory import left_off_in, looked_at, recalled_in, said_in, written_in
from workflows.views.value_text import format_value


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step as the table prints it."""

    step: Step

    def __getattr__(self, name: str) -> Any:
        return getattr(self.step, name)

    @property
    def milliseconds(self) -> int | None:
        ran = self.step.status not in {"skipped", "running"}
        return max(1, round(self.step.elapsed * 1000)) if ran else None

    @property
    def total_tokens(self) -> int:
        return self.step.prompt_tokens + self.step.completion_tokens

    @property
    def shown_inputs(self) -> str:
        return format_value(self.step.inputs) if self.step.inputs else ""

    @property
    def shown_outputs(self) -> str:
        return format_value(self.step.outputs) if self.step.outputs else ""

    @property
    def error_text(self) -> str:
        return self.step.error


def run_page(principal: Principal, run: Run) -> dict[str, Any]:
    live = not run.has_ended
    # while a run is live its stream brings all of it, from the beginning
    said = [] if live else said_in(principal, run)
    recalled, written = looked_at(
        principal,
        run,
        recalled_in(principal, run, said=said) if said else [],
        written_in(principal, run, said=said) if said else [],
    )
    return {
        "run": run,
        "live": live,
        "can_cancel": permissions.may_cancel(principal, run),
        "drawing": draw(from_json(run.snapshot.document)),
        "words": translate_texts(RUN_STATES),
        "inputs": _pairs(run.inputs | _said(run)),
        "outputs": _pairs(run.outputs or {}),
        "partial_text": "",  # the stream brings it, in order with what follows
        "steps": [] if live else [StepRow(step) for step in selectors.steps_of(principal, run)],
        "recalled": recalled,
        "written": written,
        "left_off": left_off_in(said),
        **apart_in(principal, run, said),
        "learnt": learnt_of(principal, run),
    }


def _pairs(values: Mapping[str, Json]) -> list[tuple[str, str]]:
    return [
        (name, format_value(value)) for name, value in values.items() if name != "files" or value
    ]


def _said(run: Run) -> dict[str, Json]:
    query = run.system.get("query")
    return {"sys.query": query} if query and query not in run.inputs.values() else {}
