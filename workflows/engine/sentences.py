"""Tells questions, commands and greetings from statements, in English and Chinese, without a model.

The tables are small on purpose, because what is decided by them must be predictable.
"""

import re
from collections.abc import Iterator
from typing import Final

from workflows.engine.clauses import split_clauses


MAX_STATEMENTS: Final = 20
MAX_STATEMENT_LENGTH: Final = (
    500  # characters; longer sentences are rarely facts, and cost tokens in each prompt
)

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.:]\d+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?:\s+|(?<=[。！？]))|\n+")
_CLAUSE_END = re.compile(r"[,，;；](?:\s+(?:and|but|so)\b)?|\s+[-–—]+\s+", re.IGNORECASE)


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GREETINGS = _split_words(
    """
    hello hi hey greetings good morning evening afternoon there 你好 您好 嗨 早上好 晚上好
    """
)
_QUESTION_STARTS = _split_words(
    """
    what what's who who's whom whose where where's when when's why which how how's is are am was
    were do does did can could should would will shall may have has
    """
)
# "Tell me my cat's name" asks for a fact, as a question does.
_QUESTION_START_PATTERN = re.compile(
    r"^(?:please\s+)?(?:tell me|remind me|show me|list|name|recall|give me|what|describe)\b",
    re.IGNORECASE,
)
_CHINESE_QUESTION = re.compile(
    r"什么|谁|哪[里儿个些]?|吗|呢|多少|几[个点岁]|怎么|怎样|为什么|为何|如何|是否|告诉我"
)
_COMMANDS = re.compile(
    r"^(?:please\s+)?(?:summari[sz]e|write|translate|rewrite|classify|extract|generate|create|compose|"
    r"answer|explain|draft|convert|improve|analy[sz]e|count)\b|^请?(?:总结|概括|写|翻译|改写|分类|提取|生成|解释|分析)(?![^，。！？]{0,12}的?时候?[，,我你他她])",
    re.IGNORECASE,
)
# "Remember that …" introduces a fact.
_REMEMBER = re.compile(
    r"^(?:(?:please|pls)[,\s]+)?(?:(?:remember|note|keep in mind|don't forget|do not forget)(?!\s+to\b)(?:\s+that\b|\s*[:,])?\s+"
    r"|for the record[:,\s]+|fyi[:,\s]+)|^(?:请|麻烦)?(?:帮我|你)?(?:要)?(?:记住|记下|记一下|记得|别忘了)[:：,，\s]*",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"^(?:(?:hello|hi|hey)(?:\s+there)?|good\s+(?:morning|afternoon|evening)|你好|您好|嗨|早上好|晚上好)\s*[,，.!！。]\s*",
    re.IGNORECASE,
)
# These forms ask, also when they end with a period.
_ASKING = re.compile(
    r"^(?:and|but|so|then|also|now)?\s*(?:"
    r"(?:what|where|when|who|whom|whose|why|how|which)(?:'s|'re|\s+(?:\w+\s+){0,2}?"
    r"(?:is|are|was|were|am|do|does|did|can|could|should|would|will|shall|has|have|had)\b)"
    r"|(?:can|could|would|will|shall|should|do|does|did|is|are|am|was|were|may|might|have|has)\s+"
    r"(?:i|you|we|he|she|it|they|there|my|your|our|the|this|that|any|anyone|someone)\b"
    r"|what\s+(?:about|if|to)\b|how\s+(?:about|to)\b)"
    r"|\b(?:i\s+wonder|i\s+was\s+wondering|i(?:'d|\s+would)\s+like\s+to\s+know|i\s+want\s+to\s+know|any\s+idea)\b"
    r"|请问|想问|想知道|是不是|能不能|可不可以|可以不可以|有没有|要不要|会不会|好不好|对不对|多大|多久|几时",
    re.IGNORECASE,
)
# "我什么都吃" tells something, although it has a question word.
_CHINESE_UNIVERSAL = re.compile(r"(?:什么|谁|哪里|哪儿|怎么|怎样|多少)[^，。！？]{0,4}(?:都|也)")
_REQUESTS = re.compile(
    r"^(?:(?:please|pls|just|now|then|so)[,\s]+)*(?:tell|give|show|help|let\s+me|let's|lets|suggest|recommend|find|"
    r"make|plan|send|search|look\s+up|open|start|stop|try|repeat|forget|delete|remind|recall|list|describe|compare|"
    r"calculate|check|continue|go\s+on|sing|guess|imagine|pretend|ignore)\b"
    r"|^(?:请|麻烦|帮我|帮忙|给我|替我|让我|告诉我|推荐|列出|介绍|忘记|忘掉|删除|搜索|查一?下|继续|提醒我|来一)",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"^(?:ok(?:ay)?|yes|yeah|yep|no|nope|nah|sure|right|exactly|correct|great|good|nice|cool|perfect|awesome|wow|"
    r"hm+|hello|hi|hey|bye|goodbye|good\s*(?:bye|night|morning|afternoon|evening)|see\s+you(?:\s+\w+)?|"
    r"thanks?(?:\s+(?:you|a\s+lot|so\s+much|very\s+much|again))*|thank\s+you(?:\s+(?:very|so)\s+much)?|"
    r"no\s+problem|never\s*mind|that's\s+(?:right|all|it|great|good|fine)|i\s+see|got\s+it|sounds\s+good|"
    r"how\s+are\s+you|nice\s+to\s+meet\s+you|"
    r"好的?|是的?|对的?|不是|不用了?|没事|没问题|谢谢[你您]?|多谢|非常感谢|再见|拜拜|晚安|早安|早上好|你好|您好|嗯+|哦+|"
    r"明白了?|知道了|可以|行)(?:[\s,，]+(?:ok|thanks|thank\s+you|谢谢))?[\s.!。！,，~]*$",
    re.IGNORECASE,
)
# The beginning of a clause in which a person tells something, before a question in the same sentence.
_TELLING = re.compile(
    r"^(?:i|i'm|i've|i'd|my|mine|we|we're|we've|our|the|he|she|they|his|her|their)\b|^[我咱俺]", re.IGNORECASE
)  # fmt: skip


def is_chinese(text: str) -> bool:
    """Return whether the text is mostly Chinese."""
    cjk = len(_CJK.findall(text))
    return cjk > 0 and cjk * 2 >= len(_WORD.findall(text))


def split_sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]


def is_question(sentence: str) -> bool:
    """Return whether the sentence asks for a fact, also without a question mark."""
    text = sentence.strip().strip("\"'“”’）) ")
    if text.endswith(("?", "？")):
        return True
    if is_chinese(text):
        return bool(_CHINESE_QUESTION.search(text)) and not text.endswith(("。", "！"))
    first_word = text.split(maxsplit=1)[0].lower() if text else ""
    starts_like_question = first_word in _QUESTION_STARTS and not text.endswith((".", "!"))
    return starts_like_question or bool(_QUESTION_START_PATTERN.match(text))


def is_command(sentence: str) -> bool:
    """Return whether the sentence asks for work that only a real model can do."""
    return bool(_COMMANDS.match(sentence.strip()))


def is_greeting(text: str) -> bool:
    words = [word.lower() for word in re.findall(r"\w+", text)]
    return bool(words) and len(words) <= 3 and all(word in _GREETINGS for word in words)


def list_statements(text: str) -> list[str]:
    """Return what a message states, in its own words: without its questions, requests, greetings and thanks.

    A sentence that states several facts becomes one statement for each.
    Of a sentence that ends as a question, the clauses in which the person tells something are kept.
    """
    statements: dict[str, None] = {}
    for sentence in split_sentences(text.replace("’", "'")):
        for statement in _iter_statements(sentence):
            statements.setdefault(statement[:MAX_STATEMENT_LENGTH])
    return [*statements][:MAX_STATEMENTS]


def _iter_statements(sentence: str) -> Iterator[str]:
    text = _SALUTATION.sub("", sentence).strip()
    fact = _REMEMBER.sub("", text).strip()
    is_asked_to_remember = fact != text
    if _is_asked(fact):
        yield from _iter_told_clauses(fact)
    elif _has_content(fact) and (is_asked_to_remember or not _is_request(fact)):
        statement = fact[0].upper() + fact[1:] if is_asked_to_remember else fact
        yield from split_clauses(statement, is_chinese=is_chinese(statement))


def _iter_told_clauses(question: str) -> Iterator[str]:
    """Yield the clauses before the question: of "I live in Lyon, where can I eat?", the first one."""
    for clause in _CLAUSE_END.split(question)[:-1]:
        text = clause.strip()
        if not _TELLING.match(text) or _is_asked(text):
            return
        if _has_content(text):
            yield text


def _is_asked(sentence: str) -> bool:
    if sentence.rstrip("\"'”’）) ").endswith(("?", "？")):
        return True
    if is_chinese(sentence) and _CHINESE_UNIVERSAL.search(sentence):
        return False
    if is_chinese(sentence) and _CHINESE_QUESTION.search(sentence):
        return True
    return is_question(sentence) or bool(_ASKING.search(sentence))


def _is_request(sentence: str) -> bool:
    return bool(_REQUESTS.match(sentence)) or is_command(sentence)


def _has_content(sentence: str) -> bool:
    """Return whether the sentence has several words and is more than small talk."""
    if _SMALL_TALK.match(sentence) or is_greeting(sentence):
        return False
    return len(_WORD.findall(sentence)) >= 2 or len(_CJK.findall(sentence)) >= 3
