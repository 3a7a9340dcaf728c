"""Find the files that a principal may see."""

from collections.abc import Iterable
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import permissions
from workflows.files.links import read_token
from workflows.models import StoredFile


def find_file(principal: Principal, file_id: UUID) -> StoredFile:
    """Return a file of the principal. Raises NotFound for any other."""
    file = StoredFile.objects.visible_to(principal).filter(pk=file_id).first()
    if file is None:
        raise NotFound(_("There is no such file, or it is not yours."))
    permissions.check_view_file(principal, file)
    return file


def find_own_files(principal: Principal, ids: Iterable[UUID]) -> list[StoredFile]:
    """Return those of the files that are the principal's own."""
    file_ids = set(ids)
    if not file_ids:
        return []
    return list(StoredFile.objects.visible_to(principal).filter(pk__in=file_ids).order_by("pk"))


def find_signed_file(file_id: UUID, token: str) -> StoredFile | None:
    """Return the file for which a link was signed some minutes ago, for whoever has the link.

    Raises FileLinkExpired for a signature that is too old. Returns None for a text that is no signature.
    """
    team_id = read_token(token, file_id) if token else None
    if team_id is None:
        return None
    with tenant([team_id]):
        rows = StoredFile.objects.unscoped().filter(pk=file_id, removed_at__isnull=True)
        return rows.first()
