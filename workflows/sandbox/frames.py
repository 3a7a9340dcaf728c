"""The frames on a runner's pipe: four bytes of length, then one JSON object.

A runner sends one byte more, as soon as it has read a job and before it begins with it.
"""

import json
from typing import Any


HEADER_BYTES = 4
TAKEN = b"\x06"  # ASCII's "acknowledge"
MAX_REQUEST_BYTES = 8 * 1024 * 1024  # a template and its inputs
MAX_DOCUMENT_REQUEST_BYTES = 32 * 1024 * 1024  # a document of 20 MB as base64
MAX_REPLY_BYTES = 7 * 1024 * 1024  # 1 MB of text is at most this much JSON, every character escaped


class BadFrame(Exception):
    """The process at the other end of the pipe sent invalid data."""


def encode(message: dict[str, Any]) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def parse_length(header: bytes, limit: int) -> int:
    """Return the length of the body that follows the header. Raises BadFrame if it exceeds the limit."""
    length = int.from_bytes(header, "big")
    if length > limit:
        raise BadFrame("frame too long")
    return length


def decode(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadFrame("not JSON") from error
    if not isinstance(message, dict):
        raise BadFrame("not an object")
    return message


def make_storable(text: str) -> str:
    """Replace NUL and lone surrogates, which the database cannot store."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
