"""Splits a sentence that states three or more facts into one statement each, in English and Chinese.

A sentence is only split where each part has a subject of its own and can be understood alone: "I like tea and coffee" and
"My sister is Anna and she lives in Rome" stay whole. Sentences of two clauses stay whole too, because they are short.
"""

import re
from collections.abc import Sequence
from typing import Final


_MIN_CLAUSES: Final = 3
_SEPARATOR = re.compile(r"\s*[,;]\s+(?:(?:and|but|also)\s+)?|\s+(?:and|but)\s+", re.IGNORECASE)
_CHINESE_SEPARATOR = re.compile(r"[，,；;]\s*(?:而且|并且|另外|还有|同时)?")
_SENTENCE_END = re.compile(r"[.!。！]+$")
# In such a sentence, a clause may depend on another one.
_DEPENDENT = re.compile(
    r"\b(?:if|when|whenever|because|while|after|before|that|who|whom|whose|which|where|since|unless|until|"
    r"although|though|whether|both|either|neither|than)\b|[\"“”]"
    r"|如果|要是|因为|所以|虽然|但是?|不过|的时候|[之以]?后[，,]|[之以]?前[，,]|只要|除非|[“”]",
    re.IGNORECASE,
)
_VERB: Final = (
    r"(?:is|isn't|are|aren't|was|were|has|have|had|makes?|made|gives?|gave|lives?|works?|worked|likes?|loves?|hates?|"
    r"needs?|wants?|prefers?|plays?|studies|starts?|began|begins?|ends?|comes?|costs?|can't|can|cannot|will|won't|"
    r"doesn't|don't|didn't)"
)
_CLAUSE = re.compile(
    r"^(?:(?:i|we)(?:'(?:m|ve|d|ll|re))?\s+(?!and\b|or\b)\S+"
    rf"|(?:my|our|the|a|an)\s+(?:[\w'-]+\s+){{1,4}}?{_VERB}\b"
    rf"|(?!(?:he|she|it|they|his|her|its|their|this|these|those|you|your|there|not|so|then)\b)[\w'-]+\s+(?:[\w'-]+\s+)?{_VERB}\b)",
    re.IGNORECASE,
)
_CHINESE_CLAUSE = re.compile(
    r"^(?:我|咱|[^他她它这那，]{1,6}(?:会?[让使令]我)|吃[^，]{1,8}(?:会|就))"
)


def split_clauses(sentence: str, *, is_chinese: bool) -> list[str]:
    """Return the statements of the sentence, or the sentence itself."""
    if _DEPENDENT.search(sentence):
        return [sentence]
    clauses = _join_dependent(sentence, is_chinese=is_chinese)
    if len(clauses) < _MIN_CLAUSES:
        return [sentence]
    end = _SENTENCE_END.search(sentence)
    return _end_alike(clauses, end.group() if end else "")


def _join_dependent(sentence: str, *, is_chinese: bool) -> list[str]:
    """Return the parts that start with a subject and verb of their own, each with the parts behind it that don't."""
    separator, clause = (
        (_CHINESE_SEPARATOR, _CHINESE_CLAUSE) if is_chinese else (_SEPARATOR, _CLAUSE)
    )
    starts = [0, *(match.end() for match in separator.finditer(sentence))]
    ends = [*(match.start() for match in separator.finditer(sentence)), len(sentence)]
    spans: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if not spans or (clause.match(sentence[start:]) and clause.match(sentence[spans[-1][0] :])):
            spans.append((start, end))
        else:
            spans[-1] = (spans[-1][0], end)
    return [sentence[start:end] for start, end in spans]


def _end_alike(clauses: Sequence[str], end: str) -> list[str]:
    texts = [_SENTENCE_END.sub("", clause).strip() for clause in clauses]
    return [text[0].upper() + text[1:] + end for text in texts if text]
