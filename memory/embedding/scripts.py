"""Tells in which script a text is written.

Who asks in one script mostly means what was told in the same one. Among facts in many languages, a text in another script
is often near to a question only because the model knows less of its language.
"""

import re
from typing import Final


# By what one character counts: those of unspaced scripts stand for a part of a word, and a Japanese text has more Chinese
# characters than its own. Digits and signs are in no script; a text of them alone counts as the first.
_SCRIPTS: Final = (
    (re.compile(r"[A-Za-z\u00c0-\u024f]"), 1),
    (re.compile(r"[\u3400-\u9fff]"), 6),
    (re.compile(r"[\u3040-\u30ff]"), 200),
    (re.compile(r"[\uac00-\ud7af]"), 6),
    (re.compile(r"[\u0400-\u04ff]"), 1),
    (re.compile(r"[\u0600-\u06ff]"), 1),
    (re.compile(r"[\u0e00-\u0e7f]"), 1),
)
COUNT: Final = len(_SCRIPTS)


def find_script(text: str) -> int:
    """Return the index of the text's script, from 0 to ``COUNT`` - 1."""
    counts = [len(characters.findall(text)) * weight for characters, weight in _SCRIPTS]
    return counts.index(max(counts))
