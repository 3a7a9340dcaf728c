"""The rounds of a run's agents: what the model thought, which tools it called, and what they returned, on one time line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from accounts.principals import Principal
from workflows import selectors
from workflows.engine.nodes.agent.first_prompt import PROMPT_KIND
from workflows.engine.nodes.agent.session import TOOL_KIND
from workflows.engine.runtime.events import StepPartChange
from workflows.models import Run, RunEvent, StepPart
from workflows.models.documents import from_json
from workflows.services.runs import run_access
from workflows.views.value_text import format_value


MAX_TEXT: Final = 4_000  # characters of a thought, of arguments or of a result
_MIN_WIDTH: Final = 0.6  # percent of the time line, so that a quick call can be seen

StepId = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call of an agent: finished, running, or failed. ``start`` and ``width`` are percentages of the time line."""

    part: str
    is_tool: bool
    status: str
    title: str
    started_at: float
    elapsed: float | None
    tokens: int = 0
    text: str = ""  # what the model wrote, or what the tool returned
    reasoning: str = ""
    arguments: str = ""
    is_error: bool = False
    is_untrusted: bool = False
    start: float = 0.0
    width: float = 0.0

    @property
    def milliseconds(self) -> int | None:
        return None if self.elapsed is None else max(1, round(self.elapsed * 1000))


@dataclass(slots=True)
class RoundRow:
    number: str
    calls: list[CallRow] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(call.tokens for call in self.calls)


@dataclass(slots=True)
class AgentRows:
    """The rounds of one step. ``place`` are the rounds of the containers around it, for people."""

    title: str
    node: str
    place: str
    rounds: list[RoundRow] = field(default_factory=list)

    @property
    def calls(self) -> list[CallRow]:
        return [call for row in self.rounds for call in row.calls]

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rounds)

    @property
    def tool_count(self) -> int:
        return sum(call.is_tool for call in self.calls)

    @property
    def is_running(self) -> bool:
        return any(call.status == "running" for call in self.calls)


def build_agent_rows(
    principal: Principal, run: Run, node: str = "", rounds: str = ""
) -> list[AgentRows]:
    """Return the agents of a run with their calls; reading an external user's memories is recorded."""
    # The first prompt is shown with the step.
    parts = selectors.list_parts(principal, run, node, rounds).exclude(kind=PROMPT_KIND)
    events = [
        event
        for event in selectors.list_events(principal, run, StepPartChange.name)
        if _belongs(event.data, node, rounds)
    ]
    if not events:
        return []
    memory_events = selectors.list_events(principal, run, *run_access.MEMORY_EVENTS)
    shown = run_access.list_shown_namespaces((event.name, event.data) for event in memory_events)
    run_access.record_api_access(principal, run, shown)
    calls = {_get_key(part.node_key, part.rounds, part.part): _build_row(part) for part in parts}
    _add_unfinished(calls, events, is_live=not run.has_ended)
    nodes = from_json(run.snapshot.document).nodes
    return _group(calls, {node.id: node.title for node in nodes})


def _belongs(data: Mapping[str, Any], node: str, rounds: str) -> bool:
    """Return whether a call is one of the node and of the rounds; an empty text stands for all."""
    is_there = not node or data.get("node") == node
    is_then = not rounds or ".".join(map(str, data.get("rounds") or ())) == rounds
    return is_there and is_then and data.get("kind") != PROMPT_KIND


def _build_row(part: StepPart) -> CallRow:
    inputs, outputs = part.inputs or {}, part.outputs or {}
    is_tool = part.kind == TOOL_KIND
    return CallRow(
        part.part,
        is_tool,
        "failed" if outputs.get("is_error") else "completed",
        str(inputs.get("name") or "") if is_tool else "",
        part.started_at,
        part.elapsed,
        part.prompt_tokens + part.completion_tokens,
        _cut(str(outputs.get("text") or "")),
        _cut(str(outputs.get("reasoning") or "")),
        _cut(format_value(inputs["arguments"])) if inputs.get("arguments") else "",
        bool(outputs.get("is_error")),
        bool(outputs.get("is_untrusted")),
    )


def _add_unfinished(
    calls: dict[tuple[StepId, str], CallRow], events: Iterable[RunEvent], *, is_live: bool
) -> None:
    """Add the calls that began and have no result: they are running, or they failed."""
    finished = frozenset(calls)
    for event in events:
        data: Mapping[str, Any] = event.data
        key = _get_key(data["node"], data.get("rounds") or (), data["part"])
        status = str(data.get("status"))
        if key in finished or status == "completed" or (status == "running" and not is_live):
            continue
        calls[key] = CallRow(
            data["part"],
            data.get("kind") == TOOL_KIND,
            status,
            str(data.get("title") or ""),
            float(data.get("at") or 0),
            data.get("elapsed"),
            text=_cut(str(data.get("error") or "")),
            is_error=status == "failed",
        )


def _group(
    calls: Mapping[tuple[StepId, str], CallRow], titles: Mapping[str, str]
) -> list[AgentRows]:
    agents: dict[StepId, AgentRows] = {}
    for (step, part), call in calls.items():
        node, rounds = step
        agent = agents.setdefault(
            step,
            AgentRows(titles.get(node) or node, node, ".".join(str(n + 1) for n in rounds)),
        )
        number = part.split(".")[0]
        row = next((row for row in agent.rounds if row.number == number), None)
        if row is None:
            row = RoundRow(number)
            agent.rounds.append(row)
        row.calls.append(call)
    for agent in agents.values():
        _draw(agent)
    return list(agents.values())


def _draw(agent: AgentRows) -> None:
    """Place the calls of an agent on its time line, without the time in which the run was paused."""
    total = sum(call.elapsed or 0 for call in agent.calls) or 1
    position = 0.0
    for row in agent.rounds:
        for index, call in enumerate(row.calls):
            share = (call.elapsed or 0) / total * 100
            width = max(share, _MIN_WIDTH)
            start = min(position, 100 - width)
            row.calls[index] = replace(call, start=round(start, 2), width=round(width, 2))
            position += share


def _get_key(node: str, rounds: Iterable[int], part: str) -> tuple[StepId, str]:
    return (node, tuple(rounds)), part


def _cut(text: str) -> str:
    return f"{text[:MAX_TEXT]}…" if len(text) > MAX_TEXT else text
