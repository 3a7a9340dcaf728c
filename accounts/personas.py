"""Subjects that belong to a member or a key: test personas, and an API key's own subject.

A member may act as "ben" for a while. The persona's id contains the member's id, so that the "ben" of one member
never shares a memory with the "ben" of another member or with an API client's user "ben".
"""

from uuid import UUID


_UUID_LENGTH = 36  # characters of a UUID
_KEY_PREFIX = "key-"


def make_persona_id(name: str, player_id: UUID) -> str:
    return f"{name}@{player_id}"


def find_player(subject: str) -> UUID | None:
    """Return the id of the member who plays this test persona, or None if the subject is no test persona."""
    name_and_separator, player_id = subject[:-_UUID_LENGTH], subject[-_UUID_LENGTH:]
    if len(name_and_separator) < 2 or not name_and_separator.endswith("@"):
        return None
    try:
        return UUID(player_id)
    except ValueError:
        return None


def strip_player(subject: str) -> str:
    """Return the name that the member gave the test persona. Any other subject is returned unchanged."""
    return subject[: -_UUID_LENGTH - 1] if find_player(subject) else subject


def make_key_subject(key_id: UUID) -> str:
    """Return the subject of runs that an API client starts for itself, without naming a user."""
    return f"{_KEY_PREFIX}{key_id}"


def find_key_id(subject: str) -> UUID | None:
    """Return the id of the only key that may use this subject, or None if the subject belongs to no key."""
    if not subject.startswith(_KEY_PREFIX):
        return None
    try:
        return UUID(subject.removeprefix(_KEY_PREFIX))
    except ValueError:
        return None
