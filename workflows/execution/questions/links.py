"""The signed link to one question, with which anybody may answer it once, or the person to whom it was mailed."""

from uuid import UUID

from django.core import signing


_SALT = "workflows.wait"


def sign_wait(team_id: UUID, wait_id: UUID, address: str = "") -> str:
    """Return the token of a link. With an address, it is that person's, and the answer is recorded as theirs."""
    ids = [team_id.hex, wait_id.hex]
    return signing.dumps([*ids, address] if address else ids, salt=_SALT)


def read_signed_wait(token: str) -> tuple[UUID, UUID, str]:
    """Return the ids of the team and of the question, and the address. Raises ``signing.BadSignature`` for any other token."""
    team, wait_id, *address = signing.loads(token, salt=_SALT)
    return UUID(team), UUID(wait_id), address[0] if address else ""
