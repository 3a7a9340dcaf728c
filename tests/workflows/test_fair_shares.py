"""How many slots a team may hold, alone and beside others."""

import pytest

from workflows.fair_shares import Shares


def take_all(shares: Shares[str], *teams: str) -> dict[str, int]:
    """Let the teams take slots in turns until none may take another one."""
    while takers := [team for team in teams if shares.may_take(team)]:
        for team in takers:
            if shares.may_take(team):
                shares.take(team)
    return {team: shares.count_held(team) for team in teams}


@pytest.mark.parametrize(("capacity", "held"), [(1, 1), (2, 1), (4, 3), (8, 7), (16, 14), (64, 56)])
def test_team_alone_leaves_a_slot_for_the_next(capacity: int, held: int) -> None:
    assert take_all(Shares(capacity), "a") == {"a": held}


def test_slots_remain_free_however_many_teams_want_all() -> None:
    shares: Shares[str] = Shares(64)

    held = take_all(shares, *"abcde")

    assert max(held.values()) - min(held.values()) <= 1
    assert shares.free >= 1


def test_first_slot_is_always_given_while_one_is_free() -> None:
    shares: Shares[str] = Shares(8)
    take_all(shares, "a")

    assert shares.may_take("b")
    shares.take("b")
    assert not shares.may_take("c")


def test_team_that_held_most_gets_no_more_until_others_have_their_share() -> None:
    shares: Shares[str] = Shares(8)
    take_all(shares, "a")
    shares.take("b")
    shares.give_back("a")

    assert (shares.may_take("a"), shares.may_take("b"), shares.list_full()) == (
        False,
        False,
        ["a", "b"],
    )
    shares.give_back("a")
    assert (shares.may_take("a"), shares.may_take("b")) == (True, True)


def test_turns_are_listed_oldest_first() -> None:
    shares: Shares[str] = Shares(8)
    for team in "abca":
        shares.take(team)

    assert shares.list_by_last_turn() == ["b", "c", "a"]
