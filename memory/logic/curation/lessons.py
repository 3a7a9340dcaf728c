"""What is no lesson, whoever proposes it: empty words, a text of one word, and the statement that a task was not done.

These rules hold for the offline curator and for models. They are strict, so that nothing is dropped that a person would
want to keep: a text is small talk only if it consists of nothing else. Reasons are counted in the curation's row.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from memory.core.recall.tokens import extract_terms
from memory.logic.entries.text_similarity import is_unspaced


MIN_WORDS: Final = 2  # a Chinese character counts as half a word
MAX_REFUSAL_LENGTH: Final = 800  # a longer answer has content besides the refusal


class DropReason(StrEnum):
    """Why a text is no lesson."""

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


def is_small_talk(text: str) -> bool:
    """Return whether the text consists of phrases such as “ok, thanks” or “任务完成” only, or is empty."""
    return bool(_SMALL_TALK.fullmatch(text.strip()))


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


_PAUSE = r"[\s,.!?;:…~'\"“”()（），。！？；：、～-]*"
_NO_NEWS = (
    r"no (?:new |further |other )?(?:learnings?|lessons?|errors?|problems?|issues?|information|content)"
    r"(?: (?:were|was))?(?: (?:found|learned|learnt|occurred))?"
)
_TASK_DONE = (
    r"(?:the )?(?:task|job|run|request|work(?:flow)?|operation)(?: (?:is|was|has been|have been))?(?: now)?"
    r" (?:done|finished|completed?|successful|succeeded|executed)(?: successfully)?"
)
_ALL_DONE = (
    r"(?:all |it(?:'s| is| was) |that(?:'s| is| was) |everything (?:is |was |went )?)?(?:successfully )?"
    r"(?:done|ok(?:ay)?|good|fine|set|well|finished|completed?|executed|successful|success|succeeded)"
    r"(?: successfully)?"
)
# Longer phrases come first: what a phrase has matched is not tried in another way.
_SMALL_TALK_PHRASES = (
    r"good (?:morning|afternoon|evening|night|job|work|point|idea|question)|well done|sounds good|makes sense",
    r"got it|i see|understood|noted|alright|agreed|exactly|of course|you'?re welcome|no problem|cheers",
    _NO_NEWS,
    r"nothing(?: (?:new|special|else|learned|learnt|to (?:note|report|remember|add|learn)))*",
    _TASK_DONE,
    _ALL_DONE,
    r"(?:many )?thank(?:s| you)(?: (?:so|very) much| a lot)?|thx|successfully|n/?a|none|null",
    r"hi|hello|hey|goodbye|bye|welcome|yes|yeah|yep|no|nope|sure|right|great|cool|nice|perfect|excellent",
    r"awesome|lol|wow|hm+|k",
    r"(?:没有|暂无|无)(?:新的?)?(?:错误|问题|内容|信息|收获|经验|学习点|异常)?|没问题|没关系|一切正常|正常",
    r"(?:任务|操作|执行|运行|工作流?|请求)?(?:已经|均已|已|成功)?(?:完成|成功|结束|执行|通过)[了的]?",
    r"好[的吧啊呀]?|可以|行|对[的啊]?|是的?|嗯|哦|啊|哈|明白了?|知道了|收到|了解|当然|不错|很好|太好了|真棒",
    r"谢谢[你您]?|多谢|感谢|辛苦了|不客气|不用谢|你好|您好|早上好|晚上好|晚安|再见|拜拜|欢迎",
)
_SMALL_TALK: Final = re.compile(
    rf"{_PAUSE}(?>(?:{'|'.join(_SMALL_TALK_PHRASES)})(?![a-z]){_PAUSE})*+", re.IGNORECASE
)

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
