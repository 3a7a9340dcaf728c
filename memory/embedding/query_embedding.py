"""The embedding of a query, limited in time because a caller waits for the result.

After a failure, this embedder is not called for ``PAUSE`` seconds, so that no caller waits for it: recall then matches
words only, and its result says so. Steps in a loop and pages repeat their queries, so the latest are cached.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings

from memory.core.recall.embedding import Embedder, EmbedderFault, Vector, embed_texts
from memory.core.records import MemoryQuery, QueryEmbedding
from memory.embedding.callers import embedding_for
from memory.embedding.embedders import get_embedder
from memory.host import EmbeddingCaller


log = logging.getLogger(__name__)

PAUSE: Final = 30.0  # seconds after a failure of the embedder
MAX_CACHED: Final = 2_000

# The latest vectors, and when embedders may be called again after a failure. Both go by the embedder itself, not by its
# name: what one team's endpoint answers, or doesn't, concerns no other team.
_CACHE: OrderedDict[tuple[Embedder, str], Vector] = OrderedDict()
_PAUSED_UNTIL: WeakKeyDictionary[Embedder, float] = WeakKeyDictionary()
_LOCK = threading.Lock()


def embed_query(
    query: MemoryQuery,
    team_id: UUID,
    is_allowed: Callable[[], bool] = lambda: True,
    caller: EmbeddingCaller | None = None,
) -> MemoryQuery:
    """Return the query with the embedding of its text, if the team has an embedder. Don't call this inside a transaction.

    ``is_allowed`` returns whether the query will be answered; it is called before the text leaves the process. A call of
    the team's model counts for the ``caller``.
    """
    if query.meaning is not None or not query.is_search:
        return query
    with embedding_for(caller):
        return replace(query, meaning=_find_meaning(query.query_text or "", team_id, is_allowed))


def _find_meaning(
    text: str, team_id: UUID, is_allowed: Callable[[], bool]
) -> QueryEmbedding | None:
    """Return the embedding, which has no vector if the embedder fails; None if there is no embedder or it isn't allowed."""
    embedder = get_embedder(team_id)
    if embedder is None:
        return None
    cache_key = (embedder, text)
    with _LOCK:
        if cache_key in _CACHE:
            _CACHE.move_to_end(cache_key)
            return _build_embedding(embedder, _CACHE[cache_key])
        if _PAUSED_UNTIL.get(embedder, 0.0) > time.monotonic():
            return QueryEmbedding(embedder.name)
    if not embedder.is_local and not is_allowed():
        return None
    return _build_embedding(embedder, _embed_text(embedder, text))


def _build_embedding(embedder: Embedder, vector: Vector) -> QueryEmbedding:
    return QueryEmbedding(
        embedder.name,
        vector,
        embedder.unrelated_cosine,
        embedder.same_cosine,
        embedder.floors,
    )


def clear_cache() -> None:
    """Clear the cache and end the pause after a failure. For tests."""
    with _LOCK:
        _CACHE.clear()
        _PAUSED_UNTIL.clear()


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
                _PAUSED_UNTIL[embedder] = time.monotonic() + PAUSE
        return ()
    with _LOCK:
        _CACHE[embedder, text] = vector
        while len(_CACHE) > MAX_CACHED:
            _CACHE.popitem(last=False)
    return vector
