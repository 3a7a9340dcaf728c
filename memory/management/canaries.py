"""Secrets that are recognised in any output, whatever its encoding."""

import base64
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Canary:
    """A secret of one person. ``text`` has only letters and digits, which no quoting of HTML, JSON or URLs changes."""

    owner: str
    text: str

    @classmethod
    def create(cls, owner: str) -> "Canary":
        return cls(owner, f"cnry{secrets.token_hex(12)}")

    @cached_property
    def forms(self) -> tuple[tuple[str, bytes], ...]:
        raw = self.text.encode()
        return (
            ("plain", raw),
            ("hex", raw.hex().encode()),
            ("percent", "".join(f"%{byte:02x}" for byte in raw).encode()),
            ("backwards", raw[::-1]),
            *(("base64", form) for form in _encode_base64(raw)),
        )

    def find_form(self, answer: bytes) -> str:
        """Return the encoding in which the secret occurs in the answer, or an empty text."""
        lower = answer.lower()
        for form, encoded in self.forms:
            if encoded in (answer if form == "base64" else lower):
                return form
        return ""


def find_foreign(answer: bytes, canaries: Iterable[Canary]) -> list[tuple[Canary, str]]:
    return [(canary, form) for canary in canaries if (form := canary.find_form(answer))]


def _encode_base64(raw: bytes) -> Iterable[bytes]:
    """Yield the characters that only this text determines, for each of the three offsets at which it may start."""
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(b"\0" * offset + raw).rstrip(b"=")
            first = -(-offset * 8 // 6)
            yield encoded[first : len(encoded) - 2]
