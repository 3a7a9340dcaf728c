"""The limits of the statements that memory keeps, and the language of a text."""

import re
from typing import Final


MAX_STATEMENTS: Final = 20
MAX_STATEMENT_LENGTH: Final = (
    500  # characters; longer sentences are rarely facts, and cost tokens in each prompt
)

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.:]\d+)*")


def is_chinese(text: str) -> bool:
    """Return whether the text is mostly Chinese."""
    cjk = len(_CJK.findall(text))
    return cjk > 0 and cjk * 2 >= len(_WORD.findall(text))
