"""Tells questions, commands and greetings from statements, in English and Chinese, without a model.

The tables are small on purpose, because what is decided by them must be predictable.
"""

import re

from workflows.engine.sentences import is_chinese


_SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?:\s+|(?<=[。！？]))|\n+")
_GREETINGS = re.compile(
    r"hello|hi|hey|greetings|good|morning|evening|afternoon|there|你好|您好|嗨|早上好|晚上好"
)
_QUESTION_START = re.compile(
    r"^(?:(?:what|who|where|when|how)(?:'s)?|whom|whose|why|which|is|are|am|was|were|do|does|did|can|could|should|would"
    r"|will|shall|may|have|has)(?:\s|$)",
    re.IGNORECASE,
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


# "Forget what I said", "please delete my address", "don't remember that I smoke"; not "don't forget to call".
_WISHES_TO_FORGET = re.compile(
    r"^(?:please\s+|(?:can|could|would|will) you (?:please )?|i want you to |i'd like you to )?"
    r"(?:forget|erase|(?:delete|remove)(?=.{0,60}\b(?:memory|memories|you know|remember|about me|my)\b)|"
    r"(?:don't|do not|no longer) (?:remember|store|keep))\b|"
    r"^(?:请|麻烦|帮我|你能|你可以|可以|能不能)*(?:把.{1,40}(?:忘|删)|忘[记掉]|忘了(?=[我它那这吧])|"
    r"删[除掉](?=.{0,30}(?:记忆|我|你记|知道))|(?:别|不要|不用)再?记)",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]


def is_question(sentence: str) -> bool:
    """Return whether the sentence asks for a fact, also without a question mark."""
    text = sentence.strip().strip("\"'“”’）) ")
    if text.endswith(("?", "？")):
        return True
    if is_chinese(text):
        return bool(_CHINESE_QUESTION.search(text)) and not text.endswith(("。", "！"))
    starts_like_question = _QUESTION_START.match(text) and not text.endswith((".", "!"))
    return bool(starts_like_question) or bool(_QUESTION_START_PATTERN.match(text))


def is_command(sentence: str) -> bool:
    """Return whether the sentence asks for work that only a real model can do."""
    return bool(_COMMANDS.match(sentence.strip()))


def is_wish_to_forget(sentence: str) -> bool:
    """Return whether the sentence asks to forget something that the person said."""
    return bool(_WISHES_TO_FORGET.match(sentence.strip()))


def is_greeting(text: str) -> bool:
    words = [word.lower() for word in re.findall(r"\w+", text)]
    return bool(words) and len(words) <= 3 and all(map(_GREETINGS.fullmatch, words))
