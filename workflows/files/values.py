"""Stored files as values of workflows, and back: the id in a value is all that is ever believed of it."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit
from uuid import UUID

from workflows.engine.files.media_types import clean_name, get_extension
from workflows.engine.language.document import Json
from workflows.engine.language.values import FILE_MARKER
from workflows.files.links import build_link
from workflows.models import StoredFile


# Extension → kind and media type of a file on the web, which is not read before a node needs it.
_REMOTE: Final[Mapping[str, tuple[str, str]]] = {
    **{f".{name}": ("image", f"image/{name}") for name in ("png", "gif", "webp", "jpeg")},
    ".jpg": ("image", "image/jpeg"),
    ".svg": ("image", "image/svg+xml"),
    ".pdf": ("document", "application/pdf"),
    ".txt": ("document", "text/plain"),
    ".md": ("document", "text/markdown"),
    ".csv": ("document", "text/csv"),
    ".html": ("document", "text/html"),
    ".mp3": ("audio", "audio/mpeg"),
    ".wav": ("audio", "audio/wav"),
    ".mp4": ("video", "video/mp4"),
    ".webm": ("video", "video/webm"),
}


def build_value(file: StoredFile) -> dict[str, Json]:
    """Return Dify's file object for a stored file. ``url`` can be fetched without signing in for some minutes."""
    return {
        "dify_model_identity": FILE_MARKER,
        "id": str(file.pk),
        "type": file.kind,
        "transfer_method": "local_file",
        "remote_url": None,
        "related_id": str(file.pk),
        "filename": file.name,
        "name": file.name,
        "extension": file.extension,
        "mime_type": file.media_type,
        "size": file.size,
        "url": build_link(file),
    }


def build_remote_value(url: str, kind: str = "") -> dict[str, Json]:
    """Return the file object for an address on the web, whose type is that of its name or the given one."""
    name = clean_name(unquote(urlsplit(url).path)) or "file"
    extension = get_extension(name)
    guessed_kind, media_type = _REMOTE.get(extension, ("", "application/octet-stream"))
    return {
        "dify_model_identity": FILE_MARKER,
        "type": guessed_kind or kind or "custom",
        "transfer_method": "remote_url",
        "remote_url": url,
        "related_id": None,
        "filename": name,
        "name": name,
        "extension": extension,
        "mime_type": media_type if guessed_kind or kind != "image" else "image/*",
        "size": -1,
        "url": url,
    }


def find_id(value: Mapping[str, Json]) -> UUID | None:
    """Return the id of the stored file that a value names, by any of the names that clients use for it."""
    for key in ("upload_file_id", "related_id", "id"):
        try:
            return UUID(str(value[key]))
        except (KeyError, ValueError):
            continue
    return None
