"""The form of a text in which a search for a part of it compares: without case, accents, or the width of characters.

``ｶﾀｶﾅ`` finds ``カタカナ``, ``strasse`` finds ``Straße``, ``izmir`` finds ``İzmir``, and how an accent is encoded makes no
difference. ``memory.providers.postgres.folding`` does the same in the database, step by step.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final


ACCENTS: Final = "[\u0300-\u036f]+"  # a regular expression; the accents of alphabets, not the marks of other scripts
# Small letters that are written in another way in capitals, or in other places of a word.
OTHER_LETTERS: Final[Mapping[str, str]] = {"ß": "ss", "ς": "σ", "ı": "i"}

_ACCENTS = re.compile(ACCENTS)


def fold(text: str) -> str:
    """Return the text as a search compares it."""
    if text.isascii():
        return text.lower()
    folded = _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).lower()
    for letter, plain in OTHER_LETTERS.items():  # quicker than a table of letters
        folded = folded.replace(letter, plain)
    return unicodedata.normalize("NFC", folded)


def contains_folded(text: str, part: str) -> bool:
    """Return whether the text contains the part, both folded."""
    return fold(part) in fold(text)
