"""The backends on which the shell commands run workflows."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from workflows import memory_app
from workflows.engine.errors import ModelFailed
from workflows.engine.files.ports import FilePort
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest
from workflows.engine.testing.backends import Backend, InProcessBackend
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.http import GuardedHttp
from workflows.llm.config import DEFAULT, OFFLINE
from workflows.llm.offline import OfflineModels
from workflows.sandbox.code_pool import CodePool
from workflows.sandbox.documents.extractor import DocumentPool
from workflows.sandbox.templates import TemplatePool
from workflows.services.runs.durable_backend import DurableBackend


class BackendRefused(Exception):
    """The requested combination of options can't be run."""


class OfflineOnly:
    """Implements ``engine.ports.ModelPort`` for runs without a database, which can use only the offline provider."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        if request.provider not in (OFFLINE, DEFAULT):
            raise ModelFailed(
                f"No credential for the provider {request.provider!r}: "
                "use --offline, --mocks or --durable"
            )
        return OfflineModels().stream(request)


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """The name of a memory provider, built in or from a plug-in, and its options."""

    provider: str = "in_memory"
    options: Mapping[str, str] = field(default_factory=dict)


IN_MEMORY = MemoryOptions()


class ShellBackend(InProcessBackend):
    """A backend in this process, by default with a memory that lasts as long as the command."""

    def __init__(
        self,
        *,
        offline: bool,
        memory: MemoryOptions = IN_MEMORY,
        files: FilePort | None = None,
    ) -> None:
        self._template_pool, self._code_pool = TemplatePool(), CodePool()
        self._document_pool = DocumentPool()
        models: ModelPort = OfflineModels() if offline else OfflineOnly()
        self._memory = _build_memory(memory)
        super().__init__(
            memory=self._memory,
            models=models,
            templates=self._template_pool,
            code=self._code_pool,
            http=GuardedHttp(),
            files=files,
            documents=self._document_pool,
            kinds=load_kinds(),
        )

    async def close(self) -> None:
        """Close the pools, and the memory provider if it has its own connections."""
        if (close := getattr(self._memory, "aclose", None)) is not None:
            await close()
        self._template_pool.close()
        self._code_pool.close()
        self._document_pool.close()


def build_backend(*, durable: bool, offline: bool, memory: MemoryOptions = IN_MEMORY) -> Backend:
    """Return the backend for a command. Raises BackendRefused for a memory that isn't available."""
    if not durable:
        return ShellBackend(offline=offline, memory=memory)
    if memory != IN_MEMORY:
        raise BackendRefused("--durable runs use the server's memory")
    return DurableBackend()


def _build_memory(options: MemoryOptions) -> "memory_app.MemoryProvider | None":
    if not memory_app.is_on():
        if options != IN_MEMORY:
            raise BackendRefused("memory is disabled: MEMORY_ENABLED is off")
        return None
    if options.provider == "postgres":  # this provider checks no permissions
        raise BackendRefused("the server's memory can only be used with --durable")
    try:
        return memory_app.make_provider(options.provider, **options.options)
    except (memory_app.MemoryFault, TypeError) as error:
        raise BackendRefused(str(error)) from error
