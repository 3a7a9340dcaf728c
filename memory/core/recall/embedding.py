"""The interface of embedders, which turn strings into vectors, and the checks of the vectors that they return."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from memory.core.errors import RetrievalError


Vector = tuple[float, ...]  # of length 1

MAX_DIMENSIONS: Final = 3_900  # the most that PostgreSQL stores in a row's page
MAX_EMBEDDED_CHARACTERS: Final = 6_000  # the most that models read of a text


class EmbedderFault(RetrievalError):
    """The embedder returned no vectors.

    With ``rejects_texts``, it may accept other texts. ``retry_after`` is the delay in seconds that it asked for, if any.
    """

    def __init__(
        self,
        message: str = "",
        *,
        retryable: bool = True,
        retry_after: float | None = None,
        rejects_texts: bool = False,
    ) -> None:
        super().__init__(message or (type(self).__doc__ or "").split("\n")[0])
        self.retryable = retryable
        self.retry_after = retry_after
        self.rejects_texts = rejects_texts


class Embedder(ABC):
    """The interface for implementers of an embedder.

    - ``name`` identifies the vectors: the service or program, the model, and whatever else changes them.
      Vectors of two names are never compared; when the name changes, everything is embedded again.
    - ``dimensions`` is the number of components of a vector; ``None`` means as many as in the first answer.
    - ``embed`` returns one vector for each text, in the order of the texts. ``question`` is true for a search query and false
      for a stored text; many models distinguish them. It may be called from several threads, and takes at most
      ``seconds`` if it waits for a service. It raises ``EmbedderFault``; any other exception is treated as one.
    - ``unrelated_cosine`` is the cosine of two texts that have nothing to do with each other. Many models give 0.7 and
      more; nearness in meaning, which scores report, starts from it.
    - ``same_cosine`` is the cosine from which two texts count as the same in meaning. A model that hardly ever gives a question
      and its answer 1.0 may name less.
    - ``floors`` are the least scores of what may enter a prompt: for a question about the person, and for one that has
      nothing to do with them (``memory.core.recall.floor``). Without them, whatever is more than unrelated may.
    - ``batch`` is the preferred number of texts in one call.
    - ``is_local`` says that a text takes a few milliseconds and doesn't leave the process. Of others, it is first checked
      that the caller of a query may have its answer.
    """

    name: str = ""
    dimensions: int | None = None
    batch: int = 64
    unrelated_cosine: float = 0.0
    same_cosine: float = 1.0
    floors: tuple[float, float] | None = None
    is_local: bool = False

    @abstractmethod
    def embed(
        self, texts: Sequence[str], *, question: bool, seconds: float
    ) -> Sequence[Sequence[float]]: ...

    def close(self) -> None:
        """Close what the embedder keeps open, such as connections. It isn't called any more then."""
        return


def embed_texts(
    embedder: Embedder, texts: Sequence[str], *, question: bool, seconds: float
) -> list[Vector]:
    """Return one vector of length 1 for each text. Raise EmbedderFault if the embedder fails or returns invalid vectors."""
    truncated = [text[:MAX_EMBEDDED_CHARACTERS] for text in texts]
    try:
        answer = embedder.embed(truncated, question=question, seconds=seconds)
        count = len(answer)
        if count != len(texts):
            raise EmbedderFault(f"The embedder returned {count} vectors instead of {len(texts)}.")
        vectors = list(map(_normalize_vector, answer))
    except EmbedderFault:
        raise
    except Exception as error:  # a plug-in or its answer can raise any exception
        raise EmbedderFault(f"The embedder failed: {type(error).__name__}.") from error
    _check_dimensions(embedder, {len(numbers) for numbers in vectors})
    return vectors


def _normalize_vector(numbers: Sequence[float]) -> Vector:
    components = [float(number) for number in numbers]
    length = math.hypot(*components)
    if not math.isfinite(length) or not length:
        raise EmbedderFault("The embedder returned an invalid vector: not finite, or all zeros.")
    return tuple([number / length for number in components])


def _check_dimensions(embedder: Embedder, dimensions: set[int]) -> None:
    if embedder.dimensions is not None and dimensions != {embedder.dimensions}:
        received = ", ".join(map(str, sorted(dimensions)))
        raise EmbedderFault(
            f"The embedder returned {received} dimensions instead of {embedder.dimensions}.",
            retryable=False,
        )
    if len(dimensions) != 1 or max(dimensions) > MAX_DIMENSIONS:
        raise EmbedderFault(
            f"All vectors must have the same number of dimensions, at most {MAX_DIMENSIONS}.",
            retryable=False,
        )
