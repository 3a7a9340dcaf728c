"""Secrets that are made to be recognised wherever they turn up, and however they were wrapped."""

import base64
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Canary:
    """``text`` is letters and digits alone: no quoting of HTML, JSON or addresses changes it."""

    whose: str
    text: str

    @classmethod
    def of(cls, whose: str) -> "Canary":
        return cls(whose, f"cnry{secrets.token_hex(12)}")

    @cached_property
    def forms(self) -> tuple[tuple[str, bytes], ...]:
        raw = self.text.encode()
        return (
            ("plain", raw),
            ("hex", raw.hex().encode()),
            ("percent", "".join(f"%{byte:02x}" for byte in raw).encode()),
            ("backwards", raw[::-1]),
            *(("base64", form) for form in _base64(raw)),
        )

    def found_in(self, answer: bytes) -> str:
        """The form it has there; empty where it isn't."""
        lower = answer.lower()
        for form, wanted in self.forms:
            if wanted in (answer if form == "base64" else lower):
                return form
        return ""


def foreign_in(answer: bytes, foreign: Iterable[Canary]) -> list[tuple[Canary, str]]:
    return [(one, form) for one in foreign if (form := one.found_in(answer))]


def _base64(raw: bytes) -> Iterable[bytes]:
    """At whichever of three places it begins: what only this text decides of it."""
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"\0" * before + raw).rstrip(b"=")
            first = -(-before * 8 // 6)
            yield whole[first : len(whole) - 2]
