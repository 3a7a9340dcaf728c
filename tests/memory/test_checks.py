"""A setting that would hide stored memory is an error of the checks, and keeps what they guard from starting."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import DatabaseError

from config.checks import BEFORE_START, refuse_bad_start
from memory import checks, services
from tests.memory.services.conftest import in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db


@pytest.fixture
def hiding(alice: Person, settings: Any, valkey_url: str) -> None:
    for group in "gh":
        caller = in_run(alice, workflow_id="w1", group_id=group)
        services.remember(caller, scope="workflow", key="a", value="green tea")
    settings.MEMORY_REDIS_URL, settings.MEMORY_PLACES = valkey_url, ("workflow=redis",)


@pytest.mark.usefixtures("hiding")
def test_hidden_entries_are_one_error_with_the_command_that_moves_them() -> None:
    (error,) = run_checks(tags=[BEFORE_START], databases=["default"])

    assert error.is_serious()
    assert error.msg == (
        "MEMORY_PLACES would hide 2 entries of 2 namespaces of the scope workflow: they are in postgres, "
        "and would be looked for in redis."
    )
    assert "manage.py memory_move" in str(error.hint)
    # Django's migrate names the database of the owner.
    assert [one.id for one in checks.check_places(databases=["owner"])] == ["memory.E001"]


@pytest.mark.usefixtures("hiding")
def test_start_ends_with_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    # The connection belongs to this test's transaction.
    monkeypatch.setattr("config.checks.close_connection", lambda: None)

    with pytest.raises(
        SystemExit, match=r"hide 2 entries .* in redis\. Run `manage\.py memory_move`"
    ):
        refuse_bad_start()


def test_start_goes_on_where_nothing_is_hidden_and_asks_no_database_otherwise(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr("config.checks.close_connection", lambda: None)
    refuse_bad_start()

    with django_assert_num_queries(0):
        assert checks.check_places() == []


def test_database_without_the_tables_is_left_to_other_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise DatabaseError("no such column")

    monkeypatch.setattr("memory.checks.list_hidden_namespaces", fail)

    assert checks.check_places(databases=["default"]) == []
