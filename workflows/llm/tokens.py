"""Estimates tokens without a tokenizer, which is accurate enough for display but not for billing."""

import re
from collections.abc import Iterable
from math import ceil

from workflows.engine.ports import Message


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CHARACTERS_PER_TOKEN = 4
_OVERHEAD_PER_MESSAGE = 4


def estimate_text(text: str) -> int:
    """Return one token for each Chinese, Japanese or Korean character, and for every four other characters."""
    cjk_count = len(_CJK.findall(text))
    return cjk_count + ceil((len(text) - cjk_count) / _CHARACTERS_PER_TOKEN)


def estimate_messages(messages: Iterable[Message]) -> int:
    return sum(estimate_text(message.text) + _OVERHEAD_PER_MESSAGE for message in messages)
