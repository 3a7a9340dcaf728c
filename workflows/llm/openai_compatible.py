"""The client for endpoints with the OpenAI protocol, in the cloud or on the local network."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import openai
from openai import AsyncOpenAI

from config import net
from config.net.transport import Resolver
from workflows.engine.errors import ModelFailed
from workflows.engine.language.document import Json
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.llm.config import ProviderConfig
from workflows.llm.failures import CUT_OFF, FILTERED, NO_ADDRESS, build_failure
from workflows.llm.tokens import estimate_messages, estimate_text


TOTAL_SECONDS: Final = 600.0
IDLE_SECONDS: Final = 90.0  # the time that a model may take before its first word
TEST_SECONDS: Final = 15.0
_MAX_MODELS: Final = 1000

# Part of the OpenAI protocol.
_STANDARD_PARAMETERS: Final = frozenset(
    {"temperature", "top_p", "max_tokens", "max_completion_tokens", "presence_penalty",
     "frequency_penalty", "seed", "stop", "logit_bias", "reasoning_effort", "verbosity"}
)  # fmt: skip
# Understood by many compatible servers; the openai package would refuse them as arguments.
_EXTRA_PARAMETERS: Final = frozenset(
    {"top_k", "min_p", "repetition_penalty", "repeat_penalty", "enable_thinking", "thinking_budget"}
)
_CHAT_PARAMETERS: Final = frozenset({"reasoning_effort", "verbosity", "max_completion_tokens"})

_PROVIDER_ERRORS = (openai.OpenAIError, net.NetFault, OSError, ValueError, KeyError, TypeError)


class OpenAICompatible:
    """The ``ModelPort`` of one provider. It keeps no connection between calls, so any event loop may use it."""

    def __init__(
        self,
        config: ProviderConfig,
        *,
        total_seconds: float = TOTAL_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        allow: Iterable[str] | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._config = config
        self._total_seconds, self._idle_seconds = total_seconds, idle_seconds
        self._network_options: dict[str, Any] = {"allow": allow, "resolver": resolver}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream the answer. Raises ModelFailed, which says whether a retry may help."""
        model = request.model or self._config.default_model
        reader = _AnswerReader(request)
        try:
            async with (
                self._open_client(self._total_seconds, self._idle_seconds) as client,
                await _open_stream(client, request, model) as events,
            ):
                async for event in events:
                    for chunk in reader.read(event):
                        yield chunk
        except Exception as error:
            raise self._convert_error(error, model) from None
        yield reader.build_last_chunk(self._config.name)

    async def list_models(self) -> list[str]:
        """Return the ids of the provider's models, sorted. Raises ModelFailed."""
        try:
            async with self._open_client(TEST_SECONDS, TEST_SECONDS) as client:
                page = await client.models.list()
                names = {str(model.id) for model in page.data[:_MAX_MODELS]}
        except Exception as error:
            raise self._convert_error(error, "") from None
        return sorted(names)

    @asynccontextmanager
    async def _open_client(
        self, total_seconds: float, idle_seconds: float
    ) -> AsyncIterator[AsyncOpenAI]:
        if not self._config.address:
            raise ModelFailed(NO_ADDRESS.format(provider=self._config.name))
        http = net.build_client(timeout=total_seconds, idle=idle_seconds, **self._network_options)
        client = AsyncOpenAI(
            base_url=self._config.address,
            api_key=self._config.api_key or "none",  # local servers need none
            timeout=http.timeout,
            max_retries=0,
            http_client=http,
        )
        # The package would take these from the process's environment, which is not the team's.
        client.organization = client.project = client.admin_api_key = None
        client._custom_headers = {}
        async with client:
            yield client

    def _convert_error(self, error: Exception, model: str) -> ModelFailed:
        if isinstance(error, ModelFailed):
            return error
        if not (isinstance(error, _PROVIDER_ERRORS) or type(error).__module__.startswith("http")):
            raise error  # a bug of the application must not be hidden
        return build_failure(error, provider=self._config.name, model=model)


class _AnswerReader:
    """Reads the events of one streamed answer, in which any field may be missing."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._usage: Usage | None = None
        self._finish_reason: str | None = None
        self._token_count = 0

    def read(self, event: Any) -> Iterable[ModelChunk]:
        if usage := getattr(event, "usage", None):
            self._usage = _parse_usage(usage)
        for choice in (getattr(event, "choices", None) or [])[:1]:
            self._finish_reason = getattr(choice, "finish_reason", None) or self._finish_reason
            text, reasoning = _read_texts(choice)
            if text or reasoning:
                self._token_count += estimate_text(text + reasoning)
                yield ModelChunk(text=text, reasoning=reasoning)

    def build_last_chunk(self, provider: str) -> ModelChunk:
        """Return the chunk that ends the answer. Raises ModelFailed if the provider did not complete it."""
        if self._finish_reason is None:
            raise ModelFailed(CUT_OFF.format(provider=provider), retryable=True)
        if self._finish_reason == "content_filter":
            raise ModelFailed(FILTERED.format(provider=provider))
        estimated = Usage(estimate_messages(self._request.messages), self._token_count)
        return ModelChunk(finish_reason=self._finish_reason, usage=self._usage or estimated)


def _read_texts(choice: Any) -> tuple[str, str]:
    delta = getattr(choice, "delta", None)
    if delta is None:  # completion mode
        return str(getattr(choice, "text", None) or ""), ""
    reasoning = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
    text = getattr(delta, "content", None) or getattr(delta, "refusal", None)
    return _to_text(text), _to_text(reasoning)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _parse_usage(usage: Any) -> Usage:
    counts = (getattr(usage, name, 0) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(*(count if isinstance(count, int) and count >= 0 else 0 for count in counts))


async def _open_stream(client: AsyncOpenAI, request: ModelRequest, model: str) -> Any:
    """Open the stream. For servers that don't know ``stream_options``, the request is repeated without it."""
    create, arguments = _build_call(client, request, model)
    try:
        return await create(**arguments, stream_options={"include_usage": True})
    except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
        if "stream_options" not in f"{error.message} {error.body!r}":
            raise
        return await create(**arguments)


def _build_call(
    client: AsyncOpenAI, request: ModelRequest, model: str
) -> tuple[Any, dict[str, Any]]:
    # Any: the package's overloads can't take arguments from a table.
    arguments: dict[str, Any] = {"model": model, "stream": True, **_build_arguments(request)}
    if request.mode == "completion":
        prompt = "\n\n".join(message.text for message in request.messages)
        return client.completions.create, {**arguments, "prompt": prompt}
    messages = [{"role": message.role, "content": message.text} for message in request.messages]
    return client.chat.completions.create, {**arguments, "messages": messages}


def _build_arguments(request: ModelRequest) -> dict[str, Any]:
    """Return the arguments except the model and the messages. Unknown settings are never sent."""
    params = {name: value for name, value in request.params.items() if value is not None}
    arguments = {name: params[name] for name in _STANDARD_PARAMETERS & params.keys()}
    if request.mode == "completion":
        for name in _CHAT_PARAMETERS & arguments.keys():
            del arguments[name]
    elif response_format := _build_response_format(request, params):
        arguments["response_format"] = response_format
    if extra := {name: params[name] for name in _EXTRA_PARAMETERS & params.keys()}:
        arguments["extra_body"] = extra
    return arguments


def _build_response_format(
    request: ModelRequest, params: Mapping[str, Json]
) -> dict[str, Any] | None:
    if request.json_schema:
        schema = request.json_schema
        if "type" not in schema and isinstance(schema.get("schema"), Mapping):
            json_schema: dict[str, Any] = {"name": "answer", **schema}
        else:
            json_schema = {"name": "answer", "schema": dict(schema), "strict": True}
        return {"type": "json_schema", "json_schema": json_schema}
    response_format = params.get("response_format")
    if isinstance(response_format, Mapping):
        return dict(response_format)
    return {"type": response_format} if response_format in ("json_object", "text") else None
