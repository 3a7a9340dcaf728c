"""Prompt injections in languages whose order of words varies, by what stands together in a sentence.

A rule is a few concepts, such as "ignore", "earlier" and "instructions". It matches a sentence that has a word for each.
Each concept is searched once in each piece of text, so that the time is linear in the length of the text.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from memory.logic.entries.instruction_words import LANGUAGES, Words


MAX_PIECE: Final = 240  # characters; a longer sentence is read in pieces that overlap
_OVERLAP: Final = 120
_MAX_SPAN: Final = 140  # characters from the first word of a rule to its last
_NEGATION_DISTANCE: Final = 14

_SENTENCES: Final = re.compile(
    r"[^.!?。！？;；\n]+(?:[.](?=\w)[^.!?。！？;；\n]+)*[.!?。！？;；\n]?"
)
_ADDRESS: Final = r"https?://\S+|[\w.+-]{1,64}@\w[\w.-]*|\bwebhook\b|\bendpoint\b"
_MARKS: Final = re.compile("[\u0300-\u036f]")
# Scripts that are written without spaces between words.
_UNSPACED: Final = frozenset({"ja"})
_SUFFIXED: Final = frozenset({"ko"})

# Rule → the concepts that must stand together. The first is the one that a "not" before it turns around.
_RULES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("ignore instructions", ("ignore", "earlier", "instructions")),
    ("new instructions", ("new instructions",)),
    ("another role", ("role",)),
    ("reveal instructions", ("reveal", "prompt")),
    ("hide from the person", ("hide", "user")),
    ("send data away", ("send", "data", "address")),
    ("remember an order", ("remember", "always")),
    ("standing order", ("from now on", "order")),
    ("claim of authority", ("trust", "authority")),
    ("order to an assistant", ("assistant", "reading")),
)
_NEGATED: Final = frozenset({"ignore", "reveal", "send", "trust"})


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A rule that matches, and the words from its first to its last."""

    rule: str
    text: str


def find_in_sentences(text: str) -> Iterator[SentenceMatch]:
    """Yield the first match of each rule in each language. The text is in lower case and without invisible characters."""
    plain = fold_accents(text)
    languages = [language for language in _compile_languages() if language.is_possible(plain)]
    seen_rules: set[str] = set()
    for piece in _split(plain) if languages else ():
        for language in languages:
            for match in language.match(piece):
                if match.rule not in seen_rules:
                    seen_rules.add(match.rule)
                    yield match


def fold_accents(text: str) -> str:
    """Return the text without accents, which people leave out. Japanese and Korean letters stay whole."""
    bare = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare)


@dataclass(frozen=True, slots=True)
class _Language:
    concepts: dict[str, re.Pattern[str]]
    rules: tuple[tuple[str, tuple[str, ...]], ...]
    negation: re.Pattern[str] | None
    letters: re.Pattern[str]

    def is_possible(self, text: str) -> bool:
        return self.letters.search(text) is not None

    def match(self, piece: str) -> Iterator[SentenceMatch]:
        spans: dict[str, tuple[int, int] | None] = {}
        for rule, concepts in self.rules:
            word_spans = []
            for concept in concepts:
                if concept not in spans:
                    match = self.concepts[concept].search(piece)
                    spans[concept] = match.span() if match else None
                if (span := spans[concept]) is None:
                    break
                word_spans.append(span)
            else:
                start, end = min(a for a, _ in word_spans), max(b for _, b in word_spans)
                if end - start <= _MAX_SPAN and not self._is_negated(
                    piece, concepts[0], word_spans[0]
                ):
                    yield SentenceMatch(rule, piece[start:end])

    def _is_negated(self, piece: str, concept: str, word_span: tuple[int, int]) -> bool:
        if self.negation is None or concept not in _NEGATED:
            return False
        before = piece[max(0, word_span[0] - _NEGATION_DISTANCE) : word_span[0]]
        after = piece[word_span[1] : word_span[1] + _NEGATION_DISTANCE]
        return any(self.negation.search(part) for part in (before, after))


def _split(text: str) -> Iterator[str]:
    for sentence in _SENTENCES.finditer(text):
        piece = sentence[0]
        if len(piece) <= MAX_PIECE:
            yield piece
            continue
        for start in range(0, len(piece) - _OVERLAP, MAX_PIECE - _OVERLAP):
            yield piece[start : start + MAX_PIECE]


def _compile(code: str, words: Words) -> _Language:
    def compile_words(expression: str) -> re.Pattern[str]:
        folded = fold_accents(expression.casefold())  # the escapes have small letters only
        if code in _UNSPACED:
            return re.compile(folded)
        return re.compile(rf"(?<!\w)(?:{folded})" + ("" if code in _SUFFIXED else r"(?!\w)"))

    concepts = {name: compile_words(expression) for name, expression in words.items()}
    concepts["address"] = re.compile(_ADDRESS)
    rules = tuple((rule, names) for rule, names in _RULES if all(n in concepts for n in names))
    negation = concepts.pop("not", None)
    return _Language(concepts, rules, negation, re.compile(_LETTERS.get(code, "[a-z]")))


_LETTERS: Final = {"ru": "[\u0400-\u04ff]", "ja": "[\u3040-\u30ff]", "ko": "[\uac00-\ud7af]"}


@cache
def _compile_languages() -> Sequence[_Language]:
    """Compile the words of all languages once, when a first text is judged: most commands start without judging one."""
    return [_compile(*item) for item in LANGUAGES.items()]
