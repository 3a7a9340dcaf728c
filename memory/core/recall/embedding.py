"""What turns texts into vectors, and what it must keep to. Built-in ones, and those of plug-ins alike."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from memory.core.errors import RetrievalError


Vector = tuple[float, ...]  # of length 1

MOST_DIMENSIONS: Final = 3_900  # what PostgreSQL keeps within a row's page
MOST_EMBEDDED: Final = 6_000  # characters of a text: what models read of it at most


class EmbedderFault(RetrievalError):
    """The embedder returned no vectors.

    ``of_texts``: it is these texts it refuses, others it may take. ``retry_after`` is in seconds, where it said so.
    """

    def __init__(
        self,
        message: str = "",
        *,
        retryable: bool = True,
        retry_after: float | None = None,
        of_texts: bool = False,
    ) -> None:
        super().__init__(message or (type(self).__doc__ or "").split("\n")[0])
        self.retryable = retryable
        self.retry_after = retry_after
        self.of_texts = of_texts


class Embedder(ABC):
    """The contract, for whoever writes the next one.

    - ``name`` says whose vectors they are: which service or program, which model, and whatever else changes them.
      Vectors of two names are never compared; when it changes, all is embedded anew.
    - ``dimensions`` is how many numbers a vector has; none: as many as the first answer has.
    - ``embed`` gives one vector a text, in their order. ``question`` says that the text asks rather than tells;
      many models want to know. It may be called from several threads, and takes ``seconds`` at most if it waits for
      others. What goes wrong is an ``EmbedderFault``; whatever else it raises is taken for one.
    - ``batch`` is how many texts it likes at once.
    """

    name: str = ""
    dimensions: int | None = None
    batch: int = 64

    @abstractmethod
    def embed(
        self, texts: Sequence[str], *, question: bool, seconds: float
    ) -> Sequence[Sequence[float]]: ...


def vectors_of(
    embedder: Embedder, texts: Sequence[str], *, question: bool, seconds: float
) -> list[Vector]:
    """Checked, and each of length 1: an endpoint is not trusted to be sane. Raises EmbedderFault."""
    asked = [text[:MOST_EMBEDDED] for text in texts]
    try:
        found = embedder.embed(asked, question=question, seconds=seconds)
        if len(found) != len(texts):
            raise EmbedderFault(
                f"The embedder returned {len(found)} vectors instead of {len(texts)}."
            )
        vectors = [_unit(one) for one in found]
    except EmbedderFault:
        raise
    except Exception as failed:  # a plug-in's, or of what it was given: of any kind
        raise EmbedderFault(f"The embedder failed: {type(failed).__name__}.") from failed
    _check_dimensions(embedder, {len(one) for one in vectors})
    return vectors


def _unit(numbers: Sequence[float]) -> Vector:
    plain = [float(one) for one in numbers]
    length = math.hypot(*plain)
    if not math.isfinite(length) or not length:
        raise EmbedderFault("The embedder returned an invalid vector: not finite, or all zeros.")
    return tuple(one / length for one in plain)


def _check_dimensions(embedder: Embedder, found: set[int]) -> None:
    if embedder.dimensions is not None and found != {embedder.dimensions}:
        given = ", ".join(map(str, sorted(found)))
        raise EmbedderFault(
            f"The embedder returned {given} dimensions instead of {embedder.dimensions}.",
            retryable=False,
        )
    if len(found) != 1 or max(found) > MOST_DIMENSIONS:
        raise EmbedderFault(
            f"All vectors must have the same number of dimensions, at most {MOST_DIMENSIONS}.",
            retryable=False,
        )
