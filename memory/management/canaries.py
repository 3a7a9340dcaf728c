"""Secrets for tests that are recognised in any output, whatever its encoding."""

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
    def encodings(self) -> tuple[tuple[str, bytes], ...]:
        """The names of the encodings, each with the bytes of the encoded secret."""
        secret = self.text.encode()
        return (
            ("plain", secret),
            ("hex", secret.hex().encode()),
            ("percent", "".join(f"%{byte:02x}" for byte in secret).encode()),
            ("backwards", secret[::-1]),
            *(("base64", encoded) for encoded in _encode_base64(secret)),
        )

    def find_encoding(self, output: bytes) -> str:
        """Return the name of the encoding in which the secret occurs in the output, or an empty string."""
        lower_output = output.lower()
        for encoding, encoded in self.encodings:
            if encoded in (output if encoding == "base64" else lower_output):
                return encoding
        return ""


def find_canaries(output: bytes, canaries: Iterable[Canary]) -> list[tuple[Canary, str]]:
    """Return the secrets that occur in the output, each with the name of its encoding."""
    return [(canary, name) for canary in canaries if (name := canary.find_encoding(output))]


def _encode_base64(secret: bytes) -> Iterable[bytes]:
    """Yield the characters that do not depend on the bytes before and after, for each of the three possible offsets."""
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(b"\0" * offset + secret).rstrip(b"=")
            start = -(
                -offset * 8 // 6
            )  # rounded up: the first character without bits of the padding
            yield encoded[start : len(encoded) - 2]
