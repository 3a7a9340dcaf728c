"""Lines of the trail are noted while a transaction goes on, and written when it ends."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts import audit
from accounts.models import AuditEntry
from accounts.tenancy import tenant


pytestmark = pytest.mark.django_db


def note(team: Any, subject: str, *, success: bool = True) -> None:
    audit.record(
        team_id=team.pk,
        actor="user:x",
        action="workflow.changed",
        subject=subject,
        success=success,
    )


def subjects(team: Any) -> list[str]:
    with tenant([team.pk]):
        rows = AuditEntry.objects.unscoped().filter(team_id=team.pk, actor="user:x")
        return list(rows.order_by("seq").values_list("subject", flat=True))


def fails(team: Any, around: Callable[[], AbstractContextManager[Any]]) -> None:
    with around():
        note(team, "undone")
        note(team, "refused", success=False)
        raise LookupError


def test_lines_are_written_by_one_statement_at_the_end_in_their_order(cast: Any) -> None:
    with CaptureQueriesContext(connection) as asked, tenant([cast.team_a.pk]):
        note(cast.team_a, "first")
        with tenant([cast.team_a.pk]):
            note(cast.team_a, "second")
        before = len(asked.captured_queries)
        note(cast.team_a, "third")

    lines = [n for n, one in enumerate(asked.captured_queries) if "auditentry" in one["sql"]]
    assert len(lines) == 1
    assert lines[0] >= before
    assert subjects(cast.team_a) == ["first", "second", "third"]
    assert audit.verify(cast.team_a.pk).intact


def test_what_was_rolled_back_is_forgotten_and_a_refusal_in_it_is_not(cast: Any) -> None:
    with tenant([cast.team_a.pk]):
        note(cast.team_a, "kept")
        for inner in (lambda: tenant([cast.team_a.pk]), transaction.atomic):
            with pytest.raises(LookupError):
                fails(cast.team_a, inner)

    assert subjects(cast.team_a) == ["kept", "refused", "refused"]


# A test's own transaction would be around them, and the block a savepoint in it.
alone = pytest.mark.django_db(transaction=True)


@alone
def test_of_a_transaction_that_fails_only_what_was_refused_is_written(cast: Any) -> None:
    with pytest.raises(LookupError):
        fails(cast.team_a, lambda: tenant([cast.team_a.pk]))

    assert subjects(cast.team_a) == ["refused"]
    assert audit.verify(cast.team_a.pk).intact


@alone
def test_refusals_of_several_teams_and_of_nested_blocks_outlive_the_whole(cast: Any) -> None:
    def both() -> None:
        with tenant([cast.team_a.pk, cast.team_b.pk]):
            note(cast.team_b, "theirs", success=False)
            fails(cast.team_a, lambda: tenant([cast.team_a.pk]))

    with pytest.raises(LookupError):
        both()

    assert (subjects(cast.team_a), subjects(cast.team_b)) == (["refused"], ["theirs"])


@alone
def test_refusal_outlives_a_block_that_was_marked_to_be_rolled_back(cast: Any) -> None:
    with tenant([cast.team_a.pk]):
        note(cast.team_a, "undone")
        note(cast.team_a, "refused", success=False)
        transaction.set_rollback(True)

    assert subjects(cast.team_a) == ["refused"]


@alone
def test_what_the_database_gave_up_is_said_once_by_who_tries_again(cast: Any) -> None:
    def gives_up() -> None:
        with tenant([cast.team_a.pk]):
            note(cast.team_a, "refused", success=False)
            raise OperationalError

    with pytest.raises(OperationalError):
        gives_up()
    with pytest.raises(LookupError):
        fails(cast.team_a, lambda: tenant([cast.team_a.pk]))

    assert subjects(cast.team_a) == ["refused"]


def test_refusal_in_a_block_within_somebody_elses_transaction_is_written_at_once(cast: Any) -> None:
    with transaction.atomic():
        with pytest.raises(LookupError):
            fails(cast.team_a, lambda: tenant([cast.team_a.pk]))
        assert not connection.run_on_commit

    assert subjects(cast.team_a) == ["refused"]


def test_lines_of_several_teams_each_join_their_own_chain(cast: Any) -> None:
    with tenant([cast.team_a.pk]):
        note(cast.team_b, "theirs")
        note(cast.team_a, "ours")

    assert (subjects(cast.team_a), subjects(cast.team_b)) == (["ours"], ["theirs"])
    assert audit.verify(cast.team_a.pk).intact
    assert audit.verify(cast.team_b.pk).intact


def test_head_is_asked_for_with_what_was_noted(cast: Any) -> None:
    before, _hash = audit.read_head(cast.team_a.pk)
    with tenant([cast.team_a.pk]):
        note(cast.team_a, "noted")
        during, _hash = audit.read_head(cast.team_a.pk)

    assert (during, audit.read_head(cast.team_a.pk)[0]) == (before + 1, before + 1)
