"""Limits the size of a file, by its kind, and of all files of a team."""

from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Sum
from django.utils.translation import gettext as _

from workflows.errors import FileRefused, FileTooLarge
from workflows.models import StoredFile


MEGABYTE: Final = 1024 * 1024
# Kind → the setting with its limit in megabytes.
_SETTINGS: Final = {
    "image": "FILE_IMAGE_MB",
    "document": "FILE_DOCUMENT_MB",
    "custom": "FILE_DOCUMENT_MB",
    "audio": "FILE_MEDIA_MB",
    "video": "FILE_MEDIA_MB",
}


def get_limit(kind: str) -> int:
    """Return the largest size of a file of this kind, in megabytes."""
    limit: int = getattr(settings, _SETTINGS[kind])
    return limit


def get_largest() -> int:
    """Return the largest size of any file, in bytes."""
    return max(map(get_limit, _SETTINGS)) * MEGABYTE


def check_size(size: int, kind: str) -> None:
    """Raise FileRefused for an empty file, or one that is larger than files of its kind may be."""
    if size == 0:
        raise FileRefused(_("The file is empty."), field="file")
    limit = get_limit(kind)
    if size > limit * MEGABYTE:
        message = _("The file is too large: files of this type may have %(limit)s MB.")
        raise FileTooLarge(message % {"limit": limit}, field="file")


def check_quota(team_id: UUID, size: int) -> None:
    """Raise FileTooLarge if the files of the team would need more than its share of the store.

    Runs in the tenant's transaction, and lets only one upload of the team at a time count and add its own.
    """
    with connection.cursor() as cursor:
        key = f"files:{team_id}"
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
    limit = settings.TEAM_FILES_MB * MEGABYTE
    if sum_sizes(team_id) + size > limit:
        message = _("The files of your team need more than %(limit)s MB. Delete some first.")
        raise FileTooLarge(message % {"limit": settings.TEAM_FILES_MB}, field="file")


def sum_sizes(team_id: UUID) -> int:
    rows = StoredFile.objects.unscoped().filter(team_id=team_id, removed_at__isnull=True)
    return int(rows.aggregate(total=Sum("size"))["total"] or 0)
