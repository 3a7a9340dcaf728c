"""Selects the provider that answers a request: the team's provider of that name, or the offline provider."""

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Literal

from config import plugins
from config.redaction import Redactor, StreamRedactor, build_redactor
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest
from workflows.engine.tool_calls import ToolCall
from workflows.llm.config import OFFLINE, OPENAI_COMPATIBLE, ProviderConfig, normalize_name
from workflows.llm.offline import OfflineModels


Fallback = Literal["offline", "error"]
Factory = Callable[[ProviderConfig], ModelPort]


def list_factories() -> dict[str, Factory]:
    """Return a factory for each kind of provider, including those of plug-ins (``model_providers``)."""
    plugged = plugins.collect_mappings("model_providers")
    for name in _BUILT_IN.keys() & plugged.keys():
        raise plugins.PluginConflict("model_providers", name)
    return {**_BUILT_IN, **plugged}


def preload_openai() -> None:
    """Load the openai package in the background, so that the first model call needn't wait for it."""
    name = "workflows.llm.openai_compatible"
    threading.Thread(target=import_module, args=[name], name="preload-openai", daemon=True).start()


class TeamModels:
    """The ``ModelPort`` of a team, which passes each request to the provider that it names.

    With ``fallback="offline"`` the offline provider answers requests to providers that the team hasn't connected. It
    says so in every answer. In a new installation it answers all requests.
    """

    def __init__(
        self, configs: Iterable[ProviderConfig] = (), *, fallback: Fallback = "offline"
    ) -> None:
        self._configs = {normalize_name(config.name): config for config in configs}
        self._fallback = fallback
        self._ports: dict[str, ModelPort] = {}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        config = self._find_config(request.provider)
        if config and not request.model:
            request = replace(request, model=config.default_model)
        price = config.find_price(request.model) if config else None
        redactor = build_redactor([config.api_key] if config else [])
        text_redactor, reasoning_redactor = redactor.stream(), redactor.stream()
        async for chunk in self.get_port(request.provider).stream(request):
            if redactor:
                chunk = _redact_key(chunk, redactor, text_redactor, reasoning_redactor)
            if price is not None and chunk.usage is not None:
                usage = replace(chunk.usage, cost=price.compute_cost(chunk.usage))
                chunk = replace(chunk, usage=usage)
            yield chunk

    def get_port(self, provider: str) -> ModelPort:
        """Return the provider's port. Raises ModelFailed if the team has no such provider and no fallback is allowed."""
        name = normalize_name(provider)
        if name not in self._ports:
            self._ports[name] = self._build_port(name, provider)
        return self._ports[name]

    def _find_config(self, provider: str) -> ProviderConfig | None:
        """Return the provider of that name. A node that names none gets the first one that is connected."""
        name = normalize_name(provider)
        return self._configs.get(name) if name else next(iter(self._configs.values()), None)

    def _build_port(self, name: str, provider: str) -> ModelPort:
        config = self._find_config(provider)
        if config is None and (name == OFFLINE or self._fallback == "offline"):
            return OfflineModels()
        if config is None:
            raise ModelFailed(
                f"The model provider {provider[:80]!r} is not connected. "
                "Connect it under Models, or select another one in the node."
            )
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
