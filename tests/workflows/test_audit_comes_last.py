"""An audit line locks its team's chain until the commit: no service locks another row after it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import services as people
from memory import services as memory
from memory.public import MemoryCaller
from tests.factories.workflows import make_provider, make_run, make_workflow
from tests.support.cast import Cast
from workflows.services import credentials, publishing
from workflows.services.catalog import folders
from workflows.services.editor import drafts
from workflows.services.runs import runs


pytestmark = pytest.mark.django_db

LOCKS = re.compile(
    r'^(?:UPDATE|DELETE FROM) "(\w+)"|FROM "(\w+)".* FOR (?:NO KEY )?UPDATE|FROM (memory_lock_for_write)\(',
    re.S,
)
CHAIN = 'INSERT INTO "accounts_auditentry"'


def locked_after_the_line(statements: list[str]) -> list[str]:
    """Tables; one locked before is held already, which the services do row by row."""
    held: set[str] = set()
    late, noted = [], False
    for statement in statements:
        noted = noted or statement.startswith(CHAIN)
        found = LOCKS.search(statement)
        if not found:
            continue
        table = found[1] or found[2] or found[3]
        if noted and table not in held:
            late.append(statement)
        held.add(table)
    return late


Change = Callable[[Cast], Callable[[], Any]]


def _provider(change: Callable[[Any, Any], Any]) -> Change:
    def made(cast: Cast) -> Callable[[], Any]:
        provider = make_provider(cast.alice)
        return lambda: change(cast.alice.principal, provider)

    return made


def _workflow(change: Callable[[Any, Any], Any]) -> Change:
    def made(cast: Cast) -> Callable[[], Any]:
        workflow = make_workflow(cast.alice)
        return lambda: change(cast.alice.principal, workflow)

    return made


def _entry(change: Callable[[MemoryCaller, str], Any]) -> Change:
    def made(cast: Cast) -> Callable[[], Any]:
        caller = MemoryCaller(cast.alice.principal, cast.team_a.pk)
        entry = memory.remember(caller, namespace="global:x", key="k", value=1)
        return lambda: change(caller, entry.id)

    return made


def _folder(change: Callable[[Any, Any], Any]) -> Change:
    """With a folder and a workflow in it, and one workflow outside."""

    def made(cast: Cast) -> Callable[[], Any]:
        who, team_id = cast.alice.principal, cast.team_a.pk
        folder = folders.create_folder(who, team_id=team_id, name="Outer")
        folders.create_folder(who, team_id=team_id, name="Inner", parent=folder)
        inside = make_workflow(cast.alice, "inside")
        folders.move_workflows(who, workflows=[inside], into=folder)
        return lambda: change(who, folder)

    return made


def _filled(cast: Cast) -> Callable[[], Any]:
    who = cast.alice.principal
    folder = folders.create_folder(who, team_id=cast.team_a.pk, name="Outer")
    chosen = [make_workflow(cast.alice, name) for name in ("one", "two")]
    return lambda: folders.move_workflows(who, workflows=chosen, into=folder)


def _cancelled(cast: Cast) -> Callable[[], Any]:
    run = make_run(cast.alice, make_workflow(cast.alice))
    return lambda: runs.cancel_run(cast.alice.principal, run)


CHANGES: dict[str, Change] = {
    "delete a credential": _provider(
        lambda who, row: credentials.delete_credential(who, credential=row.credential)
    ),
    "delete a provider": _provider(lambda who, row: credentials.delete_provider(who, provider=row)),
    "move a provider": _provider(
        lambda who, row: credentials.update_provider(
            who, provider=row, base_url="https://other.example/v1"
        )
    ),
    "give a provider another secret": _provider(
        lambda who, row: credentials.update_provider(who, provider=row, secret="sk-9876543210")
    ),
    "start a run": _workflow(
        lambda who, row: runs.start_run(who, workflow=row, inputs={"text": "x"}, conversation="c1")
    ),
    "cancel a run": _cancelled,
    "rename a workflow": _workflow(lambda who, row: drafts.rename(who, workflow=row, name="New")),
    "publish a workflow": _workflow(lambda who, row: publishing.publish(who, workflow=row)),
    "archive a workflow": _workflow(lambda who, row: drafts.archive(who, workflow=row)),
    "create a folder": lambda cast: (
        lambda: folders.create_folder(cast.alice.principal, team_id=cast.team_a.pk, name="New")
    ),
    "rename a folder": _folder(lambda who, row: folders.rename_folder(who, folder=row, name="New")),
    "move a folder": _folder(lambda who, row: folders.move_folder(who, folder=row, into=None)),
    "delete a folder": _folder(lambda who, row: folders.delete_folder(who, folder=row)),
    "move workflows": _filled,
    "store a memory": _entry(
        lambda caller, _id: memory.remember(caller, namespace="global:x", key="k", value=2)
    ),
    "forget a memory": _entry(lambda caller, one: memory.forget(caller, entry_id=one)),
    "rename the team": lambda cast: (
        lambda: people.rename_team(cast.alice.principal, team=cast.team_a, name="Other")
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change_locks_nothing_after_its_audit_line(name: str, cast: Cast) -> None:
    change = CHANGES[name](cast)

    with CaptureQueriesContext(connection) as asked:
        change()

    statements = [one["sql"] for one in asked.captured_queries]
    assert any(one.startswith(CHAIN) for one in statements)
    assert locked_after_the_line(statements) == []


def test_lock_after_the_line_is_found() -> None:
    line = f"{CHAIN} (...)"
    statements = ['UPDATE "held" SET x = 1', line, 'UPDATE "held" SET x = 2', 'DELETE FROM "late"']

    assert locked_after_the_line(statements) == ['DELETE FROM "late"']
