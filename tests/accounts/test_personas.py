"""A test person's id says who plays it."""

from uuid import UUID

import pytest

from accounts.personas import (
    find_player,
    find_service_account_id,
    make_persona_id,
    make_service_subject,
    strip_player,
)


PLAYER = UUID("01a20140-d1b6-7000-8ff0-0767ed1d6fd2")


def test_persona_is_its_players_and_has_its_name() -> None:
    made = make_persona_id("ben", PLAYER)

    assert (find_player(made), strip_player(made)) == (PLAYER, "ben")


@pytest.mark.parametrize(
    "subject",
    ["", "ben", "ben@example.org", str(PLAYER), f"@{PLAYER}", f"ben@{PLAYER}x", f"ben-{PLAYER}"],
)
def test_any_other_id_is_nobodys_persona(subject: str) -> None:
    assert (find_player(subject), strip_player(subject)) == (None, subject)


def test_a_keys_own_subject_is_that_keys() -> None:
    assert find_service_account_id(make_service_subject(PLAYER)) == PLAYER
    assert [
        find_service_account_id(other)
        for other in ("key-", "key-x", str(PLAYER), f"a-key-{PLAYER}")
    ] == [None] * 4
