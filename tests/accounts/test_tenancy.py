"""What a block of a team leaves behind on the connection: nothing, and within blocks what was there before."""

import pytest
from django.db import connection

from accounts.tenancy import tenant


def read_visible_teams() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting('mnemoflow.team_ids', true), '')")
        return cursor.fetchone()[0]


@pytest.mark.django_db(transaction=True)
def test_setting_after_the_block_is_gone_from_the_connection(cast):
    with tenant([cast.team_a.id]):
        pass
    with pytest.raises(ZeroDivisionError), tenant([cast.team_a.id]):
        raise ZeroDivisionError

    assert read_visible_teams() == ""


@pytest.mark.django_db
def test_block_of_the_same_teams_within_a_block_sets_nothing(cast, django_assert_num_queries):
    savepoint_and_release = 2
    with (
        tenant([cast.team_a.id]),
        django_assert_num_queries(savepoint_and_release),
        tenant([cast.team_a.id]),
    ):
        pass


@pytest.mark.django_db
@pytest.mark.parametrize("inner", ["team_a", "team_b"])
def test_team_of_the_outer_block_is_visible_after_an_inner_one_that_failed(cast, inner):
    with tenant([cast.team_a.id]):
        before = read_visible_teams()
        with (
            pytest.raises(ZeroDivisionError),
            tenant([getattr(cast, inner).id]),
            tenant([cast.team_b.id]),
        ):
            raise ZeroDivisionError

        assert read_visible_teams() == before == f"{{{cast.team_a.id}}}"
