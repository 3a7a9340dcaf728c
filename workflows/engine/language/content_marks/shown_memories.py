"""Recognizes the words of memories: in the arguments of a call, so that a person is asked before they leave, and in what
a run hands on, so that they are recognized there, too.

The texts of memories travel with the run, whichever step was shown them. What a run answers, stores in variables of its
conversation, or gives to another workflow is searched for their words, and only these travel on.

A model that has read text from outside may have been told to send away what it remembers. Words of a memory are found as
they are written, and in the encodings that addresses and programs read. A model can hide words in more ways than a list
has; a tool that asks before each call is the sure way.
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import unquote_plus

from workflows.engine.language.content_marks.faded_memories import FadedMemories, split_newest
from workflows.engine.language.document import Json


MAX_TEXT: Final = 100_000  # characters of one memory
MAX_VALUE: Final = 300_000  # characters of what a run hands on that are searched
MAX_WORD: Final = 40  # characters by which a longer word is recognized
# Letters and digits in a row that are no coincidence, and how many of them where each is a word.
WINDOW: Final = 8
IDEOGRAPH_WINDOW: Final = 4
# A word of this length, a name, or a number is recognized alone.
MIN_WORD: Final = 7
MIN_NAME: Final = 4
MIN_VALUE: Final = 3
_IDEOGRAPH: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD: Final = re.compile(r"[^\W_]+")
_HEX: Final = re.compile(r"[0-9a-fA-F]{8,}")
_MAX_SHIFT: Final = 4  # characters before an encoded text that look like a part of it
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{6,}")
_BASE64_PART: Final = re.compile(r"[A-Za-z0-9+_-]{6,}")  # of a path, which is divided by slashes
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?\n])\W*$")


class ShownMemories:
    """The memories that a model was shown. ``own_words`` are the person's of this turn, which reveal nothing."""

    def __init__(self, own_words: str = "") -> None:
        self._own = _squeeze(own_words)
        self._own_windows = {
            self._own[start : start + size]
            for size in (WINDOW, IDEOGRAPH_WINDOW)
            for start in range(len(self._own))
        }
        self._windows: set[str] = set()
        self._words = _Words()
        self._faded: list[FadedMemories] = []
        self._passages: set[str] = set()  # that stand for all of them

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            if faded := FadedMemories.parse(text):
                self._faded.append(faded)
                self._passages.add(text)
                continue
            squeezed = _squeeze(text[:MAX_TEXT])
            windows = set(_iter_windows(squeezed))
            words = set(_iter_distinctive_words(text[:MAX_TEXT]))
            if MIN_VALUE <= len(squeezed) < WINDOW:
                words.add(squeezed)
            words = {word[:MAX_WORD] for word in words}
            self._passages |= {squeezed, *words}
            self._windows |= windows - self._own_windows
            self._words.add(words - _Words(words).find_in(self._own))

    def is_in(self, arguments: Json) -> bool:
        """Return whether words of a memory are in the arguments of a call."""
        if not self._windows and not self._words and not self._faded:
            return False
        text = " ".join(iter_texts(arguments))
        return any(map(self._is_in_text, {_squeeze(each) for each in _decode(text)}))

    def find_in(self, value: Json) -> tuple[str, ...]:
        """Return the words of memories in a value, without what stands between them, so that ``add`` recognizes them elsewhere.

        A value that is too long to be searched may have any of the memories: the words of all of them are returned.
        """
        if not self._windows and not self._words and not self._faded:
            return ()
        text = " ".join(iter_texts(value))
        if len(text) > MAX_VALUE:
            return tuple(sorted(self._passages - {""}))
        passages = {
            passage
            for each in set(_decode(text))
            for passage in self._iter_passages(_squeeze(each))
        }
        return tuple(sorted(passages - {""}))

    def _iter_passages(self, squeezed: str) -> Iterator[str]:
        """Yield the longest passages that consist of windows of memories, and the words."""
        begin = end = 0
        for start, window in _iter_windows_at(squeezed):
            if window not in self._windows and not self._has_faded(window):
                continue
            if start >= end:
                yield squeezed[begin:end]
                begin = start
            end = start + len(window)
        yield squeezed[begin:end]
        yield from self._words.find_in(squeezed)
        yield from self._iter_faded_words(squeezed)

    def _is_in_text(self, squeezed: str) -> bool:
        if not self._windows.isdisjoint(_iter_windows(squeezed)):
            return True
        if next(self._words.iter_in(squeezed), None) is not None:
            return True
        if self._faded and any(map(self._has_faded, set(_iter_windows(squeezed)))):
            return True
        return any(True for _word in self._iter_faded_words(squeezed))

    def _has_faded(self, piece: str) -> bool:
        return any(piece in faded for faded in self._faded) and piece not in self._own

    def _iter_faded_words(self, squeezed: str) -> Iterator[str]:
        """Yield the words that are shorter than a window."""
        if self._faded:
            words = {
                squeezed[start : start + length]
                for length in range(MIN_VALUE, WINDOW)
                for start in range(len(squeezed) - length + 1)
            }
            yield from filter(self._has_faded, words)


class _Words:
    """Many words, which are looked for in a text all at once: what that takes doesn't grow with their number."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words: set[str] = set()
        self._lengths: dict[str, set[int]] = {}  # by how the words begin
        self.add(words)

    def __bool__(self) -> bool:
        return bool(self._words)

    def add(self, words: Iterable[str]) -> None:
        for word in words:
            self._words.add(word)
            self._lengths.setdefault(word[:MIN_VALUE], set()).add(len(word))

    def find_in(self, text: str) -> set[str]:
        return set(self.iter_in(text))

    def iter_in(self, text: str) -> Iterator[str]:
        for start in range(len(text) if self._words else 0):
            for length in self._lengths.get(text[start : start + MIN_VALUE], ()):
                word = text[start : start + length]
                if word in self._words:
                    yield word


def bound_memories(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words of memories in a bounded size: the newest as they are, the older ones so that they are recognized."""
    words = list(words)
    filters = [each for each in map(FadedMemories.parse, words) if each is not None]
    old, newest = split_newest(each for each in words if FadedMemories.parse(each) is None)
    if not old:
        return tuple(dict.fromkeys(words))
    faded = FadedMemories.unite(filters)
    for word in old:
        for piece in _iter_windows(word):
            faded.add(piece)
        if MIN_VALUE <= len(word) < WINDOW:
            faded.add(word)
    return (faded.dump(), *newest)


def find_memories(texts: Iterable[str], value: Json) -> tuple[str, ...]:
    """Return the words of these memories in a value."""
    memories = ShownMemories()
    memories.add(texts)
    return memories.find_in(value)


def iter_texts(value: Json) -> Iterator[str]:
    """Yield the names and values in JSON as texts, at every depth."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from iter_texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from iter_texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _squeeze(text: str) -> str:
    """Return the letters and digits without what stands between them, and without differences of case and width."""
    return "".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _iter_windows(squeezed: str) -> Iterator[str]:
    return (window for _start, window in _iter_windows_at(squeezed))


def _iter_windows_at(squeezed: str) -> Iterator[tuple[int, str]]:
    for start in range(len(squeezed)):
        if _IDEOGRAPH.match(squeezed, start):
            window = squeezed[start : start + IDEOGRAPH_WINDOW]
            if len(window) == IDEOGRAPH_WINDOW:
                yield start, window
        elif len(squeezed) - start >= WINDOW:
            yield start, squeezed[start : start + WINDOW]


def _iter_distinctive_words(text: str) -> Iterator[str]:
    """Yield long words, names and numbers: a word in capitals that doesn't begin a sentence is a name."""
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = match.group()
        is_name = word[0].isupper() and not _SENTENCE_START.search(text[: match.start()][-8:])
        has_digit = any(map(str.isdigit, word))
        if len(word) >= (MIN_NAME if is_name or has_digit else MIN_WORD):
            yield word.casefold()


def _decode(text: str) -> Iterator[str]:
    """Yield the text, and what it says if it is read in one of the usual encodings, or in one inside another."""
    yield text
    yield text[::-1]
    plain = html.unescape(unquote_plus(unquote_plus(text)))
    yield plain
    for decoded in _decode_binary(plain):
        yield decoded
        words = (word for word in decoded.split() if len(word) >= WINDOW and word.isascii())
        yield from _decode_binary(" ".join(filter(str.isprintable, words)))


def _decode_binary(text: str) -> Iterator[str]:
    for pattern, decode in _ENCODINGS:
        yield " ".join(filter(None, (_read(decode, match) for match in pattern.findall(text))))


def _read(decode: Callable[[str], bytes], text: str) -> str:
    """Return what a text says in an encoding, which may begin after the text does."""
    texts = []
    for start in range(_MAX_SHIFT):
        with suppress(ValueError, binascii.Error):  # it only looks like the encoding
            texts.append(decode(text[start:]).decode(errors="ignore"))
    return " ".join(texts)


def _read_hex(text: str) -> bytes:
    return bytes.fromhex(text[: len(text) // 2 * 2])


def _read_base64(text: str) -> bytes:
    body = text.replace("-", "+").replace("_", "/")
    body = body[:-1] if len(body) % 4 == 1 else body
    return base64.b64decode(body + "=" * (-len(body) % 4))


_ENCODINGS: Final[tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...]] = (
    (_HEX, _read_hex),
    (_BASE64, _read_base64),
    (_BASE64_PART, _read_base64),
)
