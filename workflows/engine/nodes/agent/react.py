"""ReAct: for models that cannot call tools. The model writes a thought and an action, and reads the observation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from workflows.engine.language.values import to_json
from workflows.engine.nodes.agent.answer_stream import AnswerStream
from workflows.engine.nodes.agent.react_text import (
    OBSERVATION,
    OBSERVATION_LABEL,
    STOP_WORDS,
    FinalAnswerStream,
    parse_step,
    render_instructions,
)
from workflows.engine.nodes.agent.session import AgentAnswer, AgentSession
from workflows.engine.ports import Message
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolCall


_MAX_MALFORMED: Final = 3  # steps in a row that cannot be read


class React:
    """Implements ``strategies.Strategy`` for models that only write text."""

    name = "react"
    title = gettext_noop("ReAct")

    async def run(self, session: AgentSession) -> AgentAnswer:
        messages = _add_instructions(session)
        number, malformed = 0, 0
        while (limit := session.find_limit(number)) is None:
            number += 1
            stream = FinalAnswerStream(session.open_stream(holds=False))
            answer = await session.call_model(
                f"{number}.model",
                messages,
                stream=stream,
                params={"stop": list(STOP_WORDS)},
                stop_pattern=OBSERVATION,
            )
            if answer.is_cut_off:
                continue
            step = parse_step(answer.text)
            session.begin_round(replace(answer, text=step.thought))
            if step.call is None and not step.error:
                stream.end(is_answer=True)
                return AgentAnswer(step.answer, reasoning=answer.reasoning)
            malformed = malformed + 1 if step.error else 0
            if malformed >= _MAX_MALFORMED:
                return _give_up(answer.text, stream)
            if step.call is not None:
                call = _fit_arguments(step.call, session)
                observation = (await session.call_tool(f"{number}.tool.1", call)).text
            else:
                observation = f"Error: {step.error}"
            messages = [
                *messages,
                Message("assistant", step.text),
                Message("user", f"{OBSERVATION_LABEL}{observation}"),
            ]
        return await session.give_last_answer(number + 1, messages, limit)


def _fit_arguments(call: ToolCall, session: AgentSession) -> ToolCall:
    """Return the call under the tool's own name, and with its input as an object.

    Models often write just the value of the main parameter.
    """
    call = replace(call, name=session.toolbox.find_label(call.name) or call.name)
    tool = session.toolbox.tools.get(call.name)
    value = call.arguments.strip()
    if tool is None or not value or value.startswith("{"):
        return call
    schema = tool.spec.parameters
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    names = [*required] if len(required) == 1 else [*properties]
    return (
        replace(call, arguments=to_json({names[0]: value.strip('"')})) if len(names) == 1 else call
    )


def _give_up(text: str, stream: AnswerStream) -> AgentAnswer:
    """End with the text of a model that does not keep to the format."""
    stream.end(is_answer=True)
    return AgentAnswer(text.strip(), "malformed_action")


def _add_instructions(session: AgentSession) -> list[Message]:
    """Return the first prompt, with the tools and the format after the author's instruction."""
    messages: Sequence[Message] = session.messages
    instructions = render_instructions(session.tools)
    if messages and messages[0].role == "system":
        text = f"{messages[0].text}\n\n{instructions}"
        return [replace(messages[0], text=text), *messages[1:]]
    return [Message("system", instructions), *messages]
