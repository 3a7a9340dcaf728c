"""The rounds of a run's agents: what the model thought, which tools it called, and what they returned, on one time line."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from accounts.principals import Principal
from workflows import selectors
from workflows.engine.nodes.agent.first_prompt import PROMPT_KIND
from workflows.engine.nodes.agent.todo import STATE_KIND
from workflows.engine.nodes.agent.todo_memory import MEMORY_KIND
from workflows.engine.nodes.agent.todo_notes import NOTE_KIND
from workflows.engine.runtime.events import StepPartChange
from workflows.models import Run, StepPart
from workflows.models.documents import from_json
from workflows.services.runs import run_access
from workflows.views.runs.agent_calls import (
    CallKey,
    CallRow,
    StepId,
    add_unfinished,
    build_row,
    get_key,
)
from workflows.views.runs.todo_list import RoundRow, TodoList, build_todo_list


_MIN_WIDTH: Final = 0.6  # percent of the time line, so that a quick call can be seen
# Parts that are no calls: the first prompt, which is shown with the step, and what the todo loop records.
_NO_CALLS: Final = frozenset({PROMPT_KIND, STATE_KIND, NOTE_KIND, MEMORY_KIND})
_TODO_PART: Final = re.compile(r"todo\.(\d+)\.(\d+)\.")
_SIMPLE_PART: Final = re.compile(r"simple\.(\d+)\.")


@dataclass(slots=True)
class AgentRows:
    """The rounds of one step. ``place`` are the rounds of the containers around it, for people.

    The rounds of an agent with to-dos are also in ``todo_list``, by its to-dos.
    """

    title: str
    node: str
    place: str
    rounds: list[RoundRow] = field(default_factory=list)
    todo_list: TodoList | None = None
    round_limit: int = 0  # the limit of rounds that ended the agent, or 0

    @property
    def round_count(self) -> int:
        """Return the number of rounds without the closing answer."""
        return sum(row.number != "answer" for row in self.rounds)

    @property
    def key(self) -> str:
        """Return a text that no other agent on the page has."""
        return f"{self.node}-{self.place}" if self.place else self.node

    @property
    def calls(self) -> list[CallRow]:
        return [call for row in self.rounds for call in row.calls]

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rounds)

    @property
    def tool_count(self) -> int:
        return sum(call.kind == "tool" for call in self.calls)

    @property
    def is_running(self) -> bool:
        return any(call.status == "running" for call in self.calls)


def build_agent_rows(
    principal: Principal, run: Run, node: str = "", rounds: str = ""
) -> list[AgentRows]:
    """Return the agents of a run with their calls; reading an external user's memories is recorded."""
    parts = selectors.list_parts(principal, run, node, rounds)
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
    calls = {
        get_key(part.node_key, part.rounds, part.part): build_row(part)
        for part in parts.exclude(kind__in=_NO_CALLS)
    }
    call_events = [event for event in events if event.data.get("kind") not in _NO_CALLS]
    add_unfinished(calls, call_events, is_live=not run.has_ended)
    nodes = from_json(run.snapshot.document).nodes
    has_todos = any(event.data.get("kind") == STATE_KIND for event in events)
    states, notes = (
        (selectors.list_newest_parts(parts, STATE_KIND), [*parts.filter(kind=NOTE_KIND)])
        if has_todos
        else ([], [])
    )
    titles = {node.id: node.title for node in nodes}
    agents = [
        _build_agent(run, step, rows, titles, states, notes) for step, rows in _group(calls).items()
    ]
    ended_at_limit = {
        (step.node_key, ".".join(str(number + 1) for number in step.rounds))
        for step in selectors.list_steps(principal, run)
        if (step.outputs or {}).get("finish_reason") == "max_rounds"
    }
    for agent in agents:
        if (agent.node, agent.place) in ended_at_limit and not agent.todo_list:
            _mark_limit(agent)
    return agents


def _mark_limit(agent: AgentRows) -> None:
    """Name the limit of rounds, and the last round as the answer that the model gave after it."""
    *before, last = agent.rounds
    if before and all(call.kind == "model" for call in last.calls):
        last.number = "answer"
    agent.round_limit = agent.round_count


def build_rounds_context(principal: Principal, run: Run) -> dict[str, Any]:
    """Return the context of the rounds on the page of a run."""
    agents = build_agent_rows(principal, run)
    return {"agents": agents, "has_todo_list": any(agent.todo_list for agent in agents)}


def _belongs(data: Mapping[str, Any], node: str, rounds: str) -> bool:
    """Return whether a call is one of the node and of the rounds; an empty text stands for all."""
    is_there = not node or data.get("node") == node
    return is_there and (not rounds or ".".join(map(str, data.get("rounds") or ())) == rounds)


def _group(calls: Mapping[CallKey, CallRow]) -> dict[StepId, list[CallRow]]:
    steps: dict[StepId, list[CallRow]] = {}
    for (step, _part), call in calls.items():
        steps.setdefault(step, []).append(call)
    return steps


def _build_agent(
    run: Run,
    step: StepId,
    calls: Iterable[CallRow],
    titles: Mapping[str, str],
    states: Iterable[StepPart],
    notes: Iterable[StepPart],
) -> AgentRows:
    node, numbers = step
    place = ".".join(str(number + 1) for number in numbers)
    state = next((part for part in states if _is_of(part, step)), None)
    rounds: dict[tuple[int, str], RoundRow] = {}
    for call in _draw([*calls]):
        key = _locate(call.part, has_todos=state is not None)
        rounds.setdefault(key, RoundRow(key[1])).calls.append(call)
    todo_list = (
        build_todo_list(run, state, rounds, [part for part in notes if _is_of(part, step)])
        if state is not None
        else None
    )
    return AgentRows(titles.get(node) or node, node, place, [*rounds.values()], todo_list)


def _is_of(part: StepPart, step: StepId) -> bool:
    return (part.node_key, tuple(part.rounds)) == step


def _locate(part: str, *, has_todos: bool) -> tuple[int, str]:
    """Return the number of the to-do that a call belongs to, or 0, and the number of its round."""
    if match := _TODO_PART.match(part):
        return int(match[1]), match[2]
    if part == "plan":
        return 0, "1"
    if match := _SIMPLE_PART.match(part):
        return 0, str(int(match[1]) + 1)
    number, _dot, rest = part.partition(".")
    # At a limit, the answer after the to-dos has the number of its round as its name.
    return 0, "answer" if has_todos and rest == "model" else number


def _draw(calls: Sequence[CallRow]) -> list[CallRow]:
    """Place the calls of an agent on its time line, without the time in which nothing was done.

    Calls that were made at the same time lie below each other.
    """
    starts = []
    ends_at, position = (
        0.0,
        0.0,
    )  # of all calls so far: in unix seconds, and in seconds of the time line
    for call in calls:
        elapsed = call.elapsed or 0
        start = max(position - max(ends_at - call.started_at, 0), 0)
        starts.append(start)
        position = max(position, start + elapsed)
        ends_at = max(ends_at, call.started_at + elapsed)
    total = position or 1
    drawn = []
    for call, start in zip(calls, starts, strict=True):
        width = max((call.elapsed or 0) / total * 100, _MIN_WIDTH)
        left = min(start / total * 100, 100 - width)
        drawn.append(replace(call, start=round(left, 2), width=round(width, 2)))
    return drawn
