"""The backends a command may be pointed at, and the model providers a shell run has."""

from collections.abc import AsyncIterator

from django.core.management.base import CommandError
from django.utils.module_loading import import_string

from memory.providers.in_memory import InMemoryProvider
from workflows.engine.backends import Backend, InProcess
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest
from workflows.llm.offline import OfflineModels
from workflows.sandbox.templates import TemplatePool


DURABLE = "workflows.services.durable.DurableBackend"


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
        self._templates_pool = TemplatePool()
        models: ModelPort = OfflineModels() if offline else OfflineOnly()
        super().__init__(memory=InMemoryProvider(), models=models, templates=self._templates_pool)

    async def close(self) -> None:
        self._templates_pool.close()


def backend_for(*, durable: bool, offline: bool) -> Backend:
    if not durable:
        return ShellBackend(offline=offline)
    try:
        made = import_string(DURABLE)()
    except ImportError as missing:
        raise CommandError(f"Durable runs are not available: {missing}") from missing
    return made  # type: ignore[no-any-return]
