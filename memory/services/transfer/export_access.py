"""Who may have memory as a file: whom emergency access alone lets look does not."""

from django.utils.translation import gettext as _

from memory.core.errors import AccessDenied
from memory.services.gateway.namespace_access import NamespaceAccess


def check_takes_out(access: NamespaceAccess) -> None:
    """It ends, and its person is told of each look; a file would be there afterwards."""
    if access.emergency_access:
        raise AccessDenied(_("Emergency access is view-only; export is not allowed."))
