"""Selects the provider that answers a request: the team's provider of that name, or the offline provider."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Final, Literal, TypeVar

from config import net, plugins
from config.redaction import Redactor, StreamRedactor, build_redactor
from workflows.engine.errors import ModelFailed, ModelNeeded, RerankUnavailable
from workflows.engine.ports import (
    FailedModel,
    ModelChunk,
    ModelPort,
    ModelRequest,
    ModelSource,
    RerankPort,
    RerankRequest,
    RerankResult,
    Usage,
)
from workflows.engine.tool_calls import ToolCall
from workflows.llm.config import OFFLINE, OPENAI_COMPATIBLE, ProviderConfig, normalize_name
from workflows.llm.directory import Mapping as ModelMapping
from workflows.llm.directory import ModelDirectory, Resolution
from workflows.llm.measuring import measure_call
from workflows.llm.offline import OfflineModels
from workflows.llm.offline.script import SCRIPT
from workflows.llm.tokens import estimate_request


T = TypeVar("T")

log = logging.getLogger(__name__)

Fallback = Literal["offline", "error"]
Factory = Callable[[ProviderConfig], ModelPort]
# Waits until the provider may be called once more, and counts the call while the context is open.
OpenSlot = Callable[[ProviderConfig], AbstractAsyncContextManager[None]]

_LENGTH_PARAMETERS: Final = ("max_tokens", "max_completion_tokens")
_RETRY_SECONDS: Final = 0.5  # before the first retry; each further one waits twice as long
# A request isn't repeated if the provider asks for a longer wait.
_MAX_RETRY_SECONDS: Final = 60.0
_MAX_WAIT_WITH_FALLBACK: Final = 2.0  # before the fallback model is asked instead


# Is told how a call of a provider ended, with a failure or None after an answer, and the model if it isn't one that
# writes texts: a team adds those one by one.
Report = Callable[[ProviderConfig, ModelFailed | None, str], Awaitable[None]]


async def report_nothing(
    config: ProviderConfig, failure: ModelFailed | None, added_model: str
) -> None:
    """Tell nobody how a call ended."""


@asynccontextmanager
async def open_any_slot(config: ProviderConfig) -> AsyncIterator[None]:
    """Allow any number of calls at once."""
    yield


def list_factories() -> dict[str, Factory]:
    """Return a factory for each kind of provider, including those of plug-ins (``model_providers``)."""
    plugged = plugins.collect_mappings("model_providers")
    for name in _BUILT_IN.keys() & plugged.keys():
        raise plugins.PluginConflict("model_providers", name)
    return {**_BUILT_IN, **plugged}


def preload_calls() -> None:
    """Load the openai package and the certificates in the background, so that the first model call needn't wait."""
    threading.Thread(target=_load_what_calls_need, name="preload-calls", daemon=True).start()


def _load_what_calls_need() -> None:
    import_module("workflows.llm.openai_compatible")
    net.load_tls_contexts()


class TeamModels:
    """The ``ModelPort`` of a team, which passes each request to the model that answers for the one it names.

    With ``fallback="offline"`` the offline provider answers requests for which the team has no model. It says so in
    every answer. In a new installation it answers all requests.
    """

    def __init__(
        self,
        configs: Iterable[ProviderConfig] = (),
        *,
        mappings: Iterable[ModelMapping] = (),
        reranker: tuple[str, str] | None = None,
        fallback: Fallback = "offline",
        open_slot: OpenSlot = open_any_slot,
        report: Report = report_nothing,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.directory = ModelDirectory(configs, mappings, reranker)
        self._fallback = fallback
        self._open_slot, self._report, self._sleep = open_slot, report, sleep
        self._ports: dict[str, ModelPort] = {}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream the answer of the model, or of its fallback model if it fails before its first word."""
        failed: tuple[FailedModel, ...] = ()
        may_pass = False
        candidates = self.directory.list_candidates(
            request.provider, request.model, request.fallback
        )
        for candidate in candidates:
            is_last, has_begun = candidate is candidates[-1], False
            try:
                if candidate.config is None and not is_last:
                    raise self._build_missing(request.provider)
                chunks = self._ask(request, candidate, failed, has_fallback=not is_last)
                async with aclosing(chunks):  # type: ignore[type-var]
                    async for chunk in chunks:
                        has_begun = True
                        yield chunk
            except ModelFailed as failure:
                may_pass = failure.retryable = may_pass or failure.retryable
                # Another model can't continue what this one began.
                if is_last or has_begun:
                    raise
                log.info("model_fallback", extra={"provider": request.provider})
                failed = (*failed, _describe_failure(request, candidate, failure))
            else:
                return

    async def is_offline(self, request: ModelRequest) -> bool:
        """Return whether the offline provider would answer the request, without a script."""
        candidates = self.directory.list_candidates(
            request.provider, request.model, request.fallback
        )
        return SCRIPT not in request.params and all(each.is_offline for each in candidates)

    async def estimate(self, request: ModelRequest) -> Usage | None:
        """Return the tokens and the cost of the longest answer of any model that may be asked; None if one has no limit."""
        candidates = self.directory.list_candidates(
            request.provider, request.model, request.fallback
        )
        usages = [_estimate(request, candidate) for candidate in candidates]
        highest = Usage()
        for usage in usages:
            if usage is None:
                return None
            highest = Usage(
                max(highest.prompt_tokens, usage.prompt_tokens),
                max(highest.completion_tokens, usage.completion_tokens),
                max(highest.cost or 0.0, usage.cost or 0.0),
            )
        return highest

    async def _ask(
        self,
        request: ModelRequest,
        resolution: Resolution,
        failed: tuple[FailedModel, ...],
        *,
        has_fallback: bool,
    ) -> AsyncIterator[ModelChunk]:
        config = resolution.config
        source = ModelSource(resolution.provider, resolution.model, failed=failed)
        port = self._get_port(request.provider, resolution)
        price = config.find_price(resolution.model) if config else None
        redactor = build_redactor([config.api_key] if config else [])
        text_redactor, reasoning_redactor = redactor.stream(), redactor.stream()
        if config is None:
            chunks = port.stream(request)
        else:
            request = _address_request(request, resolution.model, config)
            longest_wait = _MAX_WAIT_WITH_FALLBACK if has_fallback else _MAX_RETRY_SECONDS
            call = partial(port.stream, request)
            chunks = self._call_with_retries(call, config, longest_wait=longest_wait)
        try:
            async with aclosing(chunks):  # type: ignore[type-var]
                async for chunk in chunks:
                    if redactor:
                        chunk = _redact_key(chunk, redactor, text_redactor, reasoning_redactor)
                    if price is not None and chunk.usage is not None:
                        usage = replace(chunk.usage, cost=price.compute_cost(chunk.usage))
                        chunk = replace(chunk, usage=usage)
                    version = chunk.source.version if chunk.source else ""
                    yield replace(chunk, source=replace(source, version=version))
        except ModelNeeded as failure:
            failure = self._explain_offline(request, failure)
            failure.source = source
            raise failure from None
        except ModelFailed as failure:
            failure.source = source
            raise

    async def rerank(self, request: RerankRequest) -> RerankResult:
        """Return the scores from the model that the request names, or that the team chose for it or for all.

        Raises RerankUnavailable if there is none, because no model that writes texts can stand in.
        """
        resolution = self.directory.find_reranker(request.provider, request.model)
        config = resolution.config if resolution else None
        if resolution is None or config is None:
            if not request.model:
                raise RerankUnavailable("no reranking model is chosen")
            raise RerankUnavailable(
                f"the model {request.model} of {request.provider} is not connected"
            )
        name = resolution.provider
        port: object = self._ports.setdefault(name, self._ports.get(name) or build_port(config))
        if not isinstance(port, RerankPort):
            raise RerankUnavailable(f"the provider {config.name} has no models for reranking")
        source = ModelSource(name, resolution.model)
        addressed = replace(request, model=resolution.model)

        async def call() -> AsyncIterator[RerankResult]:
            yield await port.rerank(addressed)

        try:
            calls = self._call_with_retries(call, config, added_model=resolution.model)
            # To its end, so that its success is reported.
            [result] = [result async for result in calls]
        except ModelFailed as failure:
            failure.source = source
            raise
        price = config.find_price(resolution.model)
        if price is not None and result.usage is not None:
            usage = replace(result.usage, cost=price.compute_cost(result.usage))
            result = replace(result, usage=usage)
        return replace(result, source=source)

    def _explain_offline(self, request: ModelRequest, failure: ModelNeeded) -> ModelNeeded:
        """Return a failure that says why the offline model was asked although the team has a model."""
        if self.directory.is_empty:
            return failure
        if normalize_name(request.provider) == OFFLINE:
            advice = "This node uses the offline demo model. Select another one in the node."
        else:
            advice = "The default model is the offline demo model. Choose another one under Models."
        return ModelNeeded(f"{ModelNeeded.reason} {advice}")

    def get_port(self, provider: str, model: str = "") -> ModelPort:
        """Return the port of the model that answers. Raises ModelFailed without a model, if no fallback is allowed."""
        return self._get_port(provider, self.directory.resolve(provider, model))

    def _get_port(self, provider: str, resolution: Resolution) -> ModelPort:
        config, name = resolution.config, resolution.provider
        if config is None and normalize_name(provider) != OFFLINE and self._fallback == "error":
            raise self._build_missing(provider)
        if name not in self._ports:
            self._ports[name] = OfflineModels() if config is None else build_port(config)
        return self._ports[name]

    @staticmethod
    def _build_missing(provider: str) -> ModelFailed:
        return ModelFailed(
            f"The model provider {provider[:80]!r} is not connected. "
            "Connect it under Models, or select another one in the node."
        )

    async def _call_with_retries(
        self,
        call: Callable[[], AsyncIterator[T]],
        config: ProviderConfig,
        *,
        longest_wait: float = _MAX_RETRY_SECONDS,
        added_model: str = "",
    ) -> AsyncIterator[T]:
        """Stream an answer. A request that fails before its first word, for a reason that may pass, is repeated.

        The result of the last request is reported, as it tells whether the provider can be reached.
        """
        tries = 0
        while True:
            has_begun = False
            try:
                measured = measure_call(config.kind, call())
                async with self._open_slot(config), aclosing(measured) as chunks:
                    async for chunk in chunks:
                        has_begun = True
                        yield chunk
            except ModelFailed as failure:
                tries += 1
                seconds = max(_RETRY_SECONDS * 2 ** (tries - 1), failure.retry_after or 0)
                is_given_up = has_begun or not failure.retryable or tries > config.max_retries
                if is_given_up or seconds > longest_wait:
                    await self._report(config, failure, added_model)
                    raise
                log.info(
                    "model_retried",
                    extra={"provider": config.name, "tries": tries, "seconds": seconds},
                )
                await self._sleep(seconds)
            else:
                await self._report(config, None, added_model)
                return


def _describe_failure(
    request: ModelRequest, candidate: Resolution, failure: ModelFailed
) -> FailedModel:
    if candidate.config is None:  # it is not connected, so the document's name is all that is known
        return FailedModel(normalize_name(request.provider), request.model, failure.message)
    return FailedModel(candidate.provider, candidate.model, failure.message)


def _address_request(request: ModelRequest, model: str, config: ProviderConfig) -> ModelRequest:
    """Return the request to the model that answers, with the provider's length limit if it has none."""
    params = request.params
    has_limit = any(params.get(name) for name in _LENGTH_PARAMETERS)
    if config.max_tokens and not has_limit:
        params = {**params, "max_tokens": config.max_tokens}
    return replace(request, model=model, params=params)


def _estimate(request: ModelRequest, candidate: Resolution) -> Usage | None:
    config = candidate.config
    if config is None:
        return None
    params = _address_request(request, candidate.model, config).params
    lengths = [params[name] for name in _LENGTH_PARAMETERS if isinstance(params.get(name), int)]
    if not lengths:
        return None
    usage, price = (
        Usage(estimate_request(request), max(lengths)),
        config.find_price(candidate.model),
    )
    return replace(usage, cost=price.compute_cost(usage)) if price is not None else usage


def build_port(config: ProviderConfig) -> ModelPort:
    factory = list_factories().get(config.kind)
    if factory is None:
        raise ModelFailed(f"No installed plug-in supports providers of type {config.kind!r}.")
    return factory(config)


def _redact_key(
    chunk: ModelChunk,
    redactor: Redactor,
    text_redactor: StreamRedactor,
    reasoning_redactor: StreamRedactor,
) -> ModelChunk:
    """Return the chunk without the provider's key, which an answer may repeat."""
    is_last = chunk.finish_reason is not None
    return replace(
        chunk,
        text=text_redactor.add(chunk.text) + (text_redactor.end() if is_last else ""),
        reasoning=reasoning_redactor.add(chunk.reasoning)
        + (reasoning_redactor.end() if is_last else ""),
        tool_calls=tuple(_redact_call(call, redactor) for call in chunk.tool_calls),
    )


def _redact_call(call: ToolCall, redactor: Redactor) -> ToolCall:
    return ToolCall(*map(redactor.redact_text, (call.id, call.name, call.arguments)))


def _build_openai_compatible(config: ProviderConfig) -> ModelPort:
    # Inline import: the openai package takes longer to load than the rest of the application together.
    from workflows.llm.openai_compatible import OpenAICompatible  # noqa: PLC0415

    return OpenAICompatible(config)


_BUILT_IN: Mapping[str, Factory] = {
    OPENAI_COMPATIBLE: _build_openai_compatible,
    OFFLINE: lambda _: OfflineModels(),
}
