"""A token count without a tokenizer: good enough for a meter, never for a bill."""

import re
from collections.abc import Iterable
from math import ceil

from workflows.engine.ports import Message


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CHARACTERS_A_TOKEN = 4
_OVERHEAD_A_MESSAGE = 4


def estimate_text(text: str) -> int:
    """About four letters a token, one Chinese, Japanese or Korean character a token."""
    cjk = len(_CJK.findall(text))
    return cjk + ceil((len(text) - cjk) / _CHARACTERS_A_TOKEN)


def estimate_messages(messages: Iterable[Message]) -> int:
    return sum(estimate_text(message.text) + _OVERHEAD_A_MESSAGE for message in messages)
