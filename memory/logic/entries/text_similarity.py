"""Text similarity without any model: Dice's coefficient over terms and pairs of neighboring terms."""

from collections.abc import Set
from itertools import pairwise

from memory.core.recall.tokens import DEFAULT_LANGUAGE, extract_query_terms


Grams = frozenset[tuple[str, ...]]

_NO_STOP_WORD = "qzxjvk"

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


def extract_keywords(query: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Return the significant terms in order, each once."""
    return tuple(dict.fromkeys(list_significant_terms(query, language)))


def build_grams(text: str, language: str = DEFAULT_LANGUAGE) -> Grams:
    """Return the significant terms alone and in pairs, so that order counts a little."""
    terms = list_significant_terms(text, language)
    return frozenset((term,) for term in terms) | frozenset(pairwise(terms))


def list_significant_terms(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the terms in order, without stop words and single characters.

    If nothing else is left, single characters of scripts without spaces are returned, such as one Chinese character.
    """
    # ``extract_query_terms`` returns stop words if there are no other words; an appended other word prevents that.
    terms = extract_query_terms(f"{text} {_NO_STOP_WORD}", language)[:-1]
    longer = [term for term in terms if len(term) > 1]
    return longer or [term for term in terms if is_unspaced(term)]


def compute_dice_coefficient(first: Set[tuple[str, ...]], second: Set[tuple[str, ...]]) -> float:
    """Return the Dice coefficient of two sets, from 0.0 to 1.0: 2 × common / total."""
    if not first or not second:
        return 0.0
    return 2 * len(first & second) / (len(first) + len(second))


def is_unspaced(term: str) -> bool:
    """Return whether the term is of a script that the tokenizer splits into characters and pairs, such as Chinese."""
    if not term or term.isascii():
        return False
    return all(any(first <= sign <= last for first, last in _UNSPACED) for sign in term)
