"""Blots live secrets out of anything that is logged, stored or shown, in the forms they travel in."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, quote_plus


MASK: Final = "[redacted]"
_SHORTEST: Final = 6  # a shorter "secret" would blot out ordinary words


class Redactor:
    """Compiled once for a set of secrets; costs one regular expression a text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret.strip())}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def text(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text

    def value(self, value: Any) -> Any:
        """The same for JSON, keys included."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode("utf-8", "backslashreplace")).encode()
        if isinstance(value, Mapping):
            return {self.value(key): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return type(value)(self.value(inner) for inner in value)
        if isinstance(value, BaseException):
            return self.text(f"{type(value).__name__}: {value}")
        return value

    def processor(
        self, _logger: Any, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """In the shape structlog asks of a processor; after the one that formats exceptions."""
        return {key: self.value(value) for key, value in event.items()}


def redactor(secrets: Iterable[str]) -> Redactor:
    """The redactor of this set of secrets, made once."""
    return _cached(frozenset(secrets))


@lru_cache(maxsize=256)
def _cached(secrets: frozenset[str]) -> Redactor:
    return Redactor(secrets)


def _forms(secret: str) -> Iterator[str]:
    if len(secret) < _SHORTEST:
        return
    yield secret
    yield from {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    yield from {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    raw = secret.encode()
    yield from {raw.hex(), raw.hex().upper()}
    for offset in range(3):
        yield from _base64_cores(raw, offset)


def _base64_cores(raw: bytes, offset: int) -> Iterator[str]:
    """What of a base64 text depends on the secret alone, when it stands ``offset`` bytes into a group.

    ``user:secret`` encoded as a whole shares no complete encoding with ``secret``, but this part.
    """
    encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
    start = -(-offset * 8 // 6)
    end = (offset + len(raw)) * 8 // 6
    core = encoded[start:end]
    if len(core) >= _SHORTEST:
        yield core
        yield core.replace("+", "-").replace("/", "_")
