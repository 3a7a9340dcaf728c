"""The meaning of a question, while somebody waits for the answer: soon, or not at all.

An embedder that fails or is slow leaves recall to the words for a while, rather than have everybody wait for it; the
answer says so. Questions are asked again and again (by every step of a loop, by pages): the newest are remembered.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from django.conf import settings

from memory.core.recall.embedding import Embedder, EmbedderFault, Vector, vectors_of
from memory.core.recall.selection import is_search
from memory.core.records import Meaning, MemoryQuery
from memory.embedding.embedders import in_use


log = logging.getLogger(__name__)

LEFT_ALONE: Final = 30.0  # seconds after it failed
MOST_REMEMBERED: Final = 2_000


def always() -> bool:
    return True


def by_meaning(query: MemoryQuery, may: Callable[[], bool] = always) -> MemoryQuery:
    """The query with the meaning of its words, where there is an embedder. Not for within a transaction.

    ``may`` is asked before the words go out to one: whether this question will be answered at all.
    """
    if query.meaning is not None or not is_search(query):
        return query
    return replace(query, meaning=_meaning_of(query.query_text or "", may))


def _meaning_of(text: str, may: Callable[[], bool]) -> Meaning | None:
    """None: there is no embedder, or it may not be asked. Without a vector: it didn't answer."""
    embedder = in_use()
    if embedder is None:
        return None
    asked = (embedder.name, text)
    with _LOCK:
        if asked in _REMEMBERED:
            _REMEMBERED.move_to_end(asked)
            return Meaning(embedder.name, _REMEMBERED[asked])
        if _state.alone_until > time.monotonic():
            return Meaning(embedder.name)
    if not may():
        return None
    return Meaning(embedder.name, _asked(embedder, text))


def forget_questions() -> None:
    """And that it failed; for tests."""
    with _LOCK:
        _REMEMBERED.clear()
        _state.alone_until = 0.0


class _State:
    alone_until = 0.0


_state = _State()
_REMEMBERED: OrderedDict[tuple[str, str], Vector] = OrderedDict()
_LOCK = threading.Lock()


def _asked(embedder: Embedder, text: str) -> Vector:
    seconds = settings.MEMORY_EMBEDDER_SECONDS
    try:
        (vector,) = vectors_of(embedder, [text], question=True, seconds=seconds)
    except EmbedderFault as failed:
        log.warning("question_not_embedded", extra={"embedder": embedder.name, "why": str(failed)})
        with _LOCK:
            # Of a question it refuses the next one needn't suffer.
            if not failed.of_texts:
                _state.alone_until = time.monotonic() + LEFT_ALONE
        return ()
    with _LOCK:
        _REMEMBERED[embedder.name, text] = vector
        while len(_REMEMBERED) > MOST_REMEMBERED:
            _REMEMBERED.popitem(last=False)
    return vector
