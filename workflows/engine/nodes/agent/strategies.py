"""The strategies of agents: how a model comes from a task to its answer."""

from collections.abc import Mapping
from typing import Final, Protocol

from workflows.engine.nodes.agent.function_calling import FunctionCalling
from workflows.engine.nodes.agent.react import React
from workflows.engine.nodes.agent.session import AgentAnswer, AgentSession
from workflows.engine.nodes.agent.todo import TodoLoop


class Strategy(Protocol):
    """The contract of strategies. They keep no state, because one object serves all runs.

    A strategy makes its calls with ``session.call_model`` and ``session.call_tool`` under names that are the same in
    every attempt, lists its rounds with ``session.begin_round``, and stops when ``session.find_limit`` says so.
    Everything else that it asks of the world, it finds in ``session.config`` and ``session.ctx``.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...

    async def run(self, session: AgentSession) -> AgentAnswer: ...


_ALL: Final[tuple[Strategy, ...]] = (FunctionCalling(), React(), TodoLoop())
STRATEGIES: Final[Mapping[str, Strategy]] = {strategy.name: strategy for strategy in _ALL}
