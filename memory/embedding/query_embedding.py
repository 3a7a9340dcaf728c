"""The embedding of a query, limited in time because a caller waits for the result.

After the embedder fails, recall matches words only for ``PAUSE`` seconds, so that no caller waits for it; the result
says so. The same queries come again (from every step of a loop, from pages), so the newest are cached.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from django.conf import settings

from memory.core.recall.embedding import Embedder, EmbedderFault, Vector, embed_texts
from memory.core.recall.selection import is_search
from memory.core.records import MemoryQuery, QueryEmbedding
from memory.embedding.embedders import get_embedder


log = logging.getLogger(__name__)

PAUSE: Final = 30.0  # seconds after a failure of the embedder
MAX_CACHED: Final = 2_000

_CACHE: OrderedDict[tuple[str, str], Vector] = OrderedDict()
_LOCK = threading.Lock()


def allow() -> bool:
    return True


def embed_query(query: MemoryQuery, is_allowed: Callable[[], bool] = allow) -> MemoryQuery:
    """Return the query with the embedding of its text, where there is an embedder. Don't call it inside a transaction.

    ``is_allowed`` returns whether the query will be answered; it is called before the text is sent to the embedder.
    """
    if query.meaning is not None or not is_search(query):
        return query
    return replace(query, meaning=_find_meaning(query.query_text or "", is_allowed))


def _find_meaning(text: str, is_allowed: Callable[[], bool]) -> QueryEmbedding | None:
    """Return None if there is no embedder or it may not be called, and a meaning without a vector if it didn't answer."""
    embedder = get_embedder()
    if embedder is None:
        return None
    cache_key = (embedder.name, text)
    with _LOCK:
        if cache_key in _CACHE:
            _CACHE.move_to_end(cache_key)
            return QueryEmbedding(embedder.name, _CACHE[cache_key])
        if _state.paused_until > time.monotonic():
            return QueryEmbedding(embedder.name)
    if not is_allowed():
        return None
    return QueryEmbedding(embedder.name, _embed_text(embedder, text))


def clear_cache() -> None:
    """Clear the cache and end the pause after a failure. For tests."""
    with _LOCK:
        _CACHE.clear()
        _state.paused_until = 0.0


class _State:
    paused_until = 0.0


_state = _State()


def _embed_text(embedder: Embedder, text: str) -> Vector:
    seconds = settings.MEMORY_EMBEDDER_SECONDS
    try:
        (vector,) = embed_texts(embedder, [text], question=True, seconds=seconds)
    except EmbedderFault as fault:
        log.warning("question_not_embedded", extra={"embedder": embedder.name, "why": str(fault)})
        with _LOCK:
            # A query that the embedder rejects says nothing about the next query, so only other failures pause it.
            if not fault.rejects_texts:
                _state.paused_until = time.monotonic() + PAUSE
        return ()
    with _LOCK:
        _CACHE[embedder.name, text] = vector
        while len(_CACHE) > MAX_CACHED:
            _CACHE.popitem(last=False)
    return vector
