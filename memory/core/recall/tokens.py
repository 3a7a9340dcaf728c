"""Tokenization of strings into terms, for every script and without a dictionary.

Latin words are stemmed (Snowball, by language), words of other alphabets by the language of their script. Scripts
without spaces give single characters and pairs, which finds as well as a dictionary does. A word ends where its
script ends: ``2012年的`` is a number and two Chinese characters, not one long word that no query contains. After a
change here, run ``manage.py memory_reindex``.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, pairwise

import Stemmer


DEFAULT_LANGUAGE = "english"
LANGUAGES = frozenset(Stemmer.algorithms())

# Only the beginning of a longer text is searched: a million words would be a million postings.
MAX_SEARCHED_CHARACTERS = 100_000
# A longer word is data, and too long for an index.
MAX_WORD_LENGTH = 64

# The content of one character of a string without spaces, if a pair of them has 1.
_CHARACTER_WEIGHT = 0.2

# The part of its content with which a light word counts in a rank that also knows the similarity in meaning.
_LIGHT_SHARE = 0.3

# Longer texts are not cached: they would fill the memory, and are rare.
_MAX_CACHED_LENGTH = 2_000

# The stemmer's language for each script. Too many languages share Latin, so the caller chooses.
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
    ["CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"]
)
# Digits and characters common to all scripts count as Latin, so that B12 is one word.
_COMMON_SCRIPTS = frozenset(
    ["DIGIT", "LATIN", "MODIFIER", "COMBINING", "FULLWIDTH", "FEMININE", "MASCULINE"]
)

# Words that are frequent in questions and not in answers. Only queries drop them.
_EN_STOP_WORDS = """
a about am an and any are as at be been being but by can could did do does doing for from had has have
having he her hers him his how i if in into is it its itself just ll me my myself of on or our ours
please re s say shall she should so some t tell than that the their them then there these they this
those to too us ve very was we were what when where which who whom whose why will with would you
your yours yourself
"""
_ZH_STOP_WORDS = "的了是我你他她它们吗呢吧啊呀在有和与就都也很这那哪什么怎谁个为请问把被"
_RU_STOP_WORDS = (
    "а в во и из к как кто ли мне мой моя мы на не но о он она оно по с со то ты у что это я"
)

# Words of everyday speech that hardly distinguish one text from another, however rare they are in a small memory.
_EN_LIGHT_WORDS = """
again ago all also always another anybody anyone anything back become becomes been before begin best better big both
bring call called came come comes day days different each easily easy else enough even ever every everyone
everything feel feels few find first found gave get gets getting give given gives go goes going gone good got great
happen happened happens help here kind keep keeps kept knew know knows last later least less let lets like likes
little long look looks lot lots made make makes making many maybe mean means more most much must name need needs
never new next nobody nothing now often old one only other others own part people person place put puts quite rather
really right said same saw see seen seem seems several since somebody someone something sometimes soon sort start
still such sure take taken takes talk tell thing things think thinks thought time times today told took try two
type use used uses using usual usually want wanted wants way ways well went while work works year years yes yet
"""
LIGHT_WORDS = frozenset(_EN_LIGHT_WORDS.split())

# Longer words of questions whose characters mean something else alone. They have no content, but queries keep them.
_ZH_QUESTION_WORDS = re.compile(
    "什么时候|怎么样|为什么|有没有|哪里|那里|这里|怎样|多少|如何|是否|何时|几点|能否|可否"
)

STOP_WORDS = frozenset([*_EN_STOP_WORDS.split(), *_ZH_STOP_WORDS, *_RU_STOP_WORDS.split()])

_local = threading.local()  # the stemmers of each thread, by language


def extract_terms(text: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Return every term of an entry, including stop words; a query decides which terms count."""
    if len(text) <= _MAX_CACHED_LENGTH:
        return _extract_cached_terms(text, language)
    return _extract_terms(text[:MAX_SEARCHED_CHARACTERS], language)


def extract_query_terms(text: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Return the terms of a query without stop words, or all of them if it has only stop words."""
    return _select_query_terms([*_tokenize(text, language)])


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query, as ``extract_query_terms`` returns them, and what else is read from its words.

    ``inner_terms`` are those that every string that contains the query has, too: the first and the last word are left
    out, because they may be parts of longer words in the other string, unless their script has no spaces.
    ``content_weights`` says how much content each term has: 1 for a word and for a pair of characters, 0 left out.
    Where words have no spaces between them, stop words separate the others. The characters of a longer string weigh
    little, because most of them mean something else alone. ``rank_weights`` are the same, except that light words have
    less.
    """

    terms: tuple[str, ...]
    inner_terms: frozenset[str]
    content_weights: Mapping[str, float]
    rank_weights: Mapping[str, float]


def parse_query(text: str, language: str = DEFAULT_LANGUAGE) -> QueryTerms:
    """Split a query once and return everything that a search needs of its words."""
    words = list(_split_words(_normalize(text)))
    tokens_by_word = [[*_tokenize_word(script, word, language)] for script, word in words]
    terms = _select_query_terms([*chain.from_iterable(tokens_by_word)])
    inner_terms: set[str] = set()
    weights: dict[str, float] = {}
    light_terms: set[str] = set()
    for number, ((script, word), tokens) in enumerate(zip(words, tokens_by_word, strict=True)):
        is_unspaced = script in _UNSPACED
        if is_unspaced or 0 < number < len(words) - 1:
            inner_terms.update(term for term, _ in tokens)
        weighed = _weigh_characters(word) if is_unspaced else _weigh_tokens(tokens)
        for term, weight in weighed:
            weights[term] = max(weight, weights.get(term, 0.0))
        if word in LIGHT_WORDS:
            light_terms.update(term for term, _ in tokens)
    weights = weights or dict.fromkeys(terms, 1.0)
    rank_weights = {
        term: weight * (_LIGHT_SHARE if term in light_terms else 1.0)
        for term, weight in weights.items()
    }
    return QueryTerms(terms, frozenset(inner_terms.intersection(terms)), weights, rank_weights)


def has_latin_words(text: str) -> bool:
    """Return whether the string has Latin words, the only ones whose stems depend on the chosen language."""
    return any(script == "LATIN" for script, _ in _split_words(_normalize(text)))


def _extract_terms(text: str, language: str) -> tuple[str, ...]:
    return tuple(term for term, _ in _tokenize(text, language))


_extract_cached_terms = lru_cache(maxsize=20_000)(_extract_terms)


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _tokenize(text: str, language: str) -> Iterator[tuple[str, bool]]:
    """Yield the terms of the text, each with whether it is a stop word."""
    for script, word in _split_words(_normalize(text)):
        yield from _tokenize_word(script, word, language)


def _select_query_terms(tokens: Sequence[tuple[str, bool]]) -> tuple[str, ...]:
    content_terms = tuple(term for term, is_stop_word in tokens if not is_stop_word)
    return content_terms or tuple(term for term, _ in tokens)


def _tokenize_word(script: str, word: str, language: str) -> Iterator[tuple[str, bool]]:
    if script in _UNSPACED:
        yield from _split_unspaced_word(word)
    elif script == "LATIN":
        unaccented = _strip_accents(word)[:MAX_WORD_LENGTH]
        yield _stem(unaccented, language), unaccented in STOP_WORDS
    else:
        script_language = _LANGUAGE_OF_SCRIPT.get(script, "")
        yield _stem(word[:MAX_WORD_LENGTH], script_language), word in STOP_WORDS


def _split_unspaced_word(word: str) -> Iterator[tuple[str, bool]]:
    for character in word:
        yield character, character in STOP_WORDS
    for first, second in pairwise(word):
        yield first + second, first in STOP_WORDS and second in STOP_WORDS


def _weigh_tokens(tokens: Iterable[tuple[str, bool]]) -> Iterator[tuple[str, float]]:
    return ((term, 1.0) for term, is_stop_word in tokens if not is_stop_word)


def _weigh_characters(word: str) -> Iterator[tuple[str, float]]:
    """Yield the terms with content of a word without spaces, with their weights."""
    strings = _ZH_QUESTION_WORDS.split(word)
    for is_stop, characters in chain.from_iterable(map(_group_by_stop_words, strings)):
        if is_stop:
            continue
        single = 1.0 if len(characters) == 1 else _CHARACTER_WEIGHT
        yield from ((character, single) for character in characters)
        yield from ((first + second, 1.0) for first, second in pairwise(characters))


def _group_by_stop_words(string: str) -> Iterator[tuple[bool, str]]:
    for is_stop, characters in groupby(string, key=STOP_WORDS.__contains__):
        yield is_stop, "".join(characters)


def _split_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words of the text, each with its script: a word is a run of letters and digits of one script."""
    start, current = 0, ""
    for position, character in enumerate(text):
        script = _detect_script(character)
        if script == "MARK" and current:
            continue
        if script != current:
            if current not in ("", "MARK"):
                yield current, text[start:position]
            start, current = position, script
    if current not in ("", "MARK"):
        yield current, text[start:]


@lru_cache(maxsize=4_096)
def _detect_script(character: str) -> str:
    """Return the script by the character's Unicode name, "MARK" for a mark, or "" for no letter or digit."""
    category = unicodedata.category(character)
    if category[0] == "M":
        return "MARK"
    if category[0] not in "LN":
        return ""
    name = unicodedata.name(character, "").split(" ", 1)[0].split("-", 1)[0]
    if name == "IDEOGRAPHIC":  # 々 and 〇, in the middle of Chinese and Japanese words
        return "CJK"
    return "LATIN" if not name or name in _COMMON_SCRIPTS else name


def _strip_accents(word: str) -> str:
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _stem(word: str, language: str) -> str:
    if language not in LANGUAGES:
        return word
    stemmers = _local.__dict__  # a Stemmer is not safe to share between threads
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    stem: str = stemmers[language].stemWord(word)
    return stem
