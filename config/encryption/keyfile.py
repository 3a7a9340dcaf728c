"""Generates the installation's secrets at the first start, and stores them in a file that only its owner may read."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet


@dataclass(frozen=True)
class Secrets:
    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    keys_at_rest: tuple[str, ...] = field(default_factory=lambda: (Fernet.generate_key().decode(),))


def load_secrets(home: Path) -> Secrets:
    """Return the secrets of an earlier start, or generate them. Two simultaneous first starts get the same secrets."""
    path = home / "secrets.json"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        _write_once(path, Secrets())
    stored = json.loads(path.read_text())
    return Secrets(secret_key=stored["secret_key"], keys_at_rest=tuple(stored["keys_at_rest"]))


def _write_once(path: Path, new_secrets: Secrets) -> None:
    """Write the file unless another process has written it first."""
    temporary = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(new_secrets), file)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # fails when another start was first, unlike a rename
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
