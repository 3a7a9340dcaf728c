"""Secrets are masked in the text of a row before the row is written.

A step's outputs are also what a later attempt goes on from, so the mask can be taken off again:
it names the secret, and carries a mark that only this run's keeper can compute. Text that merely
looks like a mask (a person may type one) has not got that mark and stays text.
"""

import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from django.conf import settings


SHORTEST = 4  # a secret of three letters would blank out half of every text


@dataclass(frozen=True, slots=True)
class Mask:
    """Works on JSON text: one pass over a row, and secrets in keys are found too."""

    pairs: tuple[tuple[str, str], ...] = field(repr=False, default=())  # as escaped in JSON → mask

    def on(self, text: str) -> str:
        for secret, mask in self.pairs:
            if secret in text:
                text = text.replace(secret, mask)
        return text

    def off(self, text: str) -> str:
        for secret, mask in self.pairs:
            if mask in text:
                text = text.replace(mask, secret)
        return text


NO_MASK = Mask()


class StreamMask:
    """Masks text that comes in pieces: what may be the beginning of a secret waits for what follows."""

    def __init__(self, mask: Mask) -> None:
        self._masks = {_plain(secret): _plain(name) for secret, name in mask.pairs}
        found = "|".join(
            re.escape(secret) for secret in self._masks
        )  # the longest first, as in pairs
        self._secret = re.compile(found) if found else None
        self._longest = max(map(len, self._masks), default=0)
        self._held = ""

    def add(self, piece: str) -> str:
        """What may be shown now."""
        if self._secret is None:
            return piece
        text, at = self._held + piece, 0
        shown: list[str] = []
        while True:
            found = self._secret.search(text, at)
            wait = self._beginning_of_secret(text, at)
            if found is None or wait <= found.start():
                self._held = text[wait:]
                return "".join((*shown, text[at:wait]))
            shown += [text[at : found.start()], self._masks[found.group()]]
            at = found.end()

    def end(self) -> str:
        """No more is to come: what was held back, masked where a shorter secret is in it."""
        held, self._held = self._held, ""
        if self._secret is None:
            return held
        return self._secret.sub(lambda found: self._masks[found.group()], held)

    def _beginning_of_secret(self, text: str, at: int) -> int:
        """From where on the text may go on to be a secret; its end, when it can't."""
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            rest = text[start:]
            if any(secret.startswith(rest) and secret != rest for secret in self._masks):
                return start
        return len(text)


def mask_for(run_id: str, secrets: Mapping[str, str]) -> Mask:
    """Name → live value. The longest goes first: one secret may contain another."""
    named = sorted(secrets.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return Mask(
        tuple(
            (_escaped(value), f"[secret {_escaped(name)} {_mark(run_id, name)}]")
            for name, value in named
            if len(value) >= SHORTEST
        )
    )


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _plain(escaped: str) -> str:
    return str(json.loads(f'"{escaped}"'))


def _mark(run_id: str, name: str) -> str:
    key = settings.SECRET_KEY.encode()
    return hmac.new(key, f"mask:{run_id}:{name}".encode(), sha256).hexdigest()[:12]
