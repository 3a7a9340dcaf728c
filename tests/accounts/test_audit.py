"""The chain: what the trail records stays, and whatever is changed behind its back is found."""

import threading
from typing import Any

import pytest
from django.db import ProgrammingError, connection, connections

from accounts import audit
from accounts.errors import NotAllowed
from accounts.models import AuditEntry
from accounts.services.trail import list_entries
from accounts.tenancy import tenant
from tests.support.cast import make_cast


def record(team, subject="thing", **extra):
    audit.record(
        team_id=team.id, actor="user:x", action="workflow.changed", subject=subject, **extra
    )


def entries(team):
    with tenant([team.id]):
        return list(AuditEntry.objects.unscoped().filter(team_id=team.id).order_by("seq"))


@pytest.mark.django_db
def test_entries_are_numbered_and_chained_per_team(cast):
    for team in (cast.team_a, cast.team_b, cast.team_a):
        record(team)

    ours = entries(cast.team_a)
    assert [entry.seq for entry in ours] == list(range(1, len(ours) + 1))
    assert [entry.prev_hash for entry in ours] == ["0" * 64, *(entry.hash for entry in ours[:-1])]
    assert audit.verify(cast.team_a.id) == audit.ChainReport(len(ours), ours[-1].hash, None)
    assert audit.read_head(cast.team_a.id) == (len(ours), ours[-1].hash)


@pytest.mark.django_db
def test_entry_of_an_action_without_wording_is_refused(cast):
    with pytest.raises(ValueError, match="no wording"):
        audit.record(team_id=cast.team_a.id, actor="x", action="made.up", subject="x")


@pytest.mark.django_db
def test_entry_with_any_json_verifies(cast):
    record(
        cast.team_a, "ümlaut \U0001f431", detail={"b": 1.50, "a": [None, True, "…"], "big": 10**20}
    )

    assert audit.verify(cast.team_a.id).intact


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditentry SET actor = 'z'",
        "DELETE FROM accounts_auditentry",
        "TRUNCATE accounts_auditentry",
        "UPDATE accounts_audithead SET seq = 0",
        "INSERT INTO accounts_audithead (team_id, seq, hash) VALUES (gen_random_uuid(), 0, '')",
    ],
)
def test_trail_changed_by_the_app_role_is_refused(cast, statement):
    with (
        pytest.raises(ProgrammingError, match=r"permission denied|must be owner"),
        tenant([cast.team_a.id]),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.django_db
def test_sequence_and_hashes_sent_by_the_app_are_ignored(cast):
    before = len(entries(cast.team_a))

    with tenant([cast.team_a.id]):
        AuditEntry(team_id=cast.team_a.id, seq=99, hash="f" * 64, action="x", subject="x").save()

    last = entries(cast.team_a)[-1]
    assert last.seq == before + 1
    assert audit.verify(cast.team_a.id).intact


@pytest.mark.parametrize("statement", ["UPDATE accounts_auditentry SET actor = 'z'", "DELETE FROM accounts_auditentry", "TRUNCATE accounts_auditentry"])  # fmt: skip
def test_trail_changed_by_the_owner_of_the_table_is_refused(owner_db, statement):
    cast = make_cast()

    with pytest.raises(Exception, match="the audit trail only grows"):
        owner_db.execute(statement)

    assert audit.verify(cast.team_a.id).intact


FORGED = """
    INSERT INTO accounts_auditentry
        (id, team_id, seq, at, actor_kind, actor, action, subject, detail, success, prev_hash, hash)
    SELECT gen_random_uuid(), team_id, 6, at, actor_kind, actor, action, subject, detail, success, hash,
        repeat('b', 64)
    FROM accounts_auditentry WHERE seq = 5 AND team_id = %s
"""


@pytest.mark.parametrize(
    ("statement", "seq", "reason"),
    [
        ("UPDATE accounts_auditentry SET subject = 'else' WHERE seq = 3 AND team_id = %s", 3, "changed"),
        ("UPDATE accounts_auditentry SET success = false WHERE seq = 2 AND team_id = %s", 2, "changed"),
        ("UPDATE accounts_auditentry SET at = at + interval '1 s' WHERE seq = 2 AND team_id = %s", 2, "changed"),
        ("UPDATE accounts_auditentry SET hash = repeat('a', 64) WHERE seq = 2 AND team_id = %s", 2, "changed"),
        ("DELETE FROM accounts_auditentry WHERE seq = 2 AND team_id = %s", 2, "missing"),
        ("DELETE FROM accounts_auditentry WHERE seq = 1 AND team_id = %s", 1, "missing"),
        ("DELETE FROM accounts_auditentry WHERE seq = 5 AND team_id = %s", 5, "missing"),
        (
            FORGED,
            6,
            "changed",
        ),
    ],
)  # fmt: skip
def test_trail_changed_behind_the_triggers_is_found(owner_db: Any, statement, seq, reason):
    cast = make_cast()
    while len(entries(cast.team_a)) < 5:
        record(cast.team_a)
    intact = audit.verify(cast.team_a.id).intact

    with owner_db.transaction():
        owner_db.execute("SET LOCAL session_replication_role = replica")
        found = owner_db.execute(statement, [cast.team_a.id]).rowcount

    assert (intact, found) == (True, 1)
    assert audit.verify(cast.team_a.id).broken_link == audit.BrokenLink(seq, reason)


def test_entries_written_at_once_make_one_chain(owner_db: Any):
    cast = make_cast()
    before = len(entries(cast.team_a))

    def write() -> None:
        for _ in range(10):
            record(cast.team_a)
        connections.close_all()

    writers = [threading.Thread(target=write) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    report = audit.verify(cast.team_a.id)
    assert (report.length, report.intact) == (before + 80, True)


@pytest.mark.django_db
def test_trail_read_by_an_editor_is_refused(cast):
    with tenant([cast.team_a.id]):
        newest, *_older = list_entries(cast.ada.principal, team=cast.team_a)
        assert newest.seq == len(entries(cast.team_a))

    with pytest.raises(NotAllowed):
        list_entries(cast.bob.principal, team=cast.team_a)
