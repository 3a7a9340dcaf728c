"""Random nestings of blocks show at each step what an obvious model says: a block's teams inside it, and after it what was before."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.tenancy import get_current_team_ids, lookup, reading, tenant


pytestmark = pytest.mark.django_db(transaction=True)

TEAMS = [UUID(int=number) for number in (1, 2)]


class Kind(StrEnum):
    TENANT = "tenant"
    READING = "reading"
    LOOKUP = "lookup"
    ATOMIC = "atomic"


class End(StrEnum):
    LEAVE = "leave"
    RAISE = "raise"
    BROKEN_STATEMENT = "broken statement"
    CAUGHT_BROKEN_STATEMENT = "caught broken statement"  # the transaction can't go on
    ROLLBACK = "rollback"


# ``reading`` may have no savepoint, so that an error of the database ends the transaction around it.
ENDS_OF_READING = (End.LEAVE, End.RAISE)


@dataclass(frozen=True)
class Visible:
    """The model: what is visible in a block is a value, which no block inside it can change."""

    teams: frozenset[UUID] = frozenset()
    key: str = ""


@dataclass(frozen=True)
class Block:
    kind: Kind
    teams: frozenset[UUID]
    key: str
    blocks: tuple["Block", ...]
    end: End

    def open(self) -> AbstractContextManager[Any]:
        match self.kind:
            case Kind.TENANT:
                return tenant(self.teams)
            case Kind.READING:
                return reading(self.teams)
            case Kind.LOOKUP:
                return lookup(self.key)
            case _:
                return transaction.atomic()

    def show(self, outside: Visible) -> Visible:
        match self.kind:
            case Kind.TENANT | Kind.READING:
                return replace(outside, teams=self.teams)
            case Kind.LOOKUP:
                return replace(outside, key=self.key)
            case _:
                return outside


def build_blocks(inner: st.SearchStrategy[tuple[Block, ...]]) -> st.SearchStrategy[Block]:
    return st.sampled_from(Kind).flatmap(
        lambda kind: st.builds(
            Block,
            kind=st.just(kind),
            teams=st.frozensets(st.sampled_from(TEAMS)),
            key=st.sampled_from(["", "a key's hash", "100 %s; '"]),
            blocks=inner,
            end=st.sampled_from(ENDS_OF_READING if kind is Kind.READING else End),
        )
    )


BLOCKS = st.recursive(
    build_blocks(st.just(())),
    lambda blocks: build_blocks(st.lists(blocks, max_size=3).map(tuple)),
    max_leaves=12,
)


def read_visible() -> Visible:
    """Return what the database uses for its policies."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT mnemoflow_team_ids()::text[], coalesce(current_setting('mnemoflow.lookup', true), '')"
        )
        team_ids, key = cursor.fetchone()
    return Visible(frozenset(map(UUID, team_ids or ())), key)


def check(expected: Visible) -> None:
    assert read_visible() == expected
    assert get_current_team_ids() == expected.teams


def run(block: Block, outside: Visible) -> None:
    check(outside)
    try:
        with block.open():
            inside = block.show(outside)
            check(inside)
            for inner in block.blocks:
                run(inner, inside)
            check(inside)
            finish(block.end)
    except (ZeroDivisionError, DatabaseError):
        assert block.end not in (End.LEAVE, End.ROLLBACK)
    check(outside)


def finish(end: End) -> None:
    match end:
        case End.RAISE:
            raise ZeroDivisionError
        case End.BROKEN_STATEMENT:
            execute_broken_statement()
        case End.CAUGHT_BROKEN_STATEMENT:
            with pytest.raises(DatabaseError):
                execute_broken_statement()
        case End.ROLLBACK:
            transaction.set_rollback(True)
        case _:
            pass


def execute_broken_statement() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


@contextmanager
def without_autocommit() -> Iterator[None]:
    connection.set_autocommit(False)
    try:
        yield
    finally:
        connection.rollback()
        connection.set_autocommit(True)


@pytest.fixture(params=["in messages", "one by one"])
def sending(request: pytest.FixtureRequest) -> Iterator[None]:
    """Send statements together or, for the log of queries, each by itself."""
    connection.force_debug_cursor = request.param == "one by one"
    yield
    connection.force_debug_cursor = False


@pytest.mark.usefixtures("sending")
def test_visible_teams_are_those_of_the_model_at_each_step_of_any_nesting():
    @settings(max_examples=60)
    @given(st.lists(BLOCKS, min_size=1, max_size=3))
    def run_in_autocommit(blocks: list[Block]) -> None:
        for block in blocks:
            run(block, Visible())

    run_in_autocommit()


@pytest.mark.usefixtures("sending")
def test_visible_teams_are_those_of_the_model_in_a_transaction_without_autocommit():
    @settings(max_examples=60)
    @given(st.lists(BLOCKS, min_size=1, max_size=3))
    def run_without_autocommit(blocks: list[Block]) -> None:
        with without_autocommit():
            for block in blocks:
                run(block, Visible())

    run_without_autocommit()


def test_block_in_a_transaction_that_has_to_be_rolled_back_is_refused_and_shows_nothing():
    with tenant(TEAMS[:1]):
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError), tenant(TEAMS[1:]):
            pass
        current = get_current_team_ids()
        transaction.set_rollback(True)

    assert current == {TEAMS[0]}
    check(Visible())


def test_statement_that_no_savepoint_took_along_is_in_none_that_follows():
    with suppress(ZeroDivisionError), connection.sending_with_savepoint("SELECT 1 / %s", ["0"]):
        raise ZeroDivisionError

    with transaction.atomic(), transaction.atomic():
        check(Visible())


def test_work_after_the_commit_begins_with_nothing_visible():
    visible = []

    def note() -> None:
        with transaction.atomic():
            visible.append((get_current_team_ids(), read_visible()))

    with tenant(TEAMS[:1]):
        transaction.on_commit(note)

    assert visible == [(frozenset(), Visible())]


def test_block_of_other_teams_within_a_block_takes_two_messages():
    messages = []

    def count(execute: Any, sql: str, *arguments: Any) -> Any:
        messages.append(sql)
        return execute(sql, *arguments)

    with tenant(TEAMS[:1]), connection.execute_wrapper(count), tenant(TEAMS[1:]):
        pass

    assert [message.split()[0] for message in messages] == ["SAVEPOINT", "SELECT"]
