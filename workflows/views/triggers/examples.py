"""A call of a webhook with curl, ready to run: with the values, the type and the proof that its node asks for."""

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode

from workflows.engine.language.document import Json
from workflows.engine.triggers.webhooks import (
    BINARY,
    JSON,
    MULTIPART,
    TEXT,
    URL_ENCODED,
    Authentication,
    ExpectedValue,
    WebhookConfig,
)


_VALUES: Final[Mapping[str, Json]] = {
    "number": 1,
    "boolean": True,
    "object": {},
    "array[string]": [],
    "array[number]": [],
    "array[boolean]": [],
    "array[object]": [],
}
# The signature is over the time, a dot, and the body as it is sent.
SIGNED: Final = """BODY={body}
TIME=$(date +%s)
SIGNATURE=$(printf '%s.%s' "$TIME" "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d' ' -f1)
"""


def build_curl(config: WebhookConfig, url: str) -> str:
    """Return the command. A signed or secret one reads the secret from the environment."""
    query = {each.name: _as_text(each) for each in config.params if each.required}
    address = f"{url}?{urlencode(query)}" if query else url
    parts = [f"curl -X {config.method.upper()} {shlex.quote(address)}"]
    parts += [
        f"-H {shlex.quote(f'{each.name}: {_as_text(each)}')}"
        for each in config.headers
        if each.required
    ]
    body = _BODIES[config.content_type](config) if config.has_body else ""
    is_signed = config.authentication is Authentication.SIGNATURE
    if config.authentication is Authentication.SECRET:
        parts.append('-H "X-Webhook-Secret: $WEBHOOK_SECRET"')
    if is_signed:
        parts.append('-H "X-Webhook-Timestamp: $TIME"')
        parts.append('-H "X-Webhook-Signature: sha256=$SIGNATURE"')
    if config.has_body and config.content_type == MULTIPART:
        # curl writes such a body itself, so that nobody can sign it beforehand.
        parts += [f"-F {shlex.quote(_build_field(each))}" for each in config.body]
    elif config.has_body:
        parts.append(f'-H "Content-Type: {config.content_type}"')
        parts.append('--data-raw "$BODY"' if is_signed else f"--data-raw {shlex.quote(body)}")
    command = " \\\n  ".join(parts)
    return SIGNED.format(body=shlex.quote(body)) + command if is_signed else command


def _build_json(config: WebhookConfig) -> str:
    values = {each.name: _VALUES.get(each.type, "A-1") for each in _list_values(config)}
    return json.dumps(values, ensure_ascii=False)


def _build_form(config: WebhookConfig) -> str:
    return urlencode({each.name: _as_text(each) for each in _list_values(config)})


def _build_text(config: WebhookConfig) -> str:
    return "Hello"


def _build_field(each: ExpectedValue) -> str:
    return f"{each.name}=@report.pdf" if each.type == "file" else f"{each.name}={_as_text(each)}"


def _list_values(config: WebhookConfig) -> list[ExpectedValue]:
    """Return the values of the body without files, which only forms with several parts can have."""
    return [each for each in config.body if each.type != "file"]


def _as_text(each: ExpectedValue) -> str:
    value = _VALUES.get(each.type, "A-1")
    return value if isinstance(value, str) else json.dumps(value)


_BODIES: Final[Mapping[str, Callable[[WebhookConfig], str]]] = {
    JSON: _build_json,
    URL_ENCODED: _build_form,
    MULTIPART: lambda _config: "",
    TEXT: _build_text,
    BINARY: _build_text,
}
