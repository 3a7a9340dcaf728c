"""Who may have memory as a file: whom emergency access alone lets look does not."""

from django.utils.translation import gettext as _

from memory.core.errors import AccessDenied
from memory.services.door import Door


def check_takes_out(door: Door) -> None:
    """It ends, and its person is told of each look; a file would be there afterwards."""
    if door.glass:
        raise AccessDenied(
            _("Emergency access is for reading here, not for taking it out as a file.")
        )
