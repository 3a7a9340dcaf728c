"""The judge of this installation: the probes on the vectors of the local encoder."""

import logging
from collections.abc import Sequence
from functools import cache

from django.conf import settings

from memory.embedding import encoder
from memory.logic.judgement import holding
from memory.logic.judgement.holding import Holding
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import Kind
from memory.logic.judgement.probes import load_probes


log = logging.getLogger(__name__)


def find_judge() -> Judge | None:
    """Return the judge, or None where finding by meaning is switched off or the encoder isn't installed.

    An installation with another embedder has one, too: the encoder comes with the product.
    """
    return _build_judge() if settings.MEMORY_EMBEDDER else None


def find_kind(text: str) -> Kind | None:
    """Return what a message is, or None if nobody can tell: a fact only if memory stores one of it.

    A question or a wish to forget is one whatever else the message says.
    """
    judge = find_judge() if text.strip() else None
    if judge is None:
        return None
    (message,) = judge.judge_texts([text])
    if message.kind in (Kind.QUESTION, Kind.FORGET):
        return message.kind
    stored = [clause.kind for clause in judge.judge_message(text) if clause.is_stored]
    return next(iter(stored), Kind.OTHER if message.is_stored else message.kind)


def is_kept_out(text: str) -> bool:
    """Return whether a message only says what isn't to be kept: nothing is stored or forgotten for it, as far as one can tell."""
    judge = find_judge() if text.strip() else None
    reading = judge.read_message(text) if judge else None
    return reading is not None and reading.readable is not None and not reading.clauses


def find_holding(sentences: Sequence[str], recalled: Sequence[str]) -> Holding | None:
    """Find out what still holds of a person's sentences, as ``judgement.holding`` does, or None if nobody can tell."""
    judge = find_judge()
    return None if judge is None else holding.find_holding(judge, sentences, recalled)


@cache
def _build_judge() -> Judge | None:
    if not encoder.is_installed():
        return None
    probes = load_probes()
    if probes.encoder != encoder.ENCODER:
        log.warning("probes_of_another_encoder", extra={"encoder": probes.encoder})
        return None
    return Judge(encoder.encode, probes)
