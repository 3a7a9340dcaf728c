"""Overlap of two texts without any model: Dice over their terms and pairs of neighbouring terms."""

from collections.abc import Set
from itertools import pairwise

from memory.core.recall.tokens import DEFAULT_LANGUAGE, query_terms


Grams = frozenset[tuple[str, ...]]


def keywords(query: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Terms that tell: no stop words, no single characters, each once."""
    return tuple(dict.fromkeys(telling_terms(query, language)))


def grams(text: str, language: str = DEFAULT_LANGUAGE) -> Grams:
    """Of the telling terms alone and in pairs, so that order counts a little."""
    found = telling_terms(text, language)
    return frozenset((one,) for one in found) | frozenset(pairwise(found))


def telling_terms(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """A text of one Chinese character has nothing else to be found by, so it keeps it."""
    # Where all are stop words, query_terms gives them all back; a word that is none, put behind
    # the text, keeps it from doing so.
    asked = query_terms(f"{text} {_NO_STOP_WORD}", language)[:-1]
    longer = [one for one in asked if len(one) > 1]
    return longer or [one for one in asked if is_unspaced(one)]


_NO_STOP_WORD = "qzxjvk"


def dice_coefficient(one: Set[tuple[str, ...]], other: Set[tuple[str, ...]]) -> float:
    """Return twice what two sets share over what they have together (Dice's coefficient), from 0.0 to 1.0."""
    if not one or not other:
        return 0.0
    return 2 * len(one & other) / (len(one) + len(other))


def is_unspaced(term: str) -> bool:
    """A character, or a pair, of a script that is written without spaces."""
    return bool(term) and not term.isascii() and all(map(_is_unspaced, term))


def _is_unspaced(character: str) -> bool:
    return any(first <= character <= last for first, last in _UNSPACED)


_UNSPACED = (
    ("\u0e00", "\u0fff"),  # Thai, Lao, Tibetan
    ("\u1000", "\u109f"),  # Myanmar
    ("\u1100", "\u11ff"),  # Hangul letters
    ("\u1780", "\u17ff"),  # Khmer
    ("\u3040", "\u9fff"),  # Japanese, Chinese
    ("\uac00", "\ud7af"),  # Hangul
    ("\uf900", "\ufaff"),  # compatibility ideographs
    ("\U00020000", "\U0003ffff"),  # rarer ideographs
)
