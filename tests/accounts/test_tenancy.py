"""What a block of a team leaves behind on the connection: nothing, and within blocks what was there before."""

import pytest
from django.db import connection

from accounts.tenancy import fetch_by_key, reading, tenant


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


@pytest.mark.django_db
def test_reading_what_is_visible_already_costs_nothing(cast, django_assert_num_queries):
    with tenant([cast.team_a.id]), django_assert_num_queries(0), reading([cast.team_a.id]):
        pass


@pytest.mark.django_db
def test_reading_other_teams_within_a_block_shows_them_alone_and_then_what_was_visible(cast):
    with tenant([cast.team_a.id]):
        with reading([cast.team_b.id]):
            inside = read_visible_teams()
        with pytest.raises(ZeroDivisionError), reading([cast.team_a.id, cast.team_b.id]):
            raise ZeroDivisionError

        assert (inside, read_visible_teams()) == (f"{{{cast.team_b.id}}}", f"{{{cast.team_a.id}}}")


@pytest.mark.django_db(transaction=True)
def test_reading_without_a_block_around_it_is_a_block_of_its_own(cast):
    with reading([cast.team_a.id]):
        inside = read_visible_teams()

    assert (inside, read_visible_teams()) == (f"{{{cast.team_a.id}}}", "")


@pytest.mark.django_db
def test_error_of_a_reader_leaves_the_block_around_it_as_it_was(cast):
    with tenant([cast.team_a.id]):
        with pytest.raises(ZeroDivisionError), reading([cast.team_a.id]):
            raise ZeroDivisionError

        assert read_visible_teams() == f"{{{cast.team_a.id}}}"


ROLES = "SELECT role FROM accounts_membership WHERE user_id = %s"


@pytest.mark.django_db(transaction=True)
def test_rows_of_a_key_are_fetched_by_one_statement_that_leaves_no_setting(
    cast, django_assert_num_queries
):
    with django_assert_num_queries(1):
        rows = fetch_by_key(ROLES, str(cast.alice.user.pk))
    rows_of_no_key = fetch_by_key("SELECT role FROM accounts_membership WHERE %s <> ''", "other")

    assert rows == [("owner",)]
    assert rows_of_no_key == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM accounts_membership")
        assert cursor.fetchone() == (0,)


@pytest.mark.django_db
def test_rows_of_a_key_within_a_block_leave_the_team_of_the_block_visible(cast):
    with tenant([cast.team_b.id]):
        rows = fetch_by_key(ROLES, str(cast.alice.user.pk))

        assert rows == [("owner",)]
        assert read_visible_teams() == f"{{{cast.team_b.id}}}"
        with connection.cursor() as cursor:
            cursor.execute(ROLES, [str(cast.alice.user.pk)])
            assert cursor.fetchone() is None
