"""Reads texts, mails and subtitles; used in a runner only."""

import codecs
import re
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as default_policy
from typing import Final

from workflows.engine.tools.html_text import extract_text


# Tried in this order for a text that is not UTF-8; the last one accepts anything.
ENCODINGS: Final = ("utf-8-sig", "gb18030", "cp1252", "latin-1")
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEADERS: Final = ("Subject", "From", "To", "Cc", "Date")
_MAX_PARTS: Final = 500
_TIMING: Final = re.compile(r"^(?:\d+:)?\d\d:\d\d[.,]\d{1,3}\s+-->\s+")
_VOICE: Final = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,200})>")
_TAG: Final = re.compile(r"<[^<>]{0,200}>")
_CUE_BLOCKS: Final = ("WEBVTT", "NOTE", "STYLE", "REGION")


def read_text(content: bytes) -> str:
    if content.startswith(_UTF16_MARKS):
        return content.decode("utf-16", "replace")
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return content.decode("utf-8", "replace")


def read_mail(content: bytes) -> str:
    """Return the headers that people read, the text, and the names of the attachments, which are not opened."""
    message = message_from_bytes(content, policy=default_policy)
    heads = [f"{name}: {message[name]}" for name in _HEADERS if message[name]]
    body = message.get_body(preferencelist=("plain", "html"))
    text = _read_part(body) if isinstance(body, EmailMessage) else ""
    names = (
        [
            part.get_filename() or part.get_content_type()
            for _number, part in zip(range(_MAX_PARTS), message.iter_attachments(), strict=False)
        ]
        if message.is_multipart()
        else []
    )
    attachments = [f"Attachments: {', '.join(names)}"] if names else []
    return "\n".join([*heads, "", text, "", *attachments])


def read_subtitles(content: bytes) -> str:
    """Return what is said, with the speakers' names where they are given, without times and numbers."""
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", read_text(content).replace("\r\n", "\n")):
        if block.lstrip().startswith(_CUE_BLOCKS):
            continue
        rows = block.strip().split("\n")
        start = next((i for i, row in enumerate(rows) if _TIMING.match(row)), None)
        if start is not None:
            lines += map(_clean_cue, rows[start + 1 :])
    return "\n".join(filter(None, lines))


def _clean_cue(row: str) -> str:
    return _TAG.sub("", _VOICE.sub(r"\1: ", row)).strip()


def _read_part(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or "utf-8"
    try:
        text = content.decode(charset, "replace")
    except LookupError:
        text = read_text(content)
    return extract_text(text).text if part.get_content_subtype() == "html" else text
