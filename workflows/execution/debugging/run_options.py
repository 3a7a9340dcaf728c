"""What a run's row says about how it is to be debugged, as the driver needs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self
from uuid import UUID

from accounts.tenancy import tenant
from workflows.engine.brake import Brake, name_of
from workflows.engine.document import Document, Json
from workflows.engine.events import NodeStateChange, RunPaused
from workflows.engine.kinds import Execution
from workflows.engine.partial import Extent, Part, cut, root_of, without_cut_off
from workflows.engine.plan import compile_plan
from workflows.engine.records import StepKey
from workflows.engine.reporting import items_of, size_of
from workflows.engine.runs import MAX_SECONDS, RunResult
from workflows.execution.claims import Claim
from workflows.execution.kinds import kinds
from workflows.execution.plans import Prepared, prepared
from workflows.execution.threads import in_thread
from workflows.models import Snapshot
from workflows.models.documents import from_json


SANDBOX = "sandbox"
WHOLE = Part()


@dataclass(frozen=True, slots=True)
class Debug:
    """``Run.debug`` read; ``variables`` and ``turn`` put a repeated turn where the first one stood."""

    part: Part = WHOLE
    reuse: str | None = None
    breakpoints: frozenset[str] = frozenset()
    step: bool = False
    memory: str = "real"
    variables: Mapping[str, Json] | None = None
    turn: Mapping[str, Json] | None = None  # conversation: its row's id; before: number of the turn
    given: bool = False  # values were typed in for what nothing has run for
    was_asked_for: bool = field(default=False)

    @classmethod
    def of(cls, row: Mapping[str, Json]) -> Self:
        written = row.get("debug")
        if not written:
            return cls()
        return cls(
            part=part_of(written),
            reuse=written.get("reuse"),
            breakpoints=frozenset(written.get("breakpoints") or ()),
            step=bool(written.get("step")),
            memory=written.get("memory") or "real",
            variables=written.get("variables"),
            turn=written.get("turn"),
            given=bool(written.get("values")),
            was_asked_for=True,
        )

    @property
    def has_history(self) -> bool:
        """Whether steps were put in before anything ran."""
        return self.reuse is not None or self.given


def part_of(written: Mapping[str, Json]) -> Part:
    for extent in (Extent.ONLY, Extent.UNTIL, Extent.FROM):
        if written.get(extent.value):
            return Part(extent, tuple(written[extent.value]))
    return Part()


async def prepared_for(claim: Claim, debug: Debug) -> Prepared:
    """The pinned document compiled, or the part of it that is to run: its rest may be half done."""
    snapshot = UUID(claim.row["snapshot_id"])
    if debug.part.is_whole:
        return await prepared(claim.team_id, snapshot)
    return await in_thread(_prepared_part, claim.team_id, snapshot, debug.part)


def brake_of(claim: Claim, debug: Debug, rows: Sequence[Mapping[str, Json]]) -> Brake | None:
    """The same for every attempt between two pauses, so that a crash in between changes nothing."""
    if not debug.was_asked_for:
        return None
    pause = claim.row.get("pause") or {}
    stepping = pause.get("mode") == "step" if pause else debug.step
    budget = None
    if stepping:
        done = [row for row in rows if _counts(row["kind"])]
        kept = sum(row["reused_from"] is not None for row in done)
        budget = max(1 - (len(done) - pause.get("finished", kept)), 0)
    return Brake(
        debug.breakpoints,
        past=frozenset(pause.get("past") or ()),
        inside=frozenset(pause.get("inside") or ()),
        budget=budget,
    )


def patience(claim: Claim) -> float:
    """A run isn't hurried for the time it stood still."""
    pause = claim.row.get("pause") or {}
    return MAX_SECONDS + float(pause.get("slept") or 0)


def paused(
    claim: Claim, result: RunResult, document: Document, kept: int, reason: str, at: float
) -> tuple[RunPaused, Json]:
    """The event, and what the run's row keeps of it until it is resumed.

    ``kept`` are steps that were put in beforehand and that the plan knows nothing of.
    """
    nodes = list(dict.fromkeys(key.node_id for key in result.held))
    state = {
        "nodes": nodes,
        "past": [name_of(key) for key in result.held],
        "inside": [name_of(key) for key in _around(document, result.held)],
        "reason": reason,
        "at": at,
        "finished": kept + sum(_counts(record.kind) for record in result.steps),
        "slept": (claim.row.get("pause") or {}).get("slept") or 0,
    }
    return RunPaused(nodes, reason, at), state


def held_events(ready: Prepared, result: RunResult, at: float) -> list[NodeStateChange]:
    specs = {node.id: node for node in ready.document.nodes}
    return [
        NodeStateChange(
            key.node_id,
            "paused",
            specs[key.node_id].kind,
            specs[key.node_id].title,
            key.rounds,
            at=at,
        )
        for key in result.held
        if key.node_id in specs
    ]


def reused_events(rows: Sequence[Mapping[str, Json]], debug: Debug) -> list[NodeStateChange]:
    """What was kept is told too: a reader of the stream sees where the run goes on from."""
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
            size=size_of(row["outputs"]),
            attempt=row["tries"],
            handle=row["handle"],
            error=row["error"] or None,
            error_type=row["error_type"] or None,
            reused=True,
            tokens=(row["prompt_tokens"] + row["completion_tokens"]) or None,
            items=items_of(row["outputs"]),
        )
        for row in rows
    ]


def _counts(kind: str) -> bool:
    """The start of a round is no step that anybody would want to see."""
    known = kinds().get(kind)
    return known is None or known.execution is not Execution.ENTRY


def _around(document: Document, held: Sequence[StepKey]) -> list[StepKey]:
    """The containers a run stands in, each with the rounds it is in itself."""
    parents = {node.id: node.parent for node in document.nodes}
    found: dict[StepKey, None] = {}
    for key in held:
        node, rounds = parents.get(key.node_id), key.rounds
        while node is not None and rounds:
            rounds = rounds[:-1]
            found[StepKey(node, rounds)] = None
            node = parents.get(node)
    return list(found)


def _prepared_part(team_id: UUID, snapshot_id: UUID, part: Part) -> Prepared:
    with tenant([team_id]):
        snapshot = Snapshot.objects.unscoped().get(pk=snapshot_id)
    return prepare_part(from_json(snapshot.document), part)


def prepare_part(document: Document, part: Part) -> Prepared:
    known = kinds()
    piece = cut(document, part, root_of(document, known))
    plan = without_cut_off(compile_plan(piece, known), document)
    return Prepared(
        document,
        plan,
        {node.id: node.title for node in document.nodes},
        frozenset(item.name for item in document.environment if item.value_type == "secret"),
    )
