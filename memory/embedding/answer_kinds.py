"""Tells by words whether a question asks for a time or a person, and whether a text has one, in English and Chinese.

An embedding model hardly knows that a question with "when" is answered by a text with a time. What these patterns miss
is compared by its meaning alone, as in all other languages.
"""

import re
from typing import Final


_MONTHS_AND_DAYS: Final = (
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
).replace(" ", "s?|")

# Each kind of answer: what asks for it, and what names one.
_KINDS: Final = (
    (
        re.compile(
            r"\b(?:when|how (?:often|soon)|until when)\b|\b(?:at )?(?:what|which) (?:time|hour|day|date|week|month|year)\b"
            r"|\bwhat is the (?:date|deadline)\b"
            r"|什么时[候间刻]|何时|几时|几点|几号|哪[天年日]|哪个?[月周]|星期几|周几|日期|截止到哪",
            re.IGNORECASE,
        ),
        re.compile(
            rf"\b(?:{_MONTHS_AND_DAYS}s?|today|tomorrow|yesterday|tonight|noon|midday|midnight|dawn|dusk|o'clock|half past"
            r"|mornings?|evenings?|afternoons?|nights?|weekends?|daily|weekly|monthly|yearly|every|hours?|days?|weeks?|months?"
            r"|years?|spring|summer|autumn|winter|first|second|third|fourth|fifth|\d+(?:st|nd|rd|th)|\d{1,2} ?(?:am|pm)"
            r"|1[89]\d\d|20\d\d)\b"
            r"|[一二三四五六七八九十两\d]+[点号日月年天周时]|周[一二三四五六日天末]|星期|礼拜|[明今昨后前]天|[去今明]年"
            r"|早[上晨]|晚上|[上中下]午|凌晨|清晨|傍晚|半夜|每[天周月年]|[春夏秋冬]天|[月年]底",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"\bwho(?:m|se)?\b|谁|哪位", re.IGNORECASE),
        re.compile(
            r"\b(?:called|named|name(?:'s| is))\b|\b[A-Z][a-z]+ (?:is|was|leads|wrote)\b"
            r"|\b(?:mother|father|parents|sister|brother|wife|husband|daughter|son|uncle|aunt|cousin|niece|nephew"
            r"|grand(?:mother|father|parents|son|daughter))\b"
            r"|叫|先生|女士|小[\u4e00-\u9fff]|[爸妈爷奶姐妹哥弟姑舅叔姨]|妻子|丈夫|太太|女儿|儿子",
        ),
    ),
)
COUNT: Final = len(_KINDS)


def list_asked_kinds(question: str) -> list[float]:
    """Return for each kind of answer 1 if the question asks for it, and 0 otherwise."""
    return [float(bool(question_pattern.search(question))) for question_pattern, _ in _KINDS]


def list_named_kinds(text: str) -> list[float]:
    """Return for each kind of answer 1 if the text has one, and 0 otherwise."""
    return [float(bool(named.search(text))) for _, named in _KINDS]
