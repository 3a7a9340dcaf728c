"""Tell what is no lesson, whoever proposes it: empty words, a single word, and the statement that a task was not done.

These rules hold for the offline curator and for models. They are strict, so that nothing is dropped that a person would
want to keep: a text is small talk only if it consists of nothing else. Reasons are counted in the curation's row.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from memory.core.recall.tokens import extract_terms
from memory.logic.entries.text_similarity import is_unspaced
from memory.logic.judgement.rules import is_small_talk


MIN_WORDS: Final = 2  # a Chinese character counts as half a word
MAX_REFUSAL_LENGTH: Final = 800  # a longer answer has content besides the refusal


class DropReason(StrEnum):
    """The reason says why a text is no lesson."""

    TOO_SHORT = "too_short"
    SMALL_TALK = "small_talk"
    NOT_DONE = "not_done"  # the model could not do the task


def find_drop_reason(text: str) -> DropReason | None:
    """Return why the text is no lesson, or None if it may be one."""
    if is_small_talk(text):
        return DropReason.SMALL_TALK
    if _count_words(text) < MIN_WORDS:
        return DropReason.TOO_SHORT
    if is_refusal(text) or _INABILITY.search(text.strip()):
        return DropReason.NOT_DONE
    return None


def is_refusal(answer: str) -> bool:
    """Return whether a model says that it can't do what it was asked to do, and little else."""
    text = answer.strip()
    return len(text) <= MAX_REFUSAL_LENGTH and bool(_REFUSAL.search(text))


def select_done(answers: Iterable[str]) -> tuple[str, ...]:
    """Return the answers without refusals."""
    return tuple(answer for answer in answers if not is_refusal(answer))


def _count_words(text: str) -> float:
    words = (term for term in extract_terms(text) if len(term) == 1 or not is_unspaced(term))
    return sum(0.5 if is_unspaced(word) else 1 for word in words)


_ABILITIES = (
    r"(?:help|assist|do|complete|finish|access|answer|provide|fulfil+|perform|browse|open|see|view|read"
    r"|process|comply|generate|create|determine|find|tell|support|continue|respond|execute|run|retrieve"
    r"|solve|write|translate|give|share|look|search|carry|fetch|connect|reach|produce|handle)\b"
)
_NOT_ABLE = (
    r"(?:(?:am|'m|was|is)(?: currently| still)? (?:unable|not able|not allowed|not permitted) to"
    rf"|(?:can(?:not|'t)|can not|could(?:n't| not)|won't|will not|failed to)(?: \w+ly)? {_ABILITIES}"
    r"|(?:do|does|did)(?:n't| not) have (?:(?:the|any|enough|sufficient|direct|real-time|live|up-to-date) )*"
    r"(?:access|ability|information|permissions?|capabilit|tools?|data|context)"
    r"|(?:do|did)(?:n't| not) know)"
)
_REFUSAL_WORDS = (
    r"^(?:(?:(?:i am|i'm)(?: \w+)? sorry|sorry|my apologies|apologies|i apologi[sz]e|unfortunately|regrettably"
    r"|as an? [\w\s-]{0,30}?(?:ai|model|assistant))\b[\s,.:;–—-]*)*(?:but |however,? )?"
    rf"i(?: {_NOT_ABLE}|'m (?:unable|not able|not allowed) to)"
)
_ABILITIES_ZH = (
    r"(?:帮|完成|协助|提供|访问|回答|满足|执行|处理|查看|获取|打开|确定|生成|做|给|为[你您]|直接|实时|继续|理解|浏览|读取|连接|支持"
    r"|进行|判断|知道|得知|查询)"
)
_REFUSAL_WORDS_ZH = (
    r"^(?:(?:非常|很|十分)?(?:抱歉|对不起|不好意思|遗憾)[，,。！!\s]*(?:但|不过)?"
    r"|作为[^，,。]{0,16}(?:ai|人工智能|模型|助手)[，,\s]*)*"
    rf"我(?:目前|暂时|现在|还|也)*(?:(?:无法|不能|没办法|没有办法){_ABILITIES_ZH}|做不到|没有(?:权限|能力|足够的?信息)|不具备|不知道)"
    rf"|^(?:非常|很|十分)?(?:抱歉|对不起)[，,。！!\s]*(?:目前|暂时|现在)?(?:无法|不能|没办法){_ABILITIES_ZH}"
)


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("'", "['’]"), re.IGNORECASE)


_REFUSAL: Final = _compile(f"{_REFUSAL_WORDS}|{_REFUSAL_WORDS_ZH}")
# The same, said about the model by somebody else.
_INABILITY: Final = _compile(
    rf"^the (?:ai|model|llm|assistant|agent|language model|ai assistant) {_NOT_ABLE}"
    rf"|^(?:ai|模型|语言模型|大模型|助手|智能体)(?:目前|暂时|现在|还)*(?:无法|不能|未能|没能|没办法|没有(?:权限|能力)|不具备){_ABILITIES_ZH}?"
)
