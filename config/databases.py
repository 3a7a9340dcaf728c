"""Converts database URLs to entries of Django's DATABASES setting."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


def build_database_config(url: str, *, pool_size: int = 0) -> dict[str, Any]:
    """Build one entry of DATABASES."""
    parts = urlsplit(url)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or parts.hostname or ""
    if pool_size:
        # Persistent connections accumulate under ASGI (a connection per thread); a pool is bounded.
        options["pool"] = {"min_size": 0, "max_size": pool_size, "timeout": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        "OPTIONS": options,
    }
