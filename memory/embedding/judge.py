"""The judge of this installation: the probes on the vectors of the local encoder."""

import logging
from functools import cache

from django.conf import settings

from memory.core.records import MemoryQuery
from memory.embedding import encoder
from memory.logic.judgement.concern import measure_concern
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.probes import load_probes


log = logging.getLogger(__name__)


def find_judge() -> Judge | None:
    """Return the judge, or None where finding by meaning is switched off or the encoder isn't installed.

    An installation with another embedder has one, too: the encoder comes with the product.
    """
    return _build_judge() if settings.MEMORY_EMBEDDER else None


def measure_question_concern(question: str | None, scope: str) -> float | None:
    """Return how likely the question concerns those whose memory the scope is, or None if nobody can tell."""
    judge, query = find_judge(), MemoryQuery("", query_text=question)
    return measure_concern(judge, query, scope) if judge and query.is_search else None


@cache
def _build_judge() -> Judge | None:
    if not encoder.is_installed():
        return None
    probes = load_probes()
    if probes.encoder != encoder.ENCODER:
        log.warning("probes_of_another_encoder", extra={"encoder": probes.encoder})
        return None
    return Judge(encoder.encode, probes)
