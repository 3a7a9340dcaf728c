"""Subjects that belong to a member or a key: test personas, and an API key's own subject.

A member may act as "ben" for a while. The persona's id contains the member's id, so that the "ben" of one member
never shares a memory with the "ben" of another member or with an API client's user "ben".
"""

from uuid import UUID


_LENGTH = 36  # of a UUID as a string
_KEY = "key-"


def make_persona_id(name: str, player: UUID) -> str:
    return f"{name}@{player}"


def find_player(subject: str) -> UUID | None:
    """Return the member who plays this test persona, or None for any other id."""
    name, at, player = subject[: -_LENGTH - 1], subject[-_LENGTH - 1 : -_LENGTH], subject[-_LENGTH:]
    if not name or at != "@":
        return None
    try:
        return UUID(player)
    except ValueError:
        return None


def strip_player(subject: str) -> str:
    """Return the name that the member gave the test persona, or any other id unchanged."""
    return subject[: -_LENGTH - 1] if find_player(subject) else subject


def make_key_subject(key: UUID) -> str:
    """Return the subject of a key's runs that name no user: the API client itself."""
    return f"{_KEY}{key}"


def find_key_id(subject: str) -> UUID | None:
    """Return the id of the key that this subject belongs to; no other key may use the subject."""
    if not subject.startswith(_KEY):
        return None
    try:
        return UUID(subject.removeprefix(_KEY))
    except ValueError:
        return None
