"""The embedding of a query, limited in time because a caller waits for the result.

After a failure, the embedder is not called for ``PAUSE`` seconds, so that no caller waits for it: recall then matches
words only, and its result says so. Steps in a loop and pages repeat their queries, so the latest are cached.
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
from memory.core.records import MemoryQuery, QueryEmbedding
from memory.embedding.embedders import get_embedder


log = logging.getLogger(__name__)

PAUSE: Final = 30.0  # seconds after a failure of the embedder
MAX_CACHED: Final = 2_000

_CACHE: OrderedDict[tuple[str, str], Vector] = OrderedDict()
_LOCK = threading.Lock()


def embed_query(query: MemoryQuery, is_allowed: Callable[[], bool] = lambda: True) -> MemoryQuery:
    """Return the query with the embedding of its text, if there is an embedder. Don't call this inside a transaction.

    ``is_allowed`` returns whether the query will be answered; it is called before the text is sent to the embedder.
    """
    if query.meaning is not None or not query.is_search:
        return query
    return replace(query, meaning=_find_meaning(query.query_text or "", is_allowed))


def _find_meaning(text: str, is_allowed: Callable[[], bool]) -> QueryEmbedding | None:
    """Return the embedding, which has no vector if the embedder fails; None if there is no embedder or it isn't allowed."""
    embedder = get_embedder()
    if embedder is None:
        return None
    cache_key = (embedder.name, text)
    with _LOCK:
        if cache_key in _CACHE:
            _CACHE.move_to_end(cache_key)
            return _build_embedding(embedder, _CACHE[cache_key])
        if _state.paused_until > time.monotonic():
            return QueryEmbedding(embedder.name)
    if not is_allowed():
        return None
    return _build_embedding(embedder, _embed_text(embedder, text))


def _build_embedding(embedder: Embedder, vector: Vector) -> QueryEmbedding:
    return QueryEmbedding(embedder.name, vector, embedder.unrelated_cosine, embedder.same_cosine)


def clear_cache() -> None:
    """Clear the cache and end the pause after a failure. For tests."""
    with _LOCK:
        _CACHE.clear()
        _state.paused_until = 0.0


class _State:
    paused_until = 0.0


_state = _State()


def _embed_text(embedder: Embedder, text: str) -> Vector:
    """Embed and cache the text; after a failure, return an empty vector."""
    seconds = settings.MEMORY_EMBEDDER_SECONDS
    try:
        (vector,) = embed_texts(embedder, [text], question=True, seconds=seconds)
    except EmbedderFault as fault:
        log.warning("question_not_embedded", extra={"embedder": embedder.name, "why": str(fault)})
        with _LOCK:
            # The embedder may accept the next query if it only rejected this one.
            if not fault.rejects_texts:
                _state.paused_until = time.monotonic() + PAUSE
        return ()
    with _LOCK:
        _CACHE[embedder.name, text] = vector
        while len(_CACHE) > MAX_CACHED:
            _CACHE.popitem(last=False)
    return vector
