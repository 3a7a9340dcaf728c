"""The embedding model of a team: trying one before it is used, and embedding again after another one was chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final
from uuid import UUID

from django.db import transaction

from memory.core.recall.embedding import EmbedderFault, Vector, embed_texts
from memory.embedding.team_models import create_embedder, forget_choice
from memory.host import EmbeddingModel
from memory.services.recall.embedding_status import translate_problem
from memory.tasks import wake_embedding_again


TRIAL_SECONDS: Final = 15.0
MAX_UNRELATED_COSINE: Final = 0.95  # nearness in meaning starts from it, and needs some room above

# Questions and statements that have nothing to do with each other.
_QUESTIONS: Final = (
    "Which key opens the garage?",
    "How long does the soup have to cook?",
    "谁会弹钢琴？",
)
_STATEMENTS: Final = (
    "The parliament has met on Tuesdays since the reform.",
    "Penguins lose all their feathers once a year.",
    "这家公司去年把总部搬到了海边。",
)


@dataclass(frozen=True, slots=True)
class EmbeddingTrial:
    """The result of trying a model: the size of its vectors and the cosine of unrelated texts, or an error."""

    dimensions: int = 0
    unrelated_cosine: float = 0.0
    error: str = ""


def try_embedding_model(team_id: UUID, model: EmbeddingModel) -> EmbeddingTrial:
    """Embed a few sentences with a model, which are no memories. The caller must check the permission."""
    embedder = create_embedder(team_id, model)
    try:
        questions = embed_texts(embedder, _QUESTIONS, question=True, seconds=TRIAL_SECONDS)
        statements = embed_texts(embedder, _STATEMENTS, question=False, seconds=TRIAL_SECONDS)
    except EmbedderFault as fault:
        return EmbeddingTrial(error=translate_problem(str(fault)))
    finally:
        embedder.close()
    return EmbeddingTrial(len(questions[0]), _measure_unrelated(questions, statements))


def embed_again(team_id: UUID) -> None:
    """Let a worker embed the team's memories with the model that it has after this transaction. Words find them until then."""
    transaction.on_commit(lambda: _announce(team_id))


def _announce(team_id: UUID) -> None:
    forget_choice(team_id)
    wake_embedding_again(team_id)


def _measure_unrelated(questions: Sequence[Vector], statements: Sequence[Vector]) -> float:
    cosines = [
        sum(a * b for a, b in zip(question, statement, strict=True))
        for question, statement in product(questions, statements)
    ]
    return round(min(max(sum(cosines) / len(cosines), 0.0), MAX_UNRELATED_COSINE), 3)
