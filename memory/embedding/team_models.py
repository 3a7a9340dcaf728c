"""The embedders of teams that have connected an embedding model of their own. The host knows which teams have one.

A process remembers a team's choice for ``LIFETIME`` seconds, because every recall asks for it. Each team has an embedder
of its own, with its own key, so no text of a team goes to an endpoint or counts for the usage of another one.
"""

import threading
import time
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Final
from uuid import UUID

from memory.core.recall.embedding import Embedder
from memory.embedding.callers import get_embedding_caller
from memory.host import EmbeddingCall, EmbeddingModel, get_host


LIFETIME: Final = 5.0  # seconds

_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Choice:
    """A team's choice at the time of the look-up. A team without a model uses the configured embedder."""

    model: EmbeddingModel | None
    embedder: Embedder | None
    expires_at: float


_CHOICES: dict[UUID, _Choice] = {}


def find_team_embedder(team_id: UUID, *, is_fresh: bool = False) -> Embedder | None:
    """Return the embedder of the model that the team has connected, or None if it has connected none."""
    with _LOCK:
        choice = _CHOICES.get(team_id)
    if choice and not is_fresh and choice.expires_at > time.monotonic():
        return choice.embedder
    model = get_host().find_embedding_model(team_id)
    with _LOCK:
        former = _CHOICES.get(team_id)
        if former is not None and former.model == model:
            embedder = former.embedder
        else:
            embedder = create_embedder(team_id, model) if model else None
        _CHOICES[team_id] = _Choice(model, embedder, time.monotonic() + LIFETIME)
    if former and former.embedder and former.embedder is not embedder:
        former.embedder.close()  # a call that is being made fails, as one to an endpoint that is gone
    return embedder


def forget_choice(team_id: UUID) -> None:
    """Look the team's choice up again at the next question. Other processes do so within ``LIFETIME``."""
    with _LOCK:
        choice = _CHOICES.get(team_id)
        if choice is not None:
            _CHOICES[team_id] = replace(choice, expires_at=0.0)


def clear_choices() -> None:
    """Forget the choices of all teams. For tests."""
    with _LOCK:
        for choice in _CHOICES.values():
            if choice.embedder:
                choice.embedder.close()
        _CHOICES.clear()


def create_embedder(team_id: UUID, model: EmbeddingModel) -> Embedder:
    """Return an embedder that counts its calls for the team. Raises ValueError for an address that is none."""

    def count(tokens: int, seconds: float, error: Exception | None) -> None:
        caller = get_embedding_caller()
        call = EmbeddingCall(model.provider, model.model, tokens, seconds, error, caller)
        get_host().count_embedding(team_id, call)

    # On demand, because the openai package takes long to load.
    module = import_module("memory.embedding.openai_compatible")
    embedder: Embedder = module.build_team_embedder(model, count)
    return embedder
