"""The signed link to one question, with which anybody may answer it once."""

from uuid import UUID

from django.core import signing


_SALT = "workflows.wait"


def sign_wait(team_id: UUID, wait_id: UUID) -> str:
    return signing.dumps([team_id.hex, wait_id.hex], salt=_SALT)


def read_signed_wait(token: str) -> tuple[UUID, UUID]:
    """Return the ids of the team and of the question. Raises ``signing.BadSignature`` for any other token."""
    team, wait_id = signing.loads(token, salt=_SALT)
    return UUID(team), UUID(wait_id)
