"""Encrypts stored secrets with Fernet under a list of keys, so that a key can be replaced without downtime.

The first key encrypts; every key decrypts. To rotate: put a new key in front, restart, re-encrypt with `rotate`, then
remove the old key.

Keys derived from them, one for each purpose, sign documents that this installation must be able to recognise later.
"""

import base64
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from config.redaction import log_redactor


class SecretUnreadable(Exception):
    """A stored secret can't be read with the keys in SECRET_KEYS_AT_REST."""

    retryable = False
    is_recoverable = False

    def __init__(self) -> None:
        super().__init__(self.__class__.__doc__)


def encrypt(text: str) -> bytes:
    """Encrypt a secret, and keep it out of this process's log from now on."""
    log_redactor.add(text)
    return _build_fernet(tuple(settings.SECRET_KEYS_AT_REST)).encrypt(text.encode())


def decrypt(token: bytes) -> str:
    """Decrypt a secret, and keep it out of this process's log from now on."""
    try:
        text = _build_fernet(tuple(settings.SECRET_KEYS_AT_REST)).decrypt(bytes(token)).decode()
    except (InvalidToken, UnicodeDecodeError) as error:
        raise SecretUnreadable from error
    log_redactor.add(text)
    return text


def is_readable(token: bytes) -> bool:
    """Return whether one of the keys decrypts the secret, which is not kept."""
    try:
        _build_fernet(tuple(settings.SECRET_KEYS_AT_REST)).decrypt(bytes(token))
    except InvalidToken:
        return False
    return True


def rotate(token: bytes) -> bytes:
    """Return the same secret encrypted under the newest key."""
    try:
        return _build_fernet(tuple(settings.SECRET_KEYS_AT_REST)).rotate(bytes(token))
    except InvalidToken as error:
        raise SecretUnreadable from error


def generate_key() -> str:
    return Fernet.generate_key().decode()


@lru_cache(maxsize=4)
def _build_fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


@dataclass(frozen=True, slots=True)
class Signature:
    """An Ed25519 signature and the public key that verifies it, both in base64."""

    public_key: str
    value: str


def sign(text: str, purpose: str) -> Signature:
    """Sign with a key that is derived from the installation's newest key for this purpose only."""
    signing_key = _derive_signing_key(settings.SECRET_KEYS_AT_REST[0], purpose)
    return Signature(
        _encode_public_key(signing_key), _encode_base64(signing_key.sign(text.encode()))
    )


def is_signed(text: str, purpose: str, signature: Signature) -> bool:
    """Return whether ``sign`` made this signature for the text and purpose, with one of the current keys."""
    own_public_keys = {
        _encode_public_key(_derive_signing_key(key, purpose))
        for key in settings.SECRET_KEYS_AT_REST
    }
    if signature.public_key not in own_public_keys:
        return False
    try:
        public_key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature.public_key))
        public_key.verify(base64.b64decode(signature.value, validate=True), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def _derive_signing_key(key: str, purpose: str) -> Ed25519PrivateKey:
    derivation = HKDF(hashes.SHA256(), 32, salt=None, info=f"mnemoflow {purpose}".encode())
    return Ed25519PrivateKey.from_private_bytes(derivation.derive(key.encode()))


def _encode_public_key(signing_key: Ed25519PrivateKey) -> str:
    return _encode_base64(signing_key.public_key().public_bytes_raw())


def _encode_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
