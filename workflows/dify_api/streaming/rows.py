"""The rows that events are completed from: the results of steps, the questions of a pause, and the run at its end."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from workflows.dify_api.calls import Call
from workflows.engine.runtime import events as ours
from workflows.execution.events.stream_events import StreamEvent
from workflows.models import Run, RunWait, Step


StepName = tuple[str, tuple[int, ...]]  # node, rounds
_NODE_ENDS: Final = frozenset({"completed", "failed", "stopped"})
_CONTAINER_ENDS: Final = frozenset({ours.IterationCompleted.name, ours.LoopCompleted.name})
# The events for which rows are read.
NEEDS_ROWS: Final = frozenset(
    {
        *(ours.RunFinished.name, ours.RunPaused.name, ours.RunResumed.name),
        *(ours.InputRequired.name, ours.NodeStateChange.name),
        *_CONTAINER_ENDS,
    }
)


def needs_rows(event: StreamEvent) -> bool:
    if event.name == ours.NodeStateChange.name:
        return event.data["status"] in _NODE_ENDS
    return event.name in NEEDS_ROWS


@dataclass(slots=True)
class StreamRows:
    """Reads the rows of one run, as far as the reader may see them. The caller is within a tenant."""

    call: Call
    _steps: dict[StepName, Step] = field(default_factory=dict)

    def load_steps(self, events: Sequence[StreamEvent]) -> None:
        """Read the results of all steps that end in these events, with one query."""
        names = [
            _name_step(event)
            for event in events
            if event.name in _CONTAINER_ENDS
            or (event.name == ours.NodeStateChange.name and event.data["status"] in _NODE_ENDS)
        ]
        self._steps = {}
        if not names:
            return
        rows = Step.objects.visible_to(self.call.principal).filter(run=self.call.run)
        steps = rows.filter(node_key__in={node for node, _rounds in names})
        if all(not rounds for _node, rounds in names):
            steps = steps.filter(rounds=[])
        self._steps = {(row.node_key, tuple(row.rounds)): row for row in steps.order_by("id")}

    def find_step(self, node: str, rounds: Sequence[int]) -> Step | None:
        return self._steps.get((node, tuple(rounds)))

    def find_wait(self, wait_id: str) -> RunWait | None:
        try:
            pk = UUID(wait_id)
        except ValueError:
            return None
        return self._list_waits().filter(pk=pk, form__isnull=False).first()

    def list_answered(self) -> list[RunWait]:
        """Return the questions that were answered last."""
        waits = self._list_waits().filter(form__isnull=False, answered_at__isnull=False)
        newest = waits.order_by("-answered_at").first()
        return [] if newest is None else [newest]

    def reload(self) -> Call:
        """Return the call with its run as it is now."""
        runs = Run.objects.visible_to(self.call.principal).select_related("workflow", "version")
        run = runs.filter(pk=self.call.run.pk).first()
        return self.call if run is None else replace(self.call, run=run)

    def _list_waits(self) -> QuerySet[RunWait]:
        return RunWait.objects.visible_to(self.call.principal).filter(run=self.call.run)


def _name_step(event: StreamEvent) -> StepName:
    return event.data["node"], tuple(event.data["rounds"])
