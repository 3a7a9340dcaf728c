"""Tell sentences that state something lasting from questions, requests and talk."""

from collections.abc import Sequence
from typing import Final

from memory.logic.judgement import rules
from memory.logic.judgement.clauses import MAX_LENGTH, remove_introduction
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import STORED, Kind


BY_RULES: Final = 0.5  # the rating of a statement that no encoder has judged
MAX_JUDGED: Final = 1_000  # sentences, which take a few seconds; what follows them isn't judged
_BATCH: Final = 32


def rate_statements(sentences: Sequence[str], judge: Judge | None) -> list[float]:
    """Return how likely each sentence states something about a person or the world: 0 for what rather asks or chats."""
    plain = [remove_introduction(sentence.strip()) for sentence in sentences]
    if judge is None:
        return [BY_RULES * rules.is_statement(sentence) for sentence in plain]
    texts = list(dict.fromkeys(s for s in plain if s and len(s) <= MAX_LENGTH))[:MAX_JUDGED]
    batches = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
    clauses = (clause for batch in batches for clause in judge.judge_texts(batch))
    ratings = {
        clause.text: clause.certainty
        for clause in clauses
        if clause.kind in STORED or clause.kind is Kind.GENERAL
    }
    return [ratings.get(sentence, 0.0) for sentence in plain]


def is_question(text: str, judge: Judge | None) -> bool:
    """Return whether the text asks something."""
    if judge is None or not text.strip():
        return rules.is_question(text)
    return judge.judge_texts([text])[0].kind is Kind.QUESTION
