"""Secrets that grant access: generated here, shown once, stored as hashes.

256 random bits can't be guessed, so a plain hash protects them as well as a slow hash. The hash includes the kind of
secret, so that an invitation is never accepted as a key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal


Kind = Literal["key", "invitation", "start"]

KEY_PREFIX = "mf_"
# This is enough to distinguish keys in a list, and too little to guess the rest.
VISIBLE_LENGTH = len(KEY_PREFIX) + 6


def make_secret(kind: Kind) -> str:
    """Return a new random secret. Keys begin with a prefix, so that scanners can recognise leaked keys."""
    return (KEY_PREFIX if kind == "key" else "") + secrets.token_urlsafe(32)


def hash_secret(kind: Kind, secret: str) -> str:
    """Return the hash of a secret, which is stored instead of the secret."""
    return hashlib.sha256(f"mnemoflow:{kind}:{secret}".encode()).hexdigest()


def is_match(kind: Kind, secret: str, stored_hash: str) -> bool:
    """Compare a secret with its stored hash in constant time."""
    return hmac.compare_digest(hash_secret(kind, secret), stored_hash)
