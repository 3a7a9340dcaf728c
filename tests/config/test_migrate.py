"""`manage.py migrate`, which every start runs, on a database that it cannot bring up to date."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError

from config.env import env
from config.management.commands.migrate import OLD_MIGRATION, check_is_current
from tests.support.stack import LiveStack


APPLIED = "insert into django_migrations (app, name, applied) values (%s, %s, now())"
FORGET = "delete from django_migrations where (app, name) = (%s, %s)"


@pytest.fixture
def applied_before_the_first_release(owner_db: psycopg.Connection[Any]) -> Iterator[None]:
    owner_db.execute("grant select on django_migrations to mnemoflow_app")
    owner_db.execute(APPLIED, OLD_MIGRATION)
    yield
    owner_db.execute(FORGET, OLD_MIGRATION)
    owner_db.execute("revoke select on django_migrations from mnemoflow_app")


@pytest.mark.usefixtures("applied_before_the_first_release")
def test_data_folder_from_before_the_first_release_is_to_be_moved_away():
    with pytest.raises(CommandError) as refused:
        check_is_current("default")

    assert str(refused.value) == (
        f"The data folder {env().mnemoflow_home} is from before the first release and cannot be brought up to date: "
        "move it away and start again."
    )


def test_named_database_from_before_the_first_release_is_refused_in_one_sentence(
    live_stack: LiveStack,
):
    live_stack.sql(APPLIED, OLD_MIGRATION)
    try:
        status, _out, err = live_stack.command("migrate", "--no-color")
    finally:
        live_stack.sql(FORGET, OLD_MIGRATION)

    ((name,),) = live_stack.sql("select current_database()")
    assert (status, err.strip()) == (
        1,
        (
            f"CommandError: The database {name} is from before the first release and cannot be brought up to date: "
            "create an empty one and start again."
        ),
    )
