"""Apply the debugging options of a run's row: the part to run, breakpoints, pauses and reused steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

from workflows.engine.answerers import admits_runner
from workflows.engine.kinds import Execution
from workflows.engine.language.document import Document, Json
from workflows.engine.language.plan import compile_plan
from workflows.engine.runtime.breakpoints import PauseControl, format_step_name
from workflows.engine.runtime.events import NodeStateChange, RunPaused
from workflows.engine.runtime.partial_runs import (
    Extent,
    Part,
    extract_part,
    find_root,
    mark_missing_nodes,
)
from workflows.engine.runtime.run_request import MAX_SECONDS, RunResult
from workflows.engine.runtime.step_records import StepKey
from workflows.engine.runtime.step_reports import count_items, measure_size
from workflows.engine.runtime.waits import is_uncertain
from workflows.engine.triggers.calls import get_trigger_node
from workflows.execution.claims import Claim
from workflows.execution.kinds import load_kinds
from workflows.execution.plans import PreparedDocument, load_document, load_plan
from workflows.execution.threads import run_in_thread


SANDBOX = "sandbox"
WHOLE_RUN = Part()


@dataclass(frozen=True, slots=True)
class DebugOptions:
    """The parsed ``Run.debug``. ``variables`` and ``turn`` are set if a turn is repeated at its original position."""

    part: Part = WHOLE_RUN
    reuse: str | None = None
    breakpoints: frozenset[str] = frozenset()
    step: bool = False
    memory: str = "real"
    variables: Mapping[str, Json] | None = None
    turn: Mapping[str, Json] | None = None  # conversation: its row's id; before: the turn's number
    has_typed_values: bool = False  # values were entered for nodes that have no recorded step
    is_debugging: bool = False

    @classmethod
    def from_row(cls, row: Mapping[str, Json]) -> Self:
        options = row.get("debug")
        if not options:
            return cls()
        return cls(
            part=parse_part(options),
            reuse=options.get("reuse"),
            breakpoints=frozenset(options.get("breakpoints") or ()),
            step=bool(options.get("step")),
            memory=options.get("memory") or "real",
            variables=options.get("variables"),
            turn=options.get("turn"),
            has_typed_values=bool(options.get("values")),
            is_debugging=True,
        )

    @property
    def has_history(self) -> bool:
        """Return whether steps were inserted before the run began."""
        return self.reuse is not None or self.has_typed_values


def parse_part(options: Mapping[str, Json]) -> Part:
    for extent in (Extent.ONLY, Extent.UNTIL, Extent.FROM):
        if options.get(extent.value):
            return Part(extent, tuple(options[extent.value]))
    return Part()


async def load_prepared(claim: Claim, debug: DebugOptions) -> PreparedDocument:
    """Return the compiled document. For a partial run only that part is compiled, since the rest may be incomplete."""
    snapshot = UUID(claim.row["snapshot_id"])
    if debug.part.is_whole:
        return await load_plan(claim.team_id, snapshot, get_trigger_node(claim.row["system"]))
    return await run_in_thread(_load_part, claim.team_id, snapshot, debug.part)


def prepare_part(document: Document, part: Part) -> PreparedDocument:
    """Return the document with the plan of the part. Raises DocumentInvalid if the part can't be compiled."""
    kinds = load_kinds()
    extract = extract_part(document, part, find_root(document, kinds))
    return PreparedDocument(document, mark_missing_nodes(compile_plan(extract, kinds), document))


def build_pause_control(
    claim: Claim, debug: DebugOptions, rows: Sequence[Mapping[str, Json]]
) -> PauseControl | None:
    """Return what pauses a debug run, else None. It is the same after a crash; ``rows`` are the finished steps."""
    if not debug.is_debugging:
        return None
    pause = claim.row.get("pause") or {}
    stepping = pause.get("mode") == "step" if pause else debug.step
    budget = None
    if stepping:
        finished = [row for row in rows if _is_counted(row["kind"])]
        reused = sum(row["reused_from"] is not None for row in finished)
        budget = max(1 - (len(finished) - pause.get("finished", reused)), 0)
    return PauseControl(
        debug.breakpoints,
        passed_steps=frozenset(pause.get("past") or ()),
        open_containers=frozenset(pause.get("inside") or ()),
        budget=budget,
    )


def get_time_limit(claim: Claim) -> float:
    """Return the time limit in seconds; paused time doesn't count."""
    pause = claim.row.get("pause") or {}
    return MAX_SECONDS + float(pause.get("slept") or 0)


def build_pause(
    claim: Claim,
    result: RunResult,
    document: Document,
    inserted_count: int,
    reason: str,
    paused_at: float,
) -> tuple[RunPaused, Json]:
    """Return the event of a pause and the state for the run's row. ``inserted_count`` steps are not in the plan."""
    keys = [*result.waiting_steps, *(replace(each.key, part="") for each in result.open_waits)]
    nodes = list(dict.fromkeys(key.node_id for key in keys))
    earlier = claim.row.get("pause") or {}
    waits = [
        {"node_key": each.key.node_id, "rounds": each.key.rounds, "part": each.key.part}
        for each in result.open_waits
    ]
    state = {
        "nodes": nodes,
        "waits": waits,
        "past": sorted({*earlier.get("past", ()), *map(format_step_name, keys)}),
        "inside": [format_step_name(key) for key in _list_enclosing_containers(document, keys)],
        "reason": reason,
        "uncertain": any(is_uncertain(each.wait.form) for each in result.open_waits),
        "asks_others": _asks_others(result),
        # No call of this attempt or an earlier one is open any more, see execution_history.
        "settled": claim.attempt,
        "at": paused_at,
        "finished": inserted_count + sum(_is_counted(record.kind) for record in result.steps),
        "slept": earlier.get("slept") or 0,
        # Kept while the run waits for an answer or a time; a person who resumes the run chooses again.
        "mode": earlier.get("mode") or _get_first_mode(claim),
    }
    due = [each.wait.due_at for each in result.open_waits if each.wait.due_at is not None]
    until = min(due, default=None) if reason in ("input", "time") else None
    return RunPaused(nodes, reason, paused_at, until), state


def _asks_others(result: RunResult) -> bool:
    """Return whether the run waits for people, and none of its questions asks whoever runs it."""
    forms = [each.wait.form for each in result.open_waits if each.wait.form is not None]
    return bool(forms) and not any(admits_runner(form.get("answerers") or ()) for form in forms)


def _get_first_mode(claim: Claim) -> str:
    return "step" if (claim.row.get("debug") or {}).get("step") else "continue"


def list_paused_events(
    prepared: PreparedDocument, result: RunResult, paused_at: float
) -> list[NodeStateChange]:
    """Return an event for each node at which the run waits."""
    specs = {node.id: node for node in prepared.document.nodes}
    return [
        NodeStateChange(key.node_id, "paused", spec.kind, spec.title, key.rounds, at=paused_at)
        for key in result.waiting_steps
        if (spec := specs.get(key.node_id))
    ]


def list_reused_events(
    rows: Sequence[Mapping[str, Json]], debug: DebugOptions
) -> list[NodeStateChange]:
    """Return an event for each reused step, so that a reader of the stream sees it as finished."""
    if not debug.has_history:
        return []
    return [
        NodeStateChange(
            row["node_key"],
            "completed" if row["status"] == "succeeded" else "failed",
            row["kind"],
            row["title"],
            tuple(row["rounds"]),
            at=row["started_at"] + row["elapsed"],
            elapsed=row["elapsed"],
            size=measure_size(row["outputs"]),
            attempt=row["tries"],
            handle=row["handle"],
            error=row["error"] or None,
            error_type=row["error_type"] or None,
            reused=True,
            tokens=(row["prompt_tokens"] + row["completion_tokens"]) or None,
            items=count_items(row["outputs"]),
        )
        for row in rows
    ]


def _is_counted(kind: str) -> bool:
    """Return whether a step of this kind counts when a person runs single steps; the start of a round doesn't."""
    node_kind = load_kinds().get(kind)
    return node_kind is None or node_kind.execution is not Execution.ENTRY


def _list_enclosing_containers(document: Document, keys: Sequence[StepKey]) -> list[StepKey]:
    """Return the keys of the containers around these steps, each with its own rounds."""
    parents = {node.id: node.parent for node in document.nodes}
    containers: dict[StepKey, None] = {}
    for key in keys:
        node, rounds = parents.get(key.node_id), key.rounds
        while node is not None and rounds:
            rounds = rounds[:-1]
            containers[StepKey(node, rounds)] = None
            node = parents.get(node)
    return list(containers)


def _load_part(team_id: UUID, snapshot_id: UUID, part: Part) -> PreparedDocument:
    return prepare_part(load_document(team_id, snapshot_id), part)
