"""Read the messages of a request: the question, the earlier messages, the system's instructions and the files."""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.translation import gettext as _

from workflows.openai_api.errors import CompletionError
from workflows.openai_api.schemas import MAX_TEXT, MessageIn


SYSTEM_ROLES: Final = frozenset({"system", "developer"})
TOOL_ROLES: Final = frozenset({"tool", "function"})
DATA: Final = "data:"

Part = Mapping[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file among the parts of the last message: its content, its address on the web, or the id of a stored one."""

    kind: str = ""
    upload: "SimpleUploadedFile | None" = None
    url: str = ""
    file_id: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """The content of a list of messages: ``earlier`` are those of user and assistant before the last one, as texts."""

    question: str
    files: Sequence[SentFile]
    earlier: Sequence[Mapping[str, str]]
    system: str


def read_messages(messages: Sequence[MessageIn]) -> Talk:
    """Read the messages, of which the last one must be the user's. Raises CompletionError that names the message at fault.

    Of earlier messages only the texts are read: clients send the pictures of a conversation again with every request.
    """
    spoken = [(index, each) for index, each in enumerate(messages) if each.role not in SYSTEM_ROLES]
    for index, message in spoken:
        if message.role in TOOL_ROLES:
            raise CompletionError(
                _("Results of tools aren't accepted: the workflow calls its tools itself."),
                param=f"messages[{index}].role",
            )
    if not spoken or spoken[-1][1].role != "user":
        raise CompletionError(_("The last message must be the user's."), param="messages")
    index, last = spoken[-1]
    texts = [_read_text(position, message) for position, message in enumerate(messages)]
    if sum(map(len, texts)) > MAX_TEXT:
        too_long = _("The messages have more than %(count)s characters.") % {"count": MAX_TEXT}
        raise CompletionError(too_long, param="messages", code="context_length_exceeded")
    return Talk(
        texts[index],
        tuple(_read_files(index, last)),
        [
            {"role": message.role, "content": texts[position]}
            for position, message in spoken[:-1]
            if texts[position].strip()
        ],
        "\n\n".join(
            text
            for message, text in zip(messages, texts, strict=True)
            if message.role in SYSTEM_ROLES and text.strip()
        ),
    )


def _read_text(index: int, message: MessageIn) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    texts = []
    for number, part in enumerate(message.content):
        if part.get("type") in ("text", "refusal"):
            text = part.get(part["type"])
            if not isinstance(text, str):
                raise CompletionError(
                    _("The part has no text."), param=f"messages[{index}].content[{number}]"
                )
            texts.append(text)
    return "\n".join(texts)


def _read_files(index: int, message: MessageIn) -> Iterator[SentFile]:
    for number, part in enumerate(message.content if isinstance(message.content, list) else ()):
        kind = str(part.get("type"))
        if kind in ("text", "refusal"):
            continue
        read, param = _READERS.get(kind), f"messages[{index}].content[{number}]"
        if read is None:
            names = ", ".join(("text", *_READERS))
            message_text = _("Unknown type of a part: %(kind)s. Known are %(names)s.")
            raise CompletionError(
                message_text % {"kind": kind[:40], "names": names}, param=f"{param}.type"
            )
        value = part.get(kind)
        try:
            yield read(value if isinstance(value, Mapping) else {"url": value}, number)
        except ValueError:
            raise CompletionError(
                _("The part isn't a file: send an address, or data: with Base64."), param=param
            ) from None


def _read_image(value: Part, number: int) -> SentFile:
    url = value.get("url")
    if not isinstance(url, str) or not url:
        raise ValueError
    if url.startswith(DATA):
        return SentFile("image", _read_data_url(url, f"image-{number + 1}"))
    return SentFile("image", url=url)


def _read_audio(value: Part, number: int) -> SentFile:
    extension = str(value.get("format") or "wav")
    extension = extension if extension.isalnum() else "wav"
    content = _decode(value.get("data"))
    return SentFile("audio", SimpleUploadedFile(f"audio-{number + 1}.{extension}", content))


def _read_file(value: Part, number: int) -> SentFile:
    if isinstance(value.get("file_id"), str):
        return SentFile(file_id=value["file_id"])
    name, data = str(value.get("filename") or f"file-{number + 1}"), value.get("file_data")
    if isinstance(data, str) and data.startswith(DATA):
        return SentFile(upload=_read_data_url(data, name))
    return SentFile(upload=SimpleUploadedFile(name, _decode(data)))


_READERS: Final = {"image_url": _read_image, "input_audio": _read_audio, "file": _read_file}


def _read_data_url(url: str, name: str) -> SimpleUploadedFile:
    """Return the content of a data: URL. Its type is not believed: that of the file is read from the content."""
    head, comma, data = url[len(DATA) :].partition(",")
    if not comma:
        raise ValueError
    is_base64 = head.lower().endswith(";base64")
    return SimpleUploadedFile(name, _decode(data) if is_base64 else unquote_to_bytes(data))


def _decode(data: Any) -> bytes:  # Any: JSON
    if not isinstance(data, str) or not data:
        raise ValueError
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError from error
