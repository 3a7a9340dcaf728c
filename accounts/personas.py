"""Subjects that belong to somebody: a member's test persons, and a key's own.

A member may be "ben" for a while, and that ben is nobody else's.

A persona's id carries the member who plays it, so that two members' bens never share a memory, and
neither is the ben whom a programme names with an API key.
"""

from uuid import UUID


_LENGTH = 36  # of a UUID's text
_KEY = "key-"


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


def key_subject(key: UUID) -> str:
    """Whom a key's runs are for that name nobody: the programme itself."""
    return f"{_KEY}{key}"


def key_of(subject: str) -> UUID | None:
    """The key whose own subject this is; no other key may name it."""
    if not subject.startswith(_KEY):
        return None
    try:
        return UUID(subject.removeprefix(_KEY))
    except ValueError:
        return None
