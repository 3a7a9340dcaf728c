"""The backends a command may be pointed at, and the model providers a shell run has."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from workflows import memory_app
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest
from workflows.engine.testing.backends import Backend, InProcess
from workflows.execution.ports.http import GuardedHttp
from workflows.llm.offline import OfflineModels
from workflows.sandbox.codes import CodePool
from workflows.sandbox.templates import TemplatePool
from workflows.services.runs.durable_backend import DurableBackend


class BackendRefused(Exception):
    """What was asked for can't be run that way."""


class OfflineOnly:
    """Without the database there are no credentials: only the provider that needs none can answer."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        if request.provider != "offline":
            raise ModelFailed(
                f"No credential for the provider {request.provider!r}: "
                "use --offline, --mocks or --durable"
            )
        return OfflineModels().stream(request)


@dataclass(frozen=True, slots=True)
class Remembers:
    """A memory provider by name, ours or a plug-in's, and what it is made with."""

    provider: str = "in_memory"
    options: Mapping[str, str] = field(default_factory=dict)


HERE = Remembers()


class ShellBackend(InProcess):
    """In this process; unless told otherwise with a memory that lasts as long as the command."""

    def __init__(self, *, offline: bool, remembers: Remembers = HERE) -> None:
        self._templates_pool, self._code_pool = TemplatePool(), CodePool()
        models: ModelPort = OfflineModels() if offline else OfflineOnly()
        self._memory = _memory(remembers)
        super().__init__(
            memory=self._memory,
            models=models,
            templates=self._templates_pool,
            code=self._code_pool,
            http=GuardedHttp(),
        )

    async def close(self) -> None:
        """A provider with connections of its own lets go of them."""
        if (close := getattr(self._memory, "aclose", None)) is not None:
            await close()
        self._templates_pool.close()
        self._code_pool.close()


def backend_for(*, durable: bool, offline: bool, remembers: Remembers = HERE) -> Backend:
    """Raises BackendRefused for a memory that can't be had."""
    if not durable:
        return ShellBackend(offline=offline, remembers=remembers)
    if remembers != HERE:
        raise BackendRefused("--durable runs use the server's memory")
    return DurableBackend()


def _memory(remembers: Remembers) -> "memory_app.MemoryProvider | None":
    if not memory_app.is_on():
        if remembers != HERE:
            raise BackendRefused("memory is disabled: MEMORY_ENABLED is off")
        return None
    if remembers.provider == "postgres":  # it asks nobody's permission
        raise BackendRefused("the server's memory can only be used with --durable")
    try:
        return memory_app.make_provider(remembers.provider, **remembers.options)
    except (memory_app.MemoryFault, TypeError) as wrong:
        raise BackendRefused(str(wrong)) from wrong
