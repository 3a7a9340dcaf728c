"""Text → terms, for every script, with no dictionary. After a change here postings are made anew.

Latin words are stemmed (Snowball, per language), other alphabets by the language their script
gives away. Scripts written without spaces give single characters and pairs, which finds as well
as a dictionary does. A word ends where its script does: ``2012年的`` is a number and two
Chinese characters, not one long word nobody will ever search for.
"""

import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import Stemmer


DEFAULT_LANGUAGE = "english"
LANGUAGES = frozenset(Stemmer.algorithms())


def terms(text: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Every term of an entry, stop words included: a query decides what counts."""
    if len(text) <= _CACHED_LENGTH:
        return _cached(text, language)
    return tuple(term for term, _ in _tokens(text[:MAX_SEARCHED], language))


def query_terms(text: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Without stop words, unless nothing else is left of the question."""
    tokens = list(_tokens(text, language))
    telling = tuple(term for term, stop in tokens if not stop)
    return telling or tuple(term for term, _ in tokens)


def inner_terms(text: str, language: str = DEFAULT_LANGUAGE) -> frozenset[str]:
    """Terms that whatever contains this text has too: all but those of a word its ends may cut through."""
    found = list(_words(_plain(text)))
    whole = [
        (script, word)
        for number, (script, word) in enumerate(found)
        if script in _UNSPACED or 0 < number < len(found) - 1
    ]
    return frozenset(term for one in whole for term, _ in _terms_of(*one, language))


def wears_endings(text: str) -> bool:
    """Whether the language makes a difference: it does to Latin words alone."""
    return any(script == "LATIN" for script, _ in _words(_plain(text)))


# Of a longer text the beginning is searched: a million words would be a million postings.
MAX_SEARCHED = 100_000
# What is longer is no word but data, and no index takes it.
MAX_WORD = 64

# Long texts would fill memory; they are rare and tokenised when met.
_CACHED_LENGTH = 2_000

# Script → the language whose endings it wears. Latin is shared by too many; the caller says.
_LANGUAGE_OF_SCRIPT = {
    "CYRILLIC": "russian",
    "GREEK": "greek",
    "ARABIC": "arabic",
    "ARMENIAN": "armenian",
    "HEBREW": "yiddish",
    "DEVANAGARI": "hindi",
    "TAMIL": "tamil",
}
_UNSPACED = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
)
# Digits and what is common to scripts stay with Latin, so that B12 is one word.
_COMMON = frozenset(
    {"DIGIT", "LATIN", "MODIFIER", "COMBINING", "FULLWIDTH", "FEMININE", "MASCULINE"}
)

_local = threading.local()


@lru_cache(maxsize=20_000)
def _cached(text: str, language: str) -> tuple[str, ...]:
    return tuple(term for term, _ in _tokens(text, language))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _tokens(text: str, language: str) -> Iterator[tuple[str, bool]]:
    for script, word in _words(_plain(text)):
        yield from _terms_of(script, word, language)


def _terms_of(script: str, word: str, language: str) -> Iterator[tuple[str, bool]]:
    if script in _UNSPACED:
        yield from _characters_and_pairs(word)
    elif script == "LATIN":
        plain = _without_accents(word)[:MAX_WORD]
        yield _stem(plain, language), plain in STOP_WORDS
    else:
        known = _LANGUAGE_OF_SCRIPT.get(script, "")
        yield _stem(word[:MAX_WORD], known), word in STOP_WORDS


def _characters_and_pairs(word: str) -> Iterator[tuple[str, bool]]:
    for character in word:
        yield character, character in STOP_WORDS
    for one, other in pairwise(word):
        yield one + other, one in STOP_WORDS and other in STOP_WORDS


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Runs of letters and digits of one script."""
    start, current = 0, ""
    for position, character in enumerate(text):
        script = _script(character)
        if script == "MARK" and current:
            continue
        if script != current:
            if current not in ("", "MARK"):
                yield current, text[start:position]
            start, current = position, script
    if current not in ("", "MARK"):
        yield current, text[start:]


@lru_cache(maxsize=4_096)
def _script(character: str) -> str:
    """The script's first word in the character's name; nothing for what is no part of a word."""
    category = unicodedata.category(character)
    if category[0] == "M":
        return "MARK"
    if category[0] not in "LN":
        return ""
    name = unicodedata.name(character, "").split(" ", 1)[0].split("-", 1)[0]
    if name == "IDEOGRAPHIC":  # 々 and 〇, in the middle of Chinese and Japanese words
        return "CJK"
    return "LATIN" if not name or name in _COMMON else name


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFKD", word)
    return "".join(one for one in parts if not unicodedata.combining(one))


def _stem(word: str, language: str) -> str:
    if language not in LANGUAGES:
        return word
    stemmers = _local.__dict__  # a Stemmer is not safe to share between threads
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    stemmed: str = stemmers[language].stemWord(word)
    return stemmed


# Words a question is made of and an answer isn't. Only queries drop them.
_ENGLISH = """
a about am an and any are as at be been being but by can could did do does doing for from had has have
having he her hers him his how i if in into is it its itself just ll me my myself of on or our ours
please re s say shall she should so some t tell than that the their them then there these they this
those to too us ve very was we were what when where which who whom whose why will with would you
your yours yourself
"""

_CHINESE = "的了是我你他她它们吗呢吧啊呀在有和与就都也很这那哪什么怎谁个为请问把被"

_RUSSIAN = "а в во и из к как кто ли мне мой моя мы на не но о он она оно по с со то ты у что это я"

STOP_WORDS = frozenset(_ENGLISH.split()) | frozenset(_CHINESE) | frozenset(_RUSSIAN.split())
