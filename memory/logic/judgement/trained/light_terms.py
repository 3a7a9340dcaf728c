"""The terms that say little about what a statement is about, in all languages of the sentences: "my", "last week", "has".

Two statements with only such terms in common needn't speak of the same thing. `python -m bench.judgement --write` finds
them in its sentences and writes the list.
"""

from pathlib import Path
from typing import Final


PATH: Final = Path(__file__).with_suffix(".txt")
LIGHT_TERMS: Final = frozenset(PATH.read_text(encoding="utf-8").split())
