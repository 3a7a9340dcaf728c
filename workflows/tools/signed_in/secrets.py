"""The secrets of sign-ins at rest: counted, and encrypted again under a new key."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from config.encryption.crypto import rotate
from workflows.models import SignInAttempt, ToolSignIn


_SEALED: Final = (
    (ToolSignIn, ("access_token", "refresh_token", "client_secret")),
    (SignInAttempt, ("code_verifier", "client_secret")),
)


def list_sign_in_secrets(team_id: UUID) -> Iterator[bytes]:
    """Yield the stored secrets of a team's sign-ins. Runs in the caller's tenant."""
    for model, names in _SEALED:
        for row in model.objects.unscoped().filter(team_id=team_id).values_list(*names):
            yield from (bytes(sealed) for sealed in row if sealed)


def rotate_sign_in_secrets(team_id: UUID) -> int:
    """Encrypt the secrets of a team's sign-ins under the newest key, and return their number. Runs in the caller's tenant."""
    count = 0
    for model, names in _SEALED:
        for row in model.objects.unscoped().filter(team_id=team_id).select_for_update():
            for name in names:
                sealed = getattr(row, name)
                if sealed:
                    setattr(row, name, rotate(bytes(sealed)))
                    count += 1
            row.save(update_fields=names)
    return count
