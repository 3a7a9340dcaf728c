"""Secrets that grant access: generated here, shown once, stored as hashes.

At least 142 random bits can't be guessed, so a plain hash protects them as well as a slow hash. The hash includes the kind of
secret, so that an invitation is never accepted as a key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import string
from typing import Final, Literal


Kind = Literal["key", "invitation", "start", "webhook"]

KEY_PREFIX: Final = "mf_"
# Clients of Dify's API check that the key of an app begins like this, and some that it is 28 characters long.
WORKFLOW_KEY_PREFIX: Final = "app-"
KEY_PREFIXES: Final = (KEY_PREFIX, WORKFLOW_KEY_PREFIX)
_WORKFLOW_KEY_LENGTH: Final = 24  # 142 random bits, without the prefix
_LETTERS_AND_DIGITS: Final = string.ascii_letters + string.digits
# Of a secret behind its prefix: enough to distinguish keys in a list, and too little to guess the rest.
_VISIBLE_LENGTH: Final = 6


def make_secret(kind: Kind) -> str:
    """Return a new random secret. Keys begin with a prefix, so that scanners can recognise leaked keys."""
    return (KEY_PREFIX if kind == "key" else "") + secrets.token_urlsafe(32)


def make_workflow_key() -> str:
    """Return a new secret for a key that opens one workflow only."""
    characters = (secrets.choice(_LETTERS_AND_DIGITS) for _position in range(_WORKFLOW_KEY_LENGTH))
    return WORKFLOW_KEY_PREFIX + "".join(characters)


def cut_to_visible(key: str) -> str:
    """Return the part of a key that may be shown: its prefix and a few characters."""
    prefix = WORKFLOW_KEY_PREFIX if key.startswith(WORKFLOW_KEY_PREFIX) else KEY_PREFIX
    return key[: len(prefix) + _VISIBLE_LENGTH]


def hash_secret(kind: Kind, secret: str) -> str:
    """Return the hash of a secret, which is stored instead of the secret."""
    return hashlib.sha256(f"mnemoflow:{kind}:{secret}".encode()).hexdigest()


def is_match(kind: Kind, secret: str, stored_hash: str) -> bool:
    """Compare a secret with its stored hash in constant time."""
    return hmac.compare_digest(hash_secret(kind, secret), stored_hash)
