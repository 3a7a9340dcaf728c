"""What the real model server is asked besides plain text: a tool call, and an object of a schema.

A model of 135 million parameters calls tools only when the conversation shows it how, so a few turns before the
question do. The chat template is ours, because the model's own ignores tools without a word.
"""

import json
from dataclasses import replace
from typing import Any

from workflows.engine.errors import ModelFailed
from workflows.engine.ports import Message, ModelChunk, ModelRequest, Origin
from workflows.engine.tool_calls import ToolCall, ToolSpec
from workflows.llm.config import ProviderConfig
from workflows.llm.openai_compatible import OpenAICompatible


CHAT_TEMPLATE = """
{%- macro say(role, text) -%}{{ '<|im_start|>' + role + '\\n' + text + '<|im_end|>\\n' }}{%- endmacro -%}
{%- if tools -%}
  {{- '<|im_start|>system\\n# Tools\\n<tools>' -}}
  {%- for tool in tools -%}{{- '\\n' + (tool | tojson) -}}{%- endfor -%}
  {{- '\\n</tools>\\nTo call a function, write:\\n<tool_call>\\n{"name": <name>, "arguments": <object>}\\n</tool_call>' -}}
  {{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    {{- '<|im_start|>assistant\\n' + (message.content or '') -}}
    {%- for tool_call in message.tool_calls -%}
      {%- set call = tool_call.function -%}
      {{- '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' -}}
      {{- call.arguments if call.arguments is string else (call.arguments | tojson) -}}
      {{- '}\\n</tool_call>' -}}
    {%- endfor -%}
    {{- '<|im_end|>\\n' -}}
  {%- elif message.role == 'tool' -%}
    {{- say('user', 'Result: ' + message.content) -}}
  {%- else -%}
    {{- say(message.role, message.content) -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""

WEATHER = ToolSpec(
    "get_weather",
    "Weather of a city",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 12}},
        "required": ["city"],
    },
)
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "sunny": {"type": "boolean"}},
    "required": ["city", "sunny"],
    "additionalProperties": False,
}


def build_tool_request(model: str) -> ModelRequest:
    """Return a request after three turns in which a tool was called."""
    messages: list[Message] = []
    for number, city in enumerate(("Rome", "Oslo", "Lima"), start=1):
        call = ToolCall(f"c{number}", WEATHER.name, json.dumps({"city": city}))
        messages += (
            Message("user", f"What is the weather in {city}?"),
            Message("assistant", "", tool_calls=(call,)),
            Message("tool", "Sunny", tool_call_id=call.id),
        )
    messages.append(Message("user", "What is the weather in Paris?"))
    return ModelRequest(
        "openai",
        model,
        tuple(messages),
        Origin("bench", "n", "k"),
        params={"temperature": 0, "max_tokens": 60},
        tools=(WEATHER,),
    )


def build_schema_request(model: str) -> ModelRequest:
    plain = replace(build_tool_request(model), tools=())
    return replace(plain, messages=plain.messages[-1:], json_schema=SCHEMA)


async def measure_protocol(config: ProviderConfig) -> dict[str, Any]:
    """Return what the provider makes of the server's tool call, of its object, and of its refusal of a tool."""
    provider = OpenAICompatible(config)
    request = build_tool_request(config.default_model)
    called = (await _collect(provider, request))[-1]
    answered = await _collect(provider, build_schema_request(config.default_model))
    broken_request = replace(request, tools=(ToolSpec("broken", "", {"type": "nonsense"}),))
    return {
        "tool_finish": called.finish_reason,
        "tool_calls": [(call.name, call.arguments) for call in called.tool_calls],
        "object": "".join(chunk.text for chunk in answered),
        "broken_tool": await _get_failure(provider, broken_request),
    }


async def _collect(provider: OpenAICompatible, request: ModelRequest) -> list[ModelChunk]:
    return [chunk async for chunk in provider.stream(request)]


async def _get_failure(provider: OpenAICompatible, request: ModelRequest) -> str:
    try:
        await _collect(provider, request)
    except ModelFailed as failed:
        return failed.message
    return ""
