"""Test persons: a member may be "ben" for a while, and that ben is nobody else's.

A persona's id carries the member who plays it, so that two members' bens never share a memory, and
neither is the ben whom a programme names with an API key.
"""

from uuid import UUID


_LENGTH = 36  # of a UUID's text


def persona_id(name: str, player: UUID) -> str:
    return f"{name}@{player}"


def played_by(subject: str) -> UUID | None:
    """The member whose test person this is; None for everybody else's id."""
    name, at, player = subject[: -_LENGTH - 1], subject[-_LENGTH - 1 : -_LENGTH], subject[-_LENGTH:]
    if not name or at != "@":
        return None
    try:
        return UUID(player)
    except ValueError:
        return None


def persona_name(subject: str) -> str:
    """What the member calls them; any other id as it is."""
    return subject[: -_LENGTH - 1] if played_by(subject) else subject
