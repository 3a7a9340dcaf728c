"""Converts the environment's values to Django's settings of databases, of e-mail and of the file store."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.postgres import POOL_WAIT


def build_database_config(url: str, *, pool_size: int = 0) -> dict[str, Any]:
    """Build one entry of DATABASES."""
    parts = urlsplit(url)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or parts.hostname or ""
    if pool_size:
        # Persistent connections accumulate under ASGI (a connection per thread); a pool is bounded. A failed attempt to
        # connect ends soon, so that the next request makes a new one instead of waiting for a later attempt.
        options["pool"] = {
            "min_size": 0,
            "max_size": pool_size,
            "timeout": POOL_WAIT,
            "reconnect_timeout": POOL_WAIT,
        }
    return {
        "ENGINE": "config.postgres",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        # The pool checks a connection before use: a restart of the server leaves dead ones in it.
        "CONN_HEALTH_CHECKS": bool(pool_size),
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


def build_file_storage(
    folder: Path,
    *,
    bucket: str | None,
    endpoint_url: str | None,
    region: str | None,
    access_key: str | None,
    secret_key: str | None,
) -> dict[str, Any]:
    """Build the entry of STORAGES for files: a folder, or a bucket that django-storages reaches."""
    if bucket is None:
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": folder, "base_url": None},
        }
    options = {
        "bucket_name": bucket,
        "endpoint_url": endpoint_url,
        "region_name": region,
        "access_key": access_key,
        "secret_key": secret_key,
        "file_overwrite": True,  # a path is random, so that nothing needs to be asked before it is written
    }
    options["client_config"] = _build_client_config(is_compatible=endpoint_url is not None)
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def _build_client_config(*, is_compatible: bool) -> Any:
    """Return how the client of S3 waits and signs. ``is_compatible``: the service is another one than AWS."""
    try:
        import storages  # noqa: F401, PLC0415 - an extra that most installations don't have
        from botocore.config import Config  # noqa: PLC0415
    except ImportError as error:
        message = "FILES_BUCKET needs the extra s3: pip install 'mnemoflow[s3]'"
        raise ImproperlyConfigured(message) from error
    # Not every service that speaks S3 understands the checksums that newer clients add.
    checksums = "when_required" if is_compatible else "when_supported"
    return Config(
        signature_version="s3v4",
        connect_timeout=5,
        read_timeout=60,
        retries={"mode": "standard", "total_max_attempts": 3},
        request_checksum_calculation=checksums,
        response_checksum_validation=checksums,
    )
