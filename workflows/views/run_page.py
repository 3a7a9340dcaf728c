"""What the page of one run shows: what went in, what came out, its steps, and its memory."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.urls import reverse

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.document import Json
from workflows.models import Run, RunEvent, Step
from workflows.models.documents import from_json
from workflows.views.drawing import draw


LONGEST_SHOWN = 20_000


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
        return shown(self.step.inputs) if self.step.inputs else ""

    @property
    def shown_outputs(self) -> str:
        return shown(self.step.outputs) if self.step.outputs else ""

    @property
    def error_text(self) -> str:
        return self.step.error


@dataclass(frozen=True, slots=True)
class Remembered:
    """An entry that a run recalled or wrote, as it was at that moment."""

    key: str
    value: str
    namespace: str
    url: str = ""
    score: float | None = None
    injected: bool = False

    @property
    def percent(self) -> int:
        return round((self.score or 0) * 100)


def run_page(principal: Principal, run: Run) -> dict[str, Any]:
    live = not run.has_ended
    return {
        "run": run,
        "live": live,
        "can_cancel": permissions.may_cancel(principal, run),
        "drawing": draw(from_json(run.snapshot.document)),
        "inputs": _pairs(run.inputs | _said(run)),
        "outputs": _pairs(run.outputs or {}),
        "partial_text": "",  # the stream brings it, in order with what follows
        # while a run is live its stream brings all of it, from the beginning
        "steps": [] if live else [StepRow(step) for step in selectors.steps_of(principal, run)],
        "recalled": [] if live else list(_recalled(principal, run)),
        "written": [] if live else list(_written(principal, run)),
    }


def shown(value: Json) -> str:
    """A value as people read it; a huge one is cut here, never in what is kept."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _pairs(values: Mapping[str, Json]) -> list[tuple[str, str]]:
    return [(name, shown(value)) for name, value in values.items() if name != "files" or value]


def _said(run: Run) -> dict[str, Json]:
    query = run.system.get("query")
    return {"sys.query": query} if query and query not in run.inputs.values() else {}


def _recalled(principal: Principal, run: Run) -> Iterable[Remembered]:
    for event in selectors.events_of(principal, run, "memory_recalled"):
        for entry in event.data.get("entries", []):
            yield _remembered(entry, event, injected=bool(event.data.get("injected")))


def _written(principal: Principal, run: Run) -> Iterable[Remembered]:
    for event in selectors.events_of(principal, run, "memory_written"):
        yield _remembered(event.data["entry"], event)


def _remembered(
    entry: Mapping[str, Json], event: RunEvent, *, injected: bool = False
) -> Remembered:
    return Remembered(
        key=str(entry.get("key", "")),
        value=shown(entry.get("value")),
        namespace=str(event.data.get("namespace", "")),
        url=entry_url(str(entry.get("id", ""))),
        score=entry.get("score"),
        injected=injected,
    )


def entry_url(entry_id: str) -> str:
    return (
        reverse("memory:entry", args=[entry_id]) if apps.is_installed("memory") and entry_id else ""
    )
