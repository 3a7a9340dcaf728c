"""Measures an agent of Pydantic AI, built once, with the task of `bench.engine` and a function as its model."""

import asyncio
import json

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits

from bench._common import repeat
from bench.peers.agent_task import (
    ANSWER,
    INSTRUCTION,
    QUESTION,
    ROUNDS,
    TOKENS,
    add,
    check_answer,
    describe_round,
)


async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    number = len(messages) // 2  # a request and a response for each round
    # With the tokens given, the model doesn't count words to estimate them.
    usage = RequestUsage(input_tokens=TOKENS[0], output_tokens=TOKENS[1])
    if number == ROUNDS:
        return ModelResponse(parts=[TextPart(ANSWER)], usage=usage)
    thought, arguments = describe_round(number)
    call = ToolCallPart("add", json.dumps(arguments), tool_call_id=f"call-{number}")
    return ModelResponse(parts=[TextPart(thought), call], usage=usage)


agent = Agent(FunctionModel(answer), system_prompt=INSTRUCTION, tools=[add])


async def run() -> None:
    # The default limit is 50 requests, and the last answer is the 51st.
    result = await agent.run(QUESTION, usage_limits=UsageLimits(request_limit=None))
    check_answer(result.output, len(result.all_messages()) // 2 - 1)


loop = asyncio.new_event_loop()
spans = repeat(lambda: loop.run_until_complete(run()), 10)
print(json.dumps({"agent": spans.summarize()}))
