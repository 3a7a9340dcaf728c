"""Makes the key of an entry from its value, for authors who don't choose one.

The same words always have the same key, whatever their case and punctuation, so that a repeated step, and a person who
says the same thing again, write no second entry. The key itself says nothing, so that it says nothing wrong when the
value is corrected.
"""

import hashlib
import re
import unicodedata
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.values import to_json


_HASH_LENGTH: Final = 12
_APOSTROPHE: Final = re.compile(r"['’ʼ]")
_WORD: Final = re.compile(r"[^\W_]+")
_BUILT: Final = re.compile(r"m-[0-9a-f]{12}")


def build_key(value: Json) -> str:
    """Return a key with a hash of the words of the value: ``m-1f3a9c04be57``."""
    text = value if isinstance(value, str) else to_json(value)
    plain = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).casefold())
    words = _WORD.findall(plain)
    digest = hashlib.sha256(" ".join(words or [plain.strip()]).encode()).hexdigest()
    return f"m-{digest[:_HASH_LENGTH]}"


def is_built_key(key: str) -> bool:
    """Return whether the key was made here, and so tells a reader nothing."""
    return _BUILT.fullmatch(key) is not None
