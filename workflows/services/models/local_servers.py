"""Finds model servers on this machine, for the page Models. Only loopback addresses are called, and only if the operator allows it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings

from accounts.access import Principal
from accounts.request_transaction import without_connection
from accounts.tenancy import tenant
from workflows import permissions
from workflows.llm.config import ProviderConfig
from workflows.llm.presets import PRESETS, Preset
from workflows.models import ModelProvider
from workflows.services.models.connecting import run_test


SECONDS: Final = 2.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server that answered, with the names of its models."""

    preset: Preset
    base_url: str
    models: tuple[str, ...]


def find_local_servers(
    principal: Principal, team_id: UUID, *, own_port: int | None = None
) -> list[LocalServer]:
    """Return the model servers on this machine that the team has not connected yet.

    ``own_port`` is the port of this application, which is not asked.
    """
    permissions.check_manage(principal, team_id)
    if not settings.LOCAL_MODELS:
        return []
    with tenant([team_id]):
        rows = ModelProvider.objects.unscoped().filter(team_id=team_id)
        connected = {
            _get_port(url) for url in rows.values_list("base_url", flat=True) if _is_local(url)
        }
    candidates = [
        (preset, url)
        for preset, url in list_candidates()
        if _get_port(url) not in connected and _get_port(url) != own_port
    ]
    if not candidates:
        return []
    with without_connection(), ThreadPoolExecutor(len(candidates)) as pool:
        servers = pool.map(lambda candidate: _ask(*candidate), candidates)
        return [server for server in servers if server]


def list_candidates() -> Iterator[tuple[Preset, str]]:
    """Yield the kinds of local servers with the address on which each listens."""
    for preset in PRESETS:
        if preset.name == "ollama":
            yield preset, _build_ollama_url(settings.OLLAMA_HOST) or preset.base_url
        elif preset.is_local:
            yield preset, preset.base_url


def _ask(preset: Preset, url: str) -> LocalServer | None:
    config = ProviderConfig(preset.name, base_url=url)
    result = run_test(replace(config, total_seconds=SECONDS, idle_seconds=SECONDS))
    return LocalServer(preset, url, result.models) if result.models else None


def _build_ollama_url(host: str) -> str:
    """Return the address of OLLAMA_HOST, or an empty text if it is not on this machine."""
    parts = urlsplit(host if "//" in host else f"//{host}")
    try:
        name, port = parts.hostname or "", parts.port or 11434
    except ValueError:
        return ""
    name = "127.0.0.1" if name in ("", "0.0.0.0", "::") else name  # noqa: S104 -- compared, not bound
    if name not in _LOOPBACK:
        return ""
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/v1"


def _is_local(url: str) -> bool:
    return (urlsplit(url).hostname or "") in _LOOPBACK


def _get_port(url: str) -> int | None:
    return urlsplit(url).port
