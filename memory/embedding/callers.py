"""For whom a text is embedded. An embedder is shared by all callers of a team, and knows none of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from accounts.principals import Principal
from memory.host import EmbeddingCaller


_caller: ContextVar[EmbeddingCaller | None] = ContextVar("embedding_caller", default=None)
_request: ContextVar[tuple[str, str]] = ContextVar("embedding_request", default=("", ""))


@contextmanager
def embedding_for(caller: EmbeddingCaller | None) -> Iterator[None]:
    """Count the calls of embedding models for this caller until the block ends."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


@contextmanager
def name_request(channel: str, subject: str) -> Iterator[None]:
    """Name the way in by which the requests of the block came, and their person, for calls of embedding models outside of runs."""
    token = _request.set((channel, subject))
    try:
        yield
    finally:
        _request.reset(token)


def get_embedding_caller() -> EmbeddingCaller | None:
    """Return for whom a text is embedded now, or None in the background."""
    return _caller.get()


def build_embedding_caller(
    principal: Principal, *, run_id: str = "", subject: str = ""
) -> EmbeddingCaller:
    """Return the caller, with what ``name_request`` told where the arguments say nothing."""
    channel, person = _request.get()
    return EmbeddingCaller(principal, run_id, subject or person, channel)
