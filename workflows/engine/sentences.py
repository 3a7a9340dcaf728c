"""The limits of the statements that memory keeps, and the language of a text."""

import re
from typing import Final


MAX_STATEMENTS: Final = 20
MAX_STATEMENT_LENGTH: Final = (
    500  # characters; longer sentences are rarely facts, and cost tokens in each prompt
)

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.:]\d+)*")


def is_chinese(text: str) -> bool:
    """Return whether the text is mostly Chinese. Japanese shares its characters, but has kana between them."""
    return is_mostly_ideographic(text) and not _KANA.search(text)


def is_mostly_ideographic(text: str) -> bool:
    """Return whether most of the text are characters that Chinese and Japanese share, without spaces between them."""
    cjk = len(_CJK.findall(text))
    return cjk > 0 and cjk * 2 >= len(_WORD.findall(text))
