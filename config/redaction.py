"""Replaces secrets in logged, stored and displayed data, in each of the forms that ``list_forms`` returns.

The log, a run's rows, a model's responses and the memory gateway use this module, which doesn't depend on Django.
"""

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Final
from urllib.parse import quote, quote_plus


MASK: Final = "[redacted]"
_MIN_LENGTH: Final = 4  # shorter secrets would redact too much of every text
_MIN_ENCODED_LENGTH: Final = 6
_MAX_LOG_SECRETS: Final = 1000  # secrets that a process redacts from its log


class Redactor:
    """Replaces each form of a secret by its replacement, in one pass over a string.

    A string without a secret, the usual case, costs one search per form.
    """

    def __init__(self, replacements: Mapping[str, str]) -> None:
        self._plain_table = _Table(replacements)

    def __bool__(self) -> bool:
        return bool(self._plain_table.replacements)

    def redact_text(self, text: str) -> str:
        return self._plain_table.replace(text)

    def redact_json_text(self, text: str) -> str:
        """Redact serialized JSON; keys are redacted as well."""
        return self._escaped_table.replace(text)

    def restore_json_text(self, text: str) -> str:
        """Restore the secrets. This works only if no two forms of secrets have the same replacement."""
        return self._restoring_table.replace(text)

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the positions of each form of a secret in the text; they may overlap."""
        return self._plain_table.find_spans(text)

    def redact(self, value: Any) -> Any:
        """Redact JSON, bytes and exceptions, keys included."""
        if not self:
            return value
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, bytes):
            text = value.decode("utf-8", "backslashreplace")
            redacted = self.redact_text(text)
            return value if redacted == text else redacted.encode()
        if isinstance(value, Mapping):
            return {self.redact(key): self.redact(inner) for key, inner in value.items()}
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(self.redact(inner) for inner in value)
        if isinstance(value, BaseException):
            return self.redact_text(f"{type(value).__name__}: {value}")
        return value

    def stream(self) -> "StreamRedactor":
        return StreamRedactor(self._plain_table)

    @cached_property
    def _escaped_table(self) -> "_Table":
        pairs = self._plain_table.replacements.items()
        return _Table({_escape_json(form): _escape_json(mask) for form, mask in pairs})

    @cached_property
    def _restoring_table(self) -> "_Table":
        return _Table({mask: form for form, mask in self._escaped_table.replacements.items()})


class StreamRedactor:
    """Redacts text that arrives in pieces. The possible beginning of a secret is held back until more text arrives."""

    def __init__(self, table: "_Table") -> None:
        self._table = table
        forms = table.replacements
        self._beginnings = {form[:end] for form in forms for end in range(1, len(form))}
        self._longest = max(map(len, forms), default=0)
        self._pending = ""

    def add(self, piece: str) -> str:
        """Add the next piece and return the text that may be shown now."""
        if self._table.pattern is None:
            return piece
        text, position = self._pending + piece, 0
        pieces: list[str] = []
        while True:
            match = self._table.pattern.search(text, position)
            pending_start = self._find_start_of_secret(text, position)
            if match is None or pending_start <= match.start():
                self._pending = text[pending_start:]
                return "".join((*pieces, text[position:pending_start]))
            pieces += [text[position : match.start()], self._table.replacements[match.group()]]
            position = match.end()

    def end(self) -> str:
        """Return the redacted text that was held back. No more text may be added afterwards."""
        text, self._pending = self._pending, ""
        return self._table.replace(text)

    def _find_start_of_secret(self, text: str, position: int) -> int:
        """Return the first position where a secret may begin that the text cuts off, or else the text's length."""
        for start in range(max(position, len(text) - self._longest + 1), len(text)):
            if text[start:] in self._beginnings:
                return start
        return len(text)


class LogRedactor:
    """Redacts the last ``_MAX_LOG_SECRETS`` secrets that this process has used from its log."""

    def __init__(self) -> None:
        self._forms: dict[str, list[str]] = {}
        self._redactor: Redactor | None = NO_REDACTION  # None: built at the next event
        self._lock = threading.Lock()

    def add(self, secret: str) -> None:
        """Keep a secret out of the log from now on."""
        if secret in self._forms:
            return
        with self._lock:
            if len(self._forms) >= _MAX_LOG_SECRETS:
                del self._forms[next(iter(self._forms))]
            self._forms[secret] = list_forms(secret)
            self._redactor = None

    def process(
        self, _logger: Any, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Redact an event. This is a structlog processor, which must run after the one that formats exceptions."""
        redactor = self._build_redactor() if self._redactor is None else self._redactor
        return {key: redactor.redact(value) for key, value in event.items()}

    def _build_redactor(self) -> Redactor:
        with self._lock:
            forms = chain.from_iterable(self._forms.values())
            self._redactor = Redactor(dict.fromkeys(forms, MASK))
            return self._redactor


def build_redactor(secrets: Iterable[str]) -> Redactor:
    """Return the cached redactor that replaces each of these secrets by MASK."""
    return _build_cached_redactor(frozenset(secrets))


@lru_cache(maxsize=256)
def _build_cached_redactor(secrets: frozenset[str]) -> Redactor:
    return Redactor({form: MASK for secret in secrets for form in list_forms(secret)})


def list_forms(secret: str) -> list[str]:
    """Return the plain secret, and its forms in URLs, JSON, base64 and hexadecimal. Too short secrets have no forms."""
    secret = secret.strip()
    if len(secret) < _MIN_LENGTH:
        return []
    if len(secret) < _MIN_ENCODED_LENGTH:
        return [secret]
    raw = secret.encode("utf-8", "surrogatepass")
    encoded = [
        *(quote(raw, safe=""), quote(raw), quote_plus(raw)),
        *(json.dumps(secret)[1:-1], _escape_json(secret)),
        *(raw.hex(), raw.hex().upper()),
        *(form for offset in range(3) for form in _list_base64_forms(raw, offset)),
    ]
    return list(dict.fromkeys([secret, *encoded]))


def _list_base64_forms(raw: bytes, offset: int) -> Iterator[str]:
    """Yield the part of a base64 text that depends only on the secret, in the standard and in the URL-safe alphabet.

    ``offset`` is the position of the secret's first byte in its group of three. The encoding of ``user:secret`` may not
    contain that of ``secret``, but it contains this part for the offset that the prefix causes.
    """
    encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
    start = -(-offset * 8 // 6)
    end = (offset + len(raw)) * 8 // 6
    part = encoded[start:end]
    if len(part) >= _MIN_ENCODED_LENGTH:
        yield part
        yield part.replace("+", "-").replace("/", "_")


def _escape_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


class _Table:
    """Strings and their replacements. If several match at the same position, the longest one is replaced."""

    def __init__(self, replacements: Mapping[str, str]) -> None:
        longest_first = sorted(replacements, key=lambda text: (-len(text), text))
        self.replacements = {text: replacements[text] for text in longest_first}

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        if not self.replacements:
            return None
        return re.compile("|".join(map(re.escape, self.replacements)))

    def replace(self, text: str) -> str:
        # Searching for each string is much faster than the pattern, which only runs if one was found.
        if not any(form in text for form in self.replacements) or self.pattern is None:
            return text
        return self.pattern.sub(lambda match: self.replacements[match.group()], text)

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for form in self.replacements:
            start = text.find(form)
            while start >= 0:
                end = start + len(form)
                yield start, end
                start = text.find(form, end)


NO_REDACTION: Final = Redactor({})
log_redactor: Final = LogRedactor()
