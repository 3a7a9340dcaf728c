"""Finds secrets in a text that a server answers or a model writes, whatever encodings they are in.

The forms that ``config.redaction`` lists are found where they stand. A word that says a secret only after it is decoded,
perhaps several times, counts as a whole. So does a word that would unpack to much more than the text itself: a text could
otherwise be a megabyte of small archives that unpack to gigabytes, one inside the other.
"""

import codecs
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from config.redaction import Redactor, list_forms
from workflows.engine.language.document import Json
from workflows.tools.secret_base85 import find_base85_spans, list_base85_forms
from workflows.tools.secret_encodings import Room, TooMuchUnpacked, decode, iter_encoded_blocks
from workflows.tools.secret_numbers import NumberFinder
from workflows.tools.secret_spellings import SpellingFinder
from workflows.tools.secret_uuencode import UuencodeFinder
from workflows.tools.value_texts import TextKind, ValueText, iter_texts, rebuild


MIN_LENGTH: Final = 6  # a shorter secret is part of too many words once they are decoded
MAX_DECODINGS: Final = 4  # one inside the other
UNPACKED_PER_LETTER: Final = 20  # bytes that the archives of a text may unpack to, all together
CUT: Final = "…"  # at the end of a text that was shortened
_WORD: Final = re.compile(r"[^\s\"'<>{}()\[\],]+")


class SecretFinder:
    """Finds these secrets, forwards and backwards. What it costs grows with the text and with the number of secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        texts = {secret.strip() for secret in secrets}
        forms = {form for text in texts for form in _list_plain_forms(text)}
        long_enough = sorted(text for text in texts if len(text) >= MIN_LENGTH)
        disguised = [codecs.encode(text, "rot13") for text in long_enough]
        originals = [form for text in long_enough for form in (text, text[::-1])]
        turned = [form for text in disguised for form in (text, text[::-1])]
        self._decoded = tuple(dict.fromkeys((*originals, *turned)))
        self._shortest = min(map(len, self._decoded), default=0)
        self._forms = sorted(forms)
        self._spellings = SpellingFinder((*long_enough, *disguised))
        self._divided = SpellingFinder.of_encoded(originals)
        self._base85_forms = list_base85_forms(originals)
        self._uuencoded = UuencodeFinder(originals)
        self._numbers = NumberFinder(originals)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def is_in(self, value: Json) -> bool:
        """Return whether a string of the value, or the name of a field, has a secret."""
        texts = list(iter_texts(value))
        if self._find_split(texts):
            return True
        return any(self._is_in_text(each.text) for each in texts if each.kind != TextKind.NUMBER)

    def replace(self, text: str, mask: str) -> str:
        """Return the text with the mask in place of each secret, or of the word that says it."""
        text = Redactor(dict.fromkeys(self._forms, mask)).redact_text(text)
        text = _replace_spans(text, self._spellings.find_spans(text), mask)
        text = _replace_spans(text, find_base85_spans(text, self._base85_forms), mask)
        text = _replace_spans(text, self._uuencoded.find_spans(text), mask)
        text = _replace_spans(text, self._numbers.find_spans(text), mask)
        room = Room(len(text) * UNPACKED_PER_LETTER)
        text = _WORD.sub(
            lambda match: mask if self._says(match.group(), room) else match.group(), text
        )
        spans = [match.span() for match in self._iter_blocks(text, room)]
        text = _replace_spans(text, spans, mask)
        text = _replace_spans(text, self._divided.find_spans(text), mask)
        return self._replace_cut_end(text, mask)

    def replace_in(self, value: Json, mask: str) -> Json:
        """Return the value with the mask in place of each secret, also of one that several strings or numbers say."""
        texts = list(iter_texts(value))
        masked = self._find_split(texts)
        cleaned = (
            mask if number in masked else self._replace_in_text(each, mask)
            for number, each in enumerate(texts)
        )
        return rebuild(value, cleaned)

    def _replace_in_text(self, text: ValueText, mask: str) -> str:
        return text.text if text.kind == TextKind.NUMBER else self.replace(text.text, mask)

    def _find_split(self, texts: Sequence[ValueText]) -> set[int]:
        """Return the positions of the strings that spell a secret together, with the names of fields between them or
        without, and of the numbers that say one.
        """
        masked = self._numbers.find(texts)
        for kinds in ({TextKind.STRING}, {TextKind.STRING, TextKind.NAME}):
            numbers = [number for number, each in enumerate(texts) if each.kind in kinds]
            strings = [texts[number].text for number in numbers]
            for finder in (self._spellings, self._divided):
                masked |= {numbers[position] for position in finder.find_strings(strings)}
        return masked

    def _replace_cut_end(self, text: str, mask: str) -> str:
        """Replace the beginning of a secret at the end of a text that was cut in the middle of it."""
        if not text.endswith(CUT):
            return text
        for secret in self._decoded:
            start = text.rfind(secret[:MIN_LENGTH])
            if start >= 0 and secret.startswith(text[start : -len(CUT)]):
                return f"{text[:start]}{mask}{CUT}"
        return text

    def _is_in_text(self, text: str) -> bool:
        if any(form in text for form in self._forms):
            return True
        if self._spellings.is_in(text) or any(form in text for form in self._base85_forms):
            return True
        if any(finder.is_in(text) for finder in (self._numbers, self._divided, self._uuencoded)):
            return True
        room = Room(len(text) * UNPACKED_PER_LETTER)
        if any(self._says(match.group(), room) for match in _WORD.finditer(text)):
            return True
        return any(True for _block in self._iter_blocks(text, room))

    def _iter_blocks(self, text: str, room: Room) -> Iterator[re.Match[str]]:
        """Yield the passages of several words that say a secret together."""
        return (match for match in iter_encoded_blocks(text) if self._says(match.group(), room))

    def _says(self, word: str, room: Room) -> bool:
        """Return whether a word says a secret after it is decoded, or might say one in what is too much to unpack."""
        if not self._decoded or len(word) < self._shortest:
            return False
        try:
            return self._says_decoded(word, room)
        except TooMuchUnpacked:
            return True

    def _says_decoded(self, word: str, room: Room) -> bool:
        texts = {word}
        earlier_texts = {word}
        for _depth in range(MAX_DECODINGS):
            readings = [reading for text in texts for reading in decode(text, room)]
            if any(secret in each.text for each in readings for secret in self._decoded):
                return True
            texts = {each.text for each in readings if not each.is_noise} - earlier_texts
            earlier_texts |= texts
        return False


def _list_plain_forms(secret: str) -> Iterator[str]:
    """Yield the forms that are found where they stand. A secret with spaces or quotes isn't one word in HTML or JSON."""
    forms = list_forms(secret)
    if not forms:
        return
    if len(secret) >= MIN_LENGTH:  # UTF-16 that was read as another encoding
        wide = "\0".join(secret)
        yield from (wide, json.dumps(wide)[1:-1], json.dumps(wide, ensure_ascii=False)[1:-1])
    turned = [secret[::-1], codecs.encode(secret, "rot13")] if len(secret) >= MIN_LENGTH else []
    if _WORD.fullmatch(secret):
        yield from (*forms, *turned)
        return
    for form in (html.escape(secret), *forms, *turned):
        yield form
        yield json.dumps(form)[1:-1]


def _replace_spans(text: str, spans: Iterable[tuple[int, int]], mask: str) -> str:
    """Return the text with the mask in place of each span; of two that overlap, the first one counts."""
    pieces, position = [], 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += [text[position:start], mask]
        position = max(position, end)
    return "".join((*pieces, text[position:]))
