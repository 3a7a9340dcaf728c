"""Checks a call of a webhook, and reads the values that its node expects from headers, query and body."""

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.utils.translation import gettext as _

from config.http import strict_json
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
    get_output_name,
)
from workflows.errors import CallRefused


MAX_BYTES: Final = 1024 * 1024
WINDOW: Final = 300  # seconds by which the time of a signed call may differ from ours
SECRET_HEADER: Final = "X-Webhook-Secret"  # noqa: S105  # its name
TIMESTAMP_HEADER: Final = "X-Webhook-Timestamp"
SIGNATURE_HEADER: Final = "X-Webhook-Signature"
SCHEME: Final = "sha256="
# Headers that grant access here or elsewhere, which no run needs.
_HIDDEN_HEADERS: Final = frozenset(
    {
        *("authorization", "proxy-authorization", "cookie", "idempotency-key"),
        *(SECRET_HEADER.lower(), SIGNATURE_HEADER.lower()),
    }
)


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A request to the address of a webhook. ``form`` and ``files`` are those of a body that is a form."""

    method: str
    content_type: str  # without parameters
    body: bytes
    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, "UploadedFile[bytes]"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallValues:
    """The values of a call by the names of the node's outputs, and the files among them that are still to be stored."""

    values: Mapping[str, Json]
    files: Mapping[str, "UploadedFile[bytes]"]
    whole_call: Mapping[str, Json]


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a call: HMAC-SHA256 over the time, a dot, and the body as it is sent."""
    message = timestamp.encode() + b"." + body
    return SCHEME + hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def check_call(config: WebhookConfig, call: ReceivedCall, secret: str) -> None:
    """Raise CallRefused unless the call is as the node expects it: size, method, proof and content type."""
    if len(call.body) > MAX_BYTES:
        message = _("The body is too large: %(limit)s KB at most.") % {"limit": MAX_BYTES // 1024}
        raise CallRefused(message, status=413)
    if call.method.lower() != config.method:
        message = _("Send a %(method)s request.") % {"method": config.method.upper()}
        raise CallRefused(message, status=405)
    _CHECKS[config.authentication](call, secret)
    if config.has_body and call.body and call.content_type != config.content_type:
        message = _("The Content-Type must be %(type)s.") % {"type": config.content_type}
        raise CallRefused(message, status=415)


def read_values(config: WebhookConfig, call: ReceivedCall) -> CallValues:
    """Return the values of a checked call. Raises CallRefused for a body that can't be read."""
    body = _read_body(config, call) if config.has_body else {}
    sources: Mapping[str, Callable[[ExpectedValue], Json]] = {
        "headers": lambda each: _find_header(call.headers, each.name),
        "params": lambda each: call.query.get(each.name),
        "body": lambda each: body.get(each.name) if isinstance(body, Mapping) else None,
    }
    values: dict[str, Json] = {}
    for source, _index, expected in config.iter_values():
        name = get_output_name(source, expected.name)
        # A file is one that this call uploads: a body can't name another one, or an address to fetch.
        values[name] = None if expected.type == "file" else sources[source](expected)
    files = {
        name: upload
        for name, upload in _list_files(config, call).items()
        if any(each.name == name and each.type == "file" for each in config.body)
    }
    present = {name: value for name, value in values.items() if value is not None}
    return CallValues(present, files, _describe_call(call, body))


def _check_nothing(call: ReceivedCall, secret: str) -> None:
    """Accept the call: whoever knows the address may make it."""


def _check_secret(call: ReceivedCall, secret: str) -> None:
    scheme, _space, bearer = call.headers.get("Authorization", "").partition(" ")
    sent = call.headers.get(SECRET_HEADER) or (bearer.strip() if scheme.lower() == "bearer" else "")
    if not secret or not hmac.compare_digest(sent.encode(), secret.encode()):
        message = _("Send the secret of this webhook in the header %(header)s.")
        raise CallRefused(message % {"header": SECRET_HEADER}, status=401)


def _check_signature(call: ReceivedCall, secret: str) -> None:
    timestamp = call.headers.get(TIMESTAMP_HEADER, "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 13):
        message = _("Send the time in the header %(header)s, in Unix seconds.")
        raise CallRefused(message % {"header": TIMESTAMP_HEADER}, status=401)
    signature = call.headers.get(SIGNATURE_HEADER, "")
    expected = sign(secret, timestamp, call.body)
    if not secret or not hmac.compare_digest(signature.encode(), expected.encode()):
        message = _("The signature in the header %(header)s doesn't fit the time and the body.")
        raise CallRefused(message % {"header": SIGNATURE_HEADER}, status=401)
    if abs(time.time() - int(timestamp)) > WINDOW:
        message = _("This call was signed more than %(minutes)s minutes ago, or ahead of time.")
        raise CallRefused(message % {"minutes": WINDOW // 60}, status=401)


_CHECKS: Final[Mapping[Authentication, Callable[[ReceivedCall, str], None]]] = {
    Authentication.NONE: _check_nothing,
    Authentication.SECRET: _check_secret,
    Authentication.SIGNATURE: _check_signature,
}


def _read_body(config: WebhookConfig, call: ReceivedCall) -> Json:
    return _READERS[config.content_type](config, call)


def _read_json(config: WebhookConfig, call: ReceivedCall) -> Json:
    if not call.body:
        return {}
    try:
        return strict_json.loads(call.body)
    except strict_json.NotStrictJson as error:
        raise CallRefused(_("The body isn't valid JSON."), status=400) from error


def _read_form(config: WebhookConfig, call: ReceivedCall) -> Json:
    return dict(call.form)


def _read_text(config: WebhookConfig, call: ReceivedCall) -> Json:
    """Return the text under each name of the body, as Dify does: one value takes all of it."""
    try:
        text = call.body.decode()
    except UnicodeDecodeError as error:
        raise CallRefused(_("The body isn't text in UTF-8."), status=400) from error
    return {each.name: text for each in config.body}


def _read_nothing(config: WebhookConfig, call: ReceivedCall) -> Json:
    """Return no values, because a binary body is a file."""
    return {}


_READERS: Final[Mapping[str, Callable[[WebhookConfig, ReceivedCall], Json]]] = {
    JSON: _read_json,
    URL_ENCODED: _read_form,
    MULTIPART: _read_form,
    TEXT: _read_text,
    BINARY: _read_nothing,
}


def _list_files(config: WebhookConfig, call: ReceivedCall) -> Mapping[str, "UploadedFile[bytes]"]:
    if config.content_type == MULTIPART:
        return call.files
    if config.content_type == BINARY and call.body:
        upload = SimpleUploadedFile("body", call.body, call.content_type)
        return {each.name: upload for each in config.body}
    return {}


def _find_header(headers: Mapping[str, str], name: str) -> str | None:
    """Return the value of a header, whose name may be written with underscores, as outputs are."""
    return headers.get(name) or headers.get(name.replace("_", "-"))


def _describe_call(call: ReceivedCall, body: Json) -> dict[str, Json]:
    """Return the call as a run may read it as a whole, without what grants access."""
    headers = {
        name: value for name, value in call.headers.items() if name.lower() not in _HIDDEN_HEADERS
    }
    return {
        "method": call.method,
        "headers": headers,
        "query_params": dict(call.query),
        "body": body,
    }


def choose_answer_type(text: str) -> str:
    """Return the content type of a drawn answer: JSON or plain text, so that no browser runs it."""
    try:
        strict_json.loads(text)
    except strict_json.NotStrictJson:
        return "text/plain; charset=utf-8"
    return "application/json; charset=utf-8"
