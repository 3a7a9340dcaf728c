"""Secrets at rest: Fernet under a list of keys, so that a key can be replaced without a pause.

The first key encrypts; every key decrypts. To rotate: put a new key in front, restart, re-encrypt with `rotate`,
then drop the old one.
"""

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class SecretUnreadable(Exception):
    """A stored secret can't be read with the keys in SECRET_KEYS_AT_REST."""

    retryable = False
    is_recoverable = False

    def __init__(self) -> None:
        super().__init__(self.__class__.__doc__)


def encrypt(text: str) -> bytes:
    return _fernet(tuple(settings.SECRET_KEYS_AT_REST)).encrypt(text.encode())


def decrypt(token: bytes) -> str:
    try:
        return _fernet(tuple(settings.SECRET_KEYS_AT_REST)).decrypt(bytes(token)).decode()
    except (InvalidToken, UnicodeDecodeError) as error:
        raise SecretUnreadable from error


def rotate(token: bytes) -> bytes:
    """The same secret under the newest key."""
    try:
        return _fernet(tuple(settings.SECRET_KEYS_AT_REST)).rotate(bytes(token))
    except InvalidToken as error:
        raise SecretUnreadable from error


def generate_key() -> str:
    return Fernet.generate_key().decode()


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
