"""Finds sentences of the training that are near copies of what is measured: they would make the measure too good."""

import re
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from memory.logic.judgement.probes import Floats


MIN_COSINE: Final = 0.8  # of the counts of what two texts are made of: pairs of characters, or triples where words have spaces
_BUCKETS: Final = 4_096
_UNSPACED: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]")
_NO_WORD: Final = re.compile(r"[\W_]+")


def list_near_copies(sentences: Sequence[str], measured: Sequence[str]) -> list[tuple[str, str]]:
    """Return each sentence that is a near copy of a measured one, with that one."""
    cosines = _count_parts(sentences) @ _count_parts(measured).T
    return [
        (sentences[row], measured[column]) for row, column in np.argwhere(cosines >= MIN_COSINE)
    ]


def _count_parts(texts: Sequence[str]) -> Floats:
    """Return how often each text has which part, as vectors of length 1."""
    counts = np.zeros((len(texts), _BUCKETS), dtype=np.float32)
    for row, text in enumerate(texts):
        plain = f" {_NO_WORD.sub(' ', text.casefold()).strip()} "
        length = 2 if _UNSPACED.search(plain) else 3
        for start in range(len(plain) - length + 1):
            part = plain[start : start + length]
            counts[row, zlib.crc32(part.encode()) % _BUCKETS] += 1
    lengths: Floats = np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-6)
    shares: Floats = (counts / lengths).astype(np.float32)
    return shares
