"""E-mail settings from one SMTP address, or the log when there is none."""

from typing import Any
from urllib.parse import unquote, urlsplit


def build_mail_settings(url: str | None, sender: str) -> dict[str, Any]:
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
