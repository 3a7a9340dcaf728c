"""Delete a file before its runs are gone."""

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.files.removal import remove_files
from workflows.models import StoredFile
from workflows.services import audit_lines


def delete_file(principal: Principal, file: StoredFile) -> None:
    """Delete a file of the principal. Runs that have it show its name, and can't read it any more."""
    permissions.check_delete_file(principal, file)
    with tenant([file.team_id]):
        audit_lines.record(principal, file, "file.deleted")
        remove_files(file.team_id, StoredFile.objects.unscoped().filter(pk=file.pk))
