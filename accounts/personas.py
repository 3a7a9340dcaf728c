"""Subjects that are nobody else's: test personas of members, service accounts' own, and visitors of public pages.

A member may act as "ben" for a while. The persona's id contains the member's id, so that the "ben" of one member
never shares a memory with the "ben" of another member or with an API client's user "ben".
"""

import re
from uuid import UUID

from django.utils.translation import gettext


_UUID_LENGTH = 36  # characters of a UUID
_PREFIX = (
    "key-"  # of a service account's subject; the word is from before there were service accounts
)


_VISITOR_PREFIX = "web-"  # of a visitor's subject; 32 hexadecimal digits follow
_VISITOR_ID = re.compile(r"[0-9a-f]{32}")
_CODE_LENGTH = 6  # of 16 million: enough for those of one page


def make_visitor_subject(visitor_id: str) -> str:
    """Return the subject of a visitor of a public page, from the random id that their browser stores."""
    return f"{_VISITOR_PREFIX}{visitor_id}"


def is_visitor_subject(subject: str) -> bool:
    """Return whether the subject is that of a visitor, whom no program may name as its user."""
    return subject.startswith(_VISITOR_PREFIX) and bool(
        _VISITOR_ID.fullmatch(subject.removeprefix(_VISITOR_PREFIX))
    )


def find_visitor_code(subject: str) -> str:
    """Return the first digits of a visitor's id, which tell the visitors of a list apart, or "" if it is nobody's."""
    start = len(_VISITOR_PREFIX)
    return subject[start : start + _CODE_LENGTH] if is_visitor_subject(subject) else ""


def build_visitor_subject_pattern() -> str:
    """Return a regular expression for the subjects of visitors, for queries."""
    return rf"{_VISITOR_PREFIX}{_VISITOR_ID.pattern}"


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


def name_external_user(subject: str) -> str:
    """Return the name of somebody who has no account: a visitor of a public page, a test user, or a user of a program."""
    if code := find_visitor_code(subject):
        return gettext("Visitor %(code)s") % {"code": code}
    return strip_player(subject)


def make_service_subject(account_id: UUID) -> str:
    """Return the subject of runs that a service account starts for itself, without naming a user."""
    return f"{_PREFIX}{account_id}"


def build_service_subject_pattern() -> str:
    """Return a regular expression for the subjects of service accounts, for queries."""
    return rf"{_PREFIX}[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}"


def find_service_account_id(subject: str) -> UUID | None:
    """Return the id of the only service account that may use this subject, or None if it belongs to none."""
    if not subject.startswith(_PREFIX):
        return None
    try:
        return UUID(subject.removeprefix(_PREFIX))
    except ValueError:
        return None


def is_service_subject(subject: str) -> bool:
    """Return whether the subject is a service account's own, in the one spelling in which runs have it."""
    account_id = find_service_account_id(subject)
    return account_id is not None and subject == make_service_subject(account_id)
