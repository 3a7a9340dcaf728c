"""Converts URLs from the environment to Django's settings of databases and of e-mail."""

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


def build_mail_settings(url: str | None, sender: str) -> dict[str, Any]:
    """Build the settings of an SMTP server; without a URL, e-mail is written to the log."""
    if url is None:
        return {
            "EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend",
            "DEFAULT_FROM_EMAIL": sender,
        }
    parts = urlsplit(url)
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "DEFAULT_FROM_EMAIL": sender,
        "EMAIL_HOST": parts.hostname or "localhost",
        "EMAIL_PORT": parts.port or 25,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp" and parts.port == 587,
        "EMAIL_USE_SSL": parts.scheme == "smtps",
    }
