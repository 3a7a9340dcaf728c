"""A test person's id says who plays it."""

from uuid import UUID

import pytest

from accounts.personas import key_of, key_subject, persona_id, persona_name, played_by


PLAYER = UUID("01a20140-d1b6-7000-8ff0-0767ed1d6fd2")


def test_persona_is_its_players_and_has_its_name() -> None:
    made = persona_id("ben", PLAYER)

    assert (played_by(made), persona_name(made)) == (PLAYER, "ben")


@pytest.mark.parametrize(
    "subject",
    ["", "ben", "ben@example.org", str(PLAYER), f"@{PLAYER}", f"ben@{PLAYER}x", f"ben-{PLAYER}"],
)
def test_any_other_id_is_nobodys_persona(subject: str) -> None:
    assert (played_by(subject), persona_name(subject)) == (None, subject)


def test_a_keys_own_subject_is_that_keys() -> None:
    assert key_of(key_subject(PLAYER)) == PLAYER
    assert [key_of(other) for other in ("key-", "key-x", str(PLAYER), f"a-key-{PLAYER}")] == [
        None
    ] * 4
