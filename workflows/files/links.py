"""Links to stored files. With its signature a link works for some minutes without signing in, then for its owner."""

import re
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.urls import reverse

from workflows.errors import FileLinkExpired
from workflows.models import StoredFile


SALT: Final = "mnemoflow.files"

# A link or an image in Markdown, as the text of a file value is written.
LINK_IN_TEXT: Final = re.compile(r"!?\[(?P<name>[^\]\n]*)\]\((?P<url>[^()\s]+)\)")
_PATH: Final = re.compile(r"/files/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/")


def build_link(file: StoredFile) -> str:
    """Return the link to a file, with a signature that names the file and its team."""
    token = signing.dumps([file.pk.hex, file.team_id.hex], salt=SALT)
    base = (settings.PUBLIC_URL or "").rstrip("/")
    return f"{base}{reverse('workflows:file', args=[file.pk])}?token={token}"


def read_token(token: str, file_id: UUID) -> UUID | None:
    """Return the team of a file if the token is a valid signature for it. Raises FileLinkExpired if it is too old."""
    try:
        pair = signing.loads(token, salt=SALT, max_age=settings.FILE_LINK_SECONDS)
        signed_id, team_id = map(UUID, pair)
    except signing.SignatureExpired:
        raise FileLinkExpired from None
    except (signing.BadSignature, ValueError, TypeError, AttributeError):
        return None
    return team_id if signed_id == file_id else None


def find_linked_id(url: str) -> UUID | None:
    """Return the id of the stored file that an address of this site links to, whether its signature is valid or not.

    An address of another host is not ours, however much it looks like one.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    base = urlsplit(settings.PUBLIC_URL or "")
    if (parts.scheme, parts.netloc) not in (("", ""), (base.scheme, base.netloc)):
        return None
    match = _PATH.fullmatch(parts.path.removeprefix(base.path.rstrip("/")))
    return UUID(match[1]) if match else None
