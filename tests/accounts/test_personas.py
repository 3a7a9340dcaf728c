"""A test person's id says who plays it."""

from uuid import UUID

import pytest

from accounts.personas import (
    find_player,
    find_service_account_id,
    make_persona_id,
    make_service_subject,
    make_visitor_subject,
    name_external_user,
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


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (make_visitor_subject("406c4fb64876d3fec4f39ec64cb633f0"), "Visitor 406c4f"),
        (make_persona_id("ben", PLAYER), "ben"),
        ("ana@example.org", "ana@example.org"),
        ("web-ana", "web-ana"),
    ],
)
def test_user_without_an_account_has_a_name_that_people_can_read(subject: str, name: str) -> None:
    assert name_external_user(subject) == name
