"""The backends a command may be pointed at, and the model providers a shell run has."""

from collections.abc import AsyncIterator

from workflows import memory_app
from workflows.engine.backends import Backend, InProcess
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest
from workflows.execution.http import GuardedHttp
from workflows.llm.offline import OfflineModels
from workflows.sandbox.codes import CodePool
from workflows.sandbox.templates import TemplatePool
from workflows.services.durable import DurableBackend


class OfflineOnly:
    """Without the database there are no credentials: only the provider that needs none can answer."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        if request.provider != "offline":
            raise ModelFailed(
                f"No credential for the provider {request.provider!r} here: "
                "use --offline, --mocks or --durable"
            )
        return OfflineModels().stream(request)


class ShellBackend(InProcess):
    """In this process, with a memory that lasts as long as the command."""

    def __init__(self, *, offline: bool) -> None:
        self._templates_pool, self._code_pool = TemplatePool(), CodePool()
        models: ModelPort = OfflineModels() if offline else OfflineOnly()
        super().__init__(
            memory=_memory(),
            models=models,
            templates=self._templates_pool,
            code=self._code_pool,
            http=GuardedHttp(),
        )

    async def close(self) -> None:
        self._templates_pool.close()
        self._code_pool.close()


def backend_for(*, durable: bool, offline: bool) -> Backend:
    return DurableBackend() if durable else ShellBackend(offline=offline)


def _memory() -> "memory_app.InMemoryProvider | None":
    return memory_app.InMemoryProvider() if memory_app.is_on() else None
