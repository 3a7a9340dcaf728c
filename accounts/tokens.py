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
VISIBLE = len(KEY_PREFIX) + 6  # enough to distinguish keys in a list, too little to guess the rest


def make_secret(kind: Kind) -> str:
    """Make a new secret; keys are recognised by their prefix, so that leaks can be scanned for."""
    return (KEY_PREFIX if kind == "key" else "") + secrets.token_urlsafe(32)


def hash_secret(kind: Kind, secret: str) -> str:
    """Return the hash that is stored."""
    return hashlib.sha256(f"mnemoflow:{kind}:{secret}".encode()).hexdigest()


def is_match(kind: Kind, secret: str, stored: str) -> bool:
    """Compare a secret with its stored hash in constant time."""
    return hmac.compare_digest(hash_secret(kind, secret), stored)
