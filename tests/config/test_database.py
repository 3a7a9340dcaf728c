"""The foundation itself: which role tests run as, and that both ways of cleaning up clean up."""

from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.db.utils import ProgrammingError


@pytest.mark.django_db
def test_default_connection_is_the_app_role_bound_by_policies():
    with connection.cursor() as cursor:
        cursor.execute(
            "select rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user"
        )
        role = cursor.fetchone()
        cursor.execute("select count(*) from pg_tables where tableowner = current_user")
        (owned,) = cursor.fetchone()

    assert (role, owned) == (("mnemoflow_app", False, False, False, False), 0)


@pytest.mark.django_db
def test_app_role_making_a_table_is_refused():
    with pytest.raises(ProgrammingError, match="permission denied"), connection.cursor() as cursor:
        cursor.execute("create table mine (id int)")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_", [1, 2])
def test_committed_rows_are_gone_in_the_next_test(round_: int):
    assert Group.objects.count() == 0

    Group.objects.create(name="left behind")


def test_owner_db_sees_what_the_test_committed(owner_db: psycopg.Connection[Any]):
    Group.objects.create(name="committed")

    seen = owner_db.execute("select name, current_user from auth_group").fetchall()

    assert seen == [("committed", "postgres")]
