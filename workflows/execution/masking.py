"""Secrets are masked in the text of a row before the row is written.

A step's outputs are also what a later attempt goes on from, so the mask can be taken off again:
it names the secret, and carries a mark that only this run's keeper can compute. Text that merely
looks like a mask (a person may type one) has not got that mark and stays text.
"""

import hmac
import json
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


def _mark(run_id: str, name: str) -> str:
    key = settings.SECRET_KEY.encode()
    return hmac.new(key, f"mask:{run_id}:{name}".encode(), sha256).hexdigest()[:12]
