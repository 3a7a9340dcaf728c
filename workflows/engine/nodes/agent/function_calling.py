"""Function calling: the model calls tools in rounds, until it answers without a call."""

from workflows.engine.nodes.agent.session import AgentAnswer, AgentSession
from workflows.engine.texts import gettext_noop


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
