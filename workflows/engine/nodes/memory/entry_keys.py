"""Makes the key of an entry from its value, for authors who don't choose one.

The same words always have the same key, whatever their case and punctuation, so that a repeated step, and a person who
says the same thing again, write no second entry.
"""

import hashlib
import re
import unicodedata
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.values import to_json


MAX_READABLE_LENGTH: Final = 40  # characters before the hash
_HASH_LENGTH: Final = 6
_APOSTROPHE: Final = re.compile(r"['’ʼ]")
_WORD: Final = re.compile(r"[^\W_]+")


def build_key(value: Json) -> str:
    """Return a key with the first words of the value and a hash of all of them: ``im-allergic-to-peanuts-1f3a9c``."""
    text = value if isinstance(value, str) else to_json(value)
    plain = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).casefold())
    words = _WORD.findall(plain)
    digest = hashlib.sha256(" ".join(words or [plain.strip()]).encode()).hexdigest()
    return f"{_join_words(words) or 'memory'}-{digest[:_HASH_LENGTH]}"


def is_built_key(key: str, value: Json) -> bool:
    """Return whether the key was made from the value, and so tells no more than the value itself."""
    return key == build_key(value)


def _join_words(words: list[str]) -> str:
    """Join the words up to the limit; text without spaces is cut at the limit."""
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > MAX_READABLE_LENGTH:
            return name or word[:MAX_READABLE_LENGTH]
        name = longer
    return name
