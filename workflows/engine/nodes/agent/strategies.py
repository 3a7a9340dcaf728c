"""The strategies of agents: how a model comes from a task to its answer."""

from collections.abc import Mapping
from typing import Final, Protocol

from workflows.engine.nodes.agent.react import React
from workflows.engine.nodes.agent.session import AgentAnswer, AgentSession
from workflows.engine.nodes.agent.todo import TodoLoop
from workflows.engine.texts import gettext_noop


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


class FunctionCalling:
    """Implements ``strategies.Strategy`` for models that can call tools."""

    name = "function_calling"
    title = gettext_noop("Function calling")

    async def run(self, session: AgentSession) -> AgentAnswer:
        messages = [*session.messages]
        number = 0
        while (limit := session.find_limit(number)) is None:
            number += 1
            stream = session.open_stream(holds=bool(session.tools))
            answer = await session.call_model(
                f"{number}.model", messages, session.tools, stream=stream
            )
            if answer.is_cut_off:
                continue
            session.begin_round(answer)
            stream.end(is_answer=not answer.tool_calls)
            if not answer.tool_calls:
                return AgentAnswer(answer.text, answer.finish_reason or "stop", answer.reasoning)
            messages += [answer.message, *await session.call_tools(number, answer.tool_calls)]
        return await session.give_last_answer(number + 1, messages, limit)


_ALL: Final[tuple[Strategy, ...]] = (FunctionCalling(), React(), TodoLoop())
STRATEGIES: Final[Mapping[str, Strategy]] = {strategy.name: strategy for strategy in _ALL}
