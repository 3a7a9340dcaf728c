"""Generates the secrets of a new installation, as lines for .env, and checks the form of keys.

It needs nothing but Python's own library, so that `python3 -m config.encryption.new_keys` works before anything is
installed, as on a host that only runs containers.
"""

import base64
import binascii
import secrets
from collections.abc import Iterator


PASSWORDS = ("OWNER_PASSWORD", "APP_PASSWORD", "VALKEY_PASSWORD", "METRICS_TOKEN")
FERNET_BYTES = 32


def generate_fernet_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(FERNET_BYTES)).decode()


def is_fernet_key(text: str) -> bool:
    """Return whether the text is 32 bytes in URL-safe base64, as Fernet needs them."""
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == FERNET_BYTES
    except (binascii.Error, ValueError):
        return False


def list_lines() -> Iterator[str]:
    """Yield the variables that `compose.yaml` requires. Passwords are part of URLs, so they contain no sign that is escaped there."""
    for name in PASSWORDS:
        yield f"{name}={secrets.token_urlsafe(32)}"
    yield f"SECRET_KEY={secrets.token_urlsafe(48)}"
    yield f"SECRET_KEYS_AT_REST={generate_fernet_key()}"


if __name__ == "__main__":
    print("\n".join(list_lines()))  # noqa: T201 - its output is a file
