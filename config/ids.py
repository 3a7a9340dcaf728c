"""Ids: the UUIDs that number rows, and the identifiers that people choose.

UUIDs are of version 7. They sort by time, so that indexes grow at one end.

The ids of users, groups, applications and conversations are any text. Two spellings of one text are one identifier, so
it is normalized: to Unicode's form NFC, in which é has one spelling, and without white space at its ends. Nothing else
is folded: characters that merely look alike (a Latin and a Cyrillic а, a wide and a narrow Ａ) and both cases of a
letter stay apart, because one spelling of two people would let one read the other's memory. Invisible characters can
be seen in the escaped form.

In the name of a namespace, ids are parts between colons. There they are escaped, reversibly and in one way only.
"""

import hashlib
import os
import re
import threading
import time
import unicodedata
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, unquote
from uuid import UUID


MAX_ID_LENGTH: Final = 80  # characters of the escaped form, as columns of ids have

# White space, and characters that can't be seen: controls, marks of direction, joiners.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_ESCAPE = re.compile(r"(?:%[0-9A-F]{2})+")

_lock = threading.Lock()
_newest_stamp = 0  # milliseconds << 12 | counter of the newest UUID of this process


def uuid7() -> UUID:
    """Return a UUID of RFC 9562 version 7 that is greater than all before it in this process, even if the clock is set back.

    The 12 bits after the milliseconds are a counter within one millisecond (method 1 of the RFC), which overflows into
    the milliseconds.
    """
    return UUID(int=_make_uuid7_number())


def make_uuid7_text() -> str:
    """Return what ``uuid7`` returns as 32 hexadecimal digits, which PostgreSQL reads, in half of the time."""
    return f"{_make_uuid7_number():032x}"


def _make_uuid7_number() -> int:
    global _newest_stamp
    with _lock:
        _newest_stamp = max(_newest_stamp + 1, time.time_ns() // 1_000_000 << 12)
        stamp = _newest_stamp
    milliseconds, counter = stamp >> 12, stamp & 0xFFF
    random_bits = int.from_bytes(os.urandom(8)) & (1 << 62) - 1
    return milliseconds << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | random_bits


def derive_uuid7(parent: UUID, name: str) -> UUID:
    """Return the same UUID for the same parent and name: a millisecond younger than the parent, and otherwise random."""
    milliseconds = (parent.int >> 80) + 1
    digest = int.from_bytes(hashlib.sha256(parent.bytes + name.encode()).digest()[:10])
    counter, random_bits = digest >> 68, digest & (1 << 62) - 1
    return UUID(int=milliseconds << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | random_bits)


def normalize_identifier(text: str) -> str:
    """Return the one spelling of an identifier."""
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def is_identifier(text: str) -> bool:
    """Return whether the text is a normalized identifier that every store can keep."""
    if not text or text != normalize_identifier(text) or "\x00" in text:
        return False
    return len(text) <= MAX_ID_LENGTH and _is_encodable(text) and len(escape(text)) <= MAX_ID_LENGTH


def escape(identifier: str) -> str:
    """Return the identifier with colons, percent signs and hidden characters as percent-encoded bytes."""
    return identifier if identifier.isalnum() else _quote(identifier, _is_escaped)


def unescape(text: str) -> str:
    """Return the identifier; raise ValueError for a text that ``escape`` never returns."""
    try:
        identifier = _ESCAPE.sub(lambda match: unquote(match[0], errors="strict"), text)
    except UnicodeDecodeError:
        identifier = ""
    if not _is_encodable(identifier) or escape(identifier) != text:
        raise ValueError(f"{text!r} is not an escaped identifier.")
    return identifier


def escape_hidden(text: str) -> str:
    """Complete an escaped identifier in which a person typed spaces or other hidden characters as they are."""
    return _quote(text, _is_hidden)


def _quote(text: str, is_quoted: Callable[[str], bool]) -> str:
    """Percent-encode these characters, and accents after them, which would form one letter with the last hex digit."""
    quoted, is_after_quoted = [], False
    for character in text:
        is_accent = is_after_quoted and unicodedata.category(character).startswith("M")
        is_after_quoted = is_accent or is_quoted(character)
        quoted.append(quote(character, safe="") if is_after_quoted else character)
    return "".join(quoted)


def _is_escaped(character: str) -> bool:
    return character in ":%" or _is_hidden(character)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


def _is_encodable(text: str) -> bool:
    """Return whether the text has no unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
