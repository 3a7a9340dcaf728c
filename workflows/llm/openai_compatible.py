"""The client for endpoints with the OpenAI protocol, in the cloud or on the local network."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import openai
from openai import AsyncOpenAI

from config import net
from config.net.backends import Resolver
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import ModelChunk, ModelRequest, RerankRequest, RerankResult
from workflows.llm.answer_reader import AnswerReader
from workflows.llm.config import ProviderConfig
from workflows.llm.failure_messages import NO_ADDRESS
from workflows.llm.failures import build_failure
from workflows.llm.request_arguments import build_arguments
from workflows.llm.reranking import send_rerank
from workflows.llm.response_formats import (
    AnswerFormat,
    find_weaker_format,
    get_format,
    remember_format,
)


TEST_SECONDS: Final = 15.0
_MAX_MODELS: Final = 1000
IDEMPOTENCY: Final = "Idempotency-Key"
_ANTHROPIC_HOST: Final = "api.anthropic.com"  # lists its models in its own protocol

_REFUSALS = (openai.BadRequestError, openai.UnprocessableEntityError)
# RecursionError is what JSON that is nested too deeply raises.
_PROVIDER_ERRORS = (
    openai.OpenAIError,
    net.NetFault,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    RecursionError,
)


class OpenAICompatible:
    """The ``ModelPort`` of one provider. It holds no connection itself, so any event loop may use it.

    In a loop that keeps connections, as a worker's does, calls with the same address and key use the same ones.
    """

    def __init__(
        self,
        config: ProviderConfig,
        *,
        total_seconds: float | None = None,
        idle_seconds: float | None = None,
        allow: Iterable[str] | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._config = config
        self._total_seconds = total_seconds or config.total_seconds
        self._idle_seconds = idle_seconds or config.idle_seconds
        self._network_options: dict[str, Any] = {"allow": allow, "resolver": resolver}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream the answer. Raises ModelFailed, which says whether a retry may help."""
        model = request.model or self._config.default_model
        reader = AnswerReader(request, self._config.name)
        try:
            async with (
                self._open_client(self._total_seconds, self._idle_seconds) as client,
                await self._open_stream(client, request, model) as events,
            ):
                async for event in events:
                    for chunk in reader.read(event):
                        yield chunk
        except Exception as error:
            raise self._convert_error(error, model, request) from None
        yield reader.build_last_chunk()

    async def rerank(self, request: RerankRequest) -> RerankResult:
        """Return the scores of the documents. Raises ModelFailed, which says whether a retry may help."""
        model = request.model or self._config.default_model
        keys = _IdempotencyKeys(request.origin.idempotency_key)
        seconds = min(self._total_seconds, self._idle_seconds)  # nothing is streamed
        try:
            async with self._open_client(seconds, seconds) as client:
                return await send_rerank(client, request, model, keys.build_headers())
        except Exception as error:
            raise self._convert_error(error, model) from None

    async def list_models(self) -> list[str]:
        """Return the ids of the provider's models, sorted. Raises ModelFailed."""
        try:
            seconds = min(TEST_SECONDS, self._total_seconds)
            async with self._open_client(seconds, seconds) as client:
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
        http = net.build_client(
            timeout=total_seconds,
            idle=idle_seconds,
            for_models=True,
            owner=("model", self._config.address, self._config.api_key),
            **self._network_options,
        )
        client = AsyncOpenAI(
            base_url=self._config.address,
            api_key=self._config.api_key or "none",  # local servers need none
            timeout=http.timeout,
            max_retries=0,
            http_client=http,
        )
        # The package would take these from the process's environment, which is not the team's.
        client.organization = client.project = client.admin_api_key = None
        client._custom_headers = self._build_headers()
        async with client:
            yield client

    def _build_headers(self) -> dict[str, str]:
        """Return the headers that an endpoint needs besides those of the protocol."""
        if urlsplit(self._config.address).hostname == _ANTHROPIC_HOST:
            return {"x-api-key": self._config.api_key, "anthropic-version": "2023-06-01"}
        return {}

    async def _open_stream(self, client: AsyncOpenAI, request: ModelRequest, model: str) -> Any:
        """Open the stream, in the strictest format of answers that the endpoint accepts."""
        address = self._config.address
        answer_format = get_format(address, model)
        is_lasting = False
        keys = _IdempotencyKeys(request.origin.idempotency_key)
        while True:
            try:
                stream = await _create_stream(client, request, model, answer_format, keys)
            except _REFUSALS as error:
                weaker = find_weaker_format(error, answer_format) if request.json_schema else None
                if weaker is None:
                    raise
                answer_format, is_format_refused = weaker
                is_lasting = is_lasting or is_format_refused
            else:
                if is_lasting:
                    remember_format(address, model, answer_format)
                return stream

    def _convert_error(
        self, error: Exception, model: str, request: ModelRequest | None = None
    ) -> ModelFailed:
        if isinstance(error, ModelFailed):
            return error
        if not (isinstance(error, _PROVIDER_ERRORS) or type(error).__module__.startswith("http")):
            raise error  # a bug of the application must not be hidden
        return build_failure(
            error,
            provider=self._config.name,
            model=model,
            address=self._config.address,
            request=request,
        )


class _IdempotencyKeys:
    """The keys of the calls of one step, the same in every attempt at the run.

    A call that is repeated in another form, because an endpoint refused the first one, is another request, and gets a key
    of its own: an endpoint may refuse a key that it knows with another body.
    """

    def __init__(self, key: str) -> None:
        self._key, self._count = key, 0

    def build_headers(self) -> dict[str, str]:
        """Return the header of the next call; none without a key, or with one that no header can have."""
        self._count += 1
        if not (self._key and self._key.isascii() and self._key.isprintable()):
            return {}
        suffix = "" if self._count == 1 else f"#{self._count}"
        return {IDEMPOTENCY: f"{self._key}{suffix}"}


async def _create_stream(
    client: AsyncOpenAI,
    request: ModelRequest,
    model: str,
    answer_format: AnswerFormat,
    keys: _IdempotencyKeys,
) -> Any:
    """Send the request. For servers that don't know ``stream_options``, it is repeated without it."""
    # Any: the package's overloads can't take arguments from a table.
    arguments = build_arguments(request, model, answer_format)
    create: Any = client.chat.completions.create
    if request.mode == "completion":
        create = client.completions.create
    try:
        return await create(
            **arguments,
            stream_options={"include_usage": True},
            extra_headers=keys.build_headers(),
        )
    except _REFUSALS as error:
        if "stream_options" not in f"{error.message} {error.body!r}":
            raise
        return await create(**arguments, extra_headers=keys.build_headers())
