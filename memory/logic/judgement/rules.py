"""The smallest rules that keep questions, requests and thanks out of memory, for installations without an encoder.

They know English and Chinese, and question marks in every language. Whatever they don't recognize is kept.
"""

import re
from typing import Final

from memory.logic.judgement.clauses import MAX_LENGTH, remove_introduction, split_sentences


MAX_STATEMENTS: Final = 20

_QUESTION: Final = re.compile(
    r"[?？؟]\s*[\"'”’»)]*$"
    r"|^(?:what|who|whom|whose|where|when|why|which|how|is|are|am|was|were|do|does|did|can|could|should|would|will)\b(?!.*[.!]$)"
    r"|^(?:请问|想问|想知道)|什么|谁|哪[里儿个]|[吗呢]$|多少|怎么|为什么|如何|是不是|能不能|有没有",
    re.IGNORECASE,
)
# "我什么都吃" tells something, although it has a question word.
_UNIVERSAL: Final = re.compile(r"(?:什么|谁|哪里|怎么|多少)[^，。！？]{0,4}[都也]")
_REQUEST: Final = re.compile(
    r"^(?:(?:please|pls|now|then|so)[,\s]+)*(?:tell|give|show|help|let's|lets|suggest|recommend|find|make|write|translate|"
    r"summari[sz]e|explain|list|describe|forget|delete|remind|continue|imagine|pretend|act)\b"
    r"|^(?:请|麻烦|帮我|给我|告诉我|推荐|列出|忘记|忘掉|删除|翻译|写|继续)",
    re.IGNORECASE,
)
_SMALL_TALK: Final = re.compile(
    r"^(?:ok(?:ay)?|yes|yeah|yep|no|nope|sure|great|good|nice|cool|lol|haha|hello|hi|hey|bye|good\s*(?:bye|night|morning|evening)|"
    r"thanks?(?:\s+(?:you|a\s+lot|so\s+much|very\s+much))*|i\s+see|got\s+it|"
    r"好的?|是的?|对的?|谢谢[你您]?|多谢|再见|晚安|早安|你好|您好|嗯+|哦+|明白了?|知道了)(?:[\s,，]+(?:ok|thanks|there|谢谢))?[\s.!。！,，~]*$",
    re.IGNORECASE,
)
_FORGET: Final = re.compile(
    r"forget|don't (?:remember|keep|store)|delete|erase|vergiss|lösch|oubli|efface|olvid|borra|esque|apaga|dimentica|cancella|"
    r"vergeet|wis\b|zapomn|usuń|забудь|удали|unut|sil\b|انس|احذف|ลืม|ลบ|忘|删|刪|消して|잊어|지워",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"[^\W_]+")


def list_statements(message: str) -> list[str]:
    """Return the sentences that may be worth keeping, each once."""
    sentences = (remove_introduction(sentence) for sentence in split_sentences(message))
    statements = [s for s in dict.fromkeys(sentences) if len(s) <= MAX_LENGTH and _is_statement(s)]
    return statements[:MAX_STATEMENTS]


def asks_to_forget(message: str) -> bool:
    """Return whether the message has a word for forgetting, which a model's wish to forget needs as its reason."""
    return _FORGET.search(message) is not None


def _is_statement(sentence: str) -> bool:
    if _SMALL_TALK.match(sentence) or _REQUEST.match(sentence):
        return False
    if _QUESTION.search(sentence) and not _UNIVERSAL.search(sentence):
        return False
    words = _WORDS.findall(sentence)
    # Where words have no spaces between them, one of three characters may be a sentence.
    return len(words) >= 2 or any(len(word) >= 3 and ord(word[0]) > 0x2E80 for word in words)
