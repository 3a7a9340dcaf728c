"""Files as pages show them: a name with its size, or a picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.urls import reverse

from workflows.engine.files.media_types import is_shown_inline
from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute
from workflows.files.values import find_id
from workflows.models import StoredFile


MAX_PICTURE: Final = 10 * 1024 * 1024  # bytes of a file that a page shows as a picture


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file for people: a link with name and size, and a picture if it is an image of our store that isn't too large.

    The link to a stored file has no signature: it asks who follows it.
    """

    id: UUID | None
    name: str
    url: str
    size: int | None
    has_picture: bool

    @property
    def is_remote(self) -> bool:
        return self.id is None


def describe_row(file: StoredFile) -> ShownFile:
    return ShownFile(
        file.pk,
        file.name,
        reverse("workflows:file", args=[file.pk]),
        file.size,
        _has_picture(file.media_type, file.size),
    )


def describe_value(value: Mapping[str, Json]) -> ShownFile | None:
    """Return how a file value is shown; None if it names neither a stored file nor an address on the web."""
    file_id, url = find_id(value), str(get_file_attribute(value, "url") or "")
    if file_id is None and not url.startswith(("https://", "http://")):
        return None
    size = get_file_attribute(value, "size")
    known_size = size if isinstance(size, int) and size > 0 else None
    media_type = str(get_file_attribute(value, "mime_type") or "")
    return ShownFile(
        file_id,
        str(get_file_attribute(value, "name") or url)[:255],
        reverse("workflows:file", args=[file_id]) if file_id else url,
        known_size,
        file_id is not None and known_size is not None and _has_picture(media_type, known_size),
    )


def _has_picture(media_type: str, size: int) -> bool:
    return is_shown_inline(media_type) and size <= MAX_PICTURE
