"""``manage.py audit_verify``: says every chain, and fails on the first that doesn't fit."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts import audit
from tests.support.cast import make_cast


def said(*args: str) -> str:
    out = StringIO()
    call_command("audit_verify", *args, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_chains_that_fit_are_said_with_their_heads(cast):
    length, head = audit.read_head(cast.team_a.pk)

    assert f"{cast.team_a.slug}: intact, {length} entries, head {head}" in said().splitlines()
    assert said(cast.team_b.slug).startswith(f"{cast.team_b.slug}: intact")
    assert said(str(cast.team_b.pk)) == said(cast.team_b.slug)


@pytest.mark.django_db
def test_team_that_is_none_is_said(cast):
    with pytest.raises(CommandError, match="Team 'nobody' not found"):
        said("nobody")


@pytest.mark.django_db(transaction=True)
def test_chain_that_was_changed_fails_with_its_first_broken_entry(owner_db: Any):
    cast = make_cast()
    for _ in range(3):
        audit.record(
            team_id=cast.team_a.pk, actor="user:x", action="workflow.changed", subject="thing"
        )
    length, _head = audit.read_head(cast.team_a.pk)
    with owner_db.transaction():
        owner_db.execute("SET LOCAL session_replication_role = replica")
        owner_db.execute(
            "UPDATE accounts_auditentry SET subject = 'other' WHERE team_id = %s AND seq = %s",
            [cast.team_a.pk, length - 1],
        )
    out = StringIO()

    with pytest.raises(CommandError, match="1 of 1 audit trails are broken") as broken:
        call_command("audit_verify", cast.team_a.slug, stdout=out)

    assert broken.value.returncode == 1
    assert out.getvalue() == f"{cast.team_a.slug}: broken at entry {length - 1}: changed\n"
