"""Signed heads: what was cut off the trail's end is found by who kept one, and nobody else can make one."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts import audit
from accounts.services.checkpoints import check_head, read_heads, sign_head, write_checkpoint
from config.celery import app
from config.encryption.crypto import generate_key, is_signed, sign
from tests.support.cast import Cast, make_cast


def record(team: Any) -> None:
    audit.record(team_id=team.pk, actor="user:x", action="workflow.changed", subject="thing")


def test_signature_holds_for_its_text_and_purpose_alone(settings: Any):
    signed = sign("text", "purpose")

    assert is_signed("text", "purpose", signed)
    assert not is_signed("text.", "purpose", signed)
    assert not is_signed("text", "other", signed)
    assert not is_signed("text", "purpose", replace(signed, value="nonsense"))
    old, new = settings.SECRET_KEYS_AT_REST[0], generate_key()
    settings.SECRET_KEYS_AT_REST = (new, old)  # a new key in front: the old one's signatures hold
    assert is_signed("text", "purpose", signed)
    assert sign("text", "purpose").public_key != signed.public_key
    settings.SECRET_KEYS_AT_REST = (new,)
    assert not is_signed("text", "purpose", signed)


@pytest.mark.django_db
def test_head_holds_while_the_trail_only_grows(cast: Cast):
    record(cast.team_a)
    head = sign_head(cast.team_a.pk)
    record(cast.team_a)

    (read,) = read_heads(json.dumps(head.to_json()))

    assert read == head
    assert check_head(read).is_valid
    assert check_head(replace(head, seq=head.seq - 1)).finding == "forged"
    assert check_head(replace(head, hash="0" * 64)).finding == "forged"


def cut(owner_db: Any, team: Any, *, heads_too: bool) -> None:
    """The newest entry goes, and whoever is thorough puts the head back as well."""
    with owner_db.transaction():
        owner_db.execute("SET LOCAL session_replication_role = replica")
        owner_db.execute(
            "DELETE FROM accounts_auditentry WHERE team_id = %(t)s AND seq ="
            " (SELECT max(seq) FROM accounts_auditentry WHERE team_id = %(t)s)",
            {"t": team.pk},
        )
        if heads_too:
            owner_db.execute(
                "UPDATE accounts_audithead h SET (seq, hash) = (SELECT seq, hash FROM accounts_auditentry"
                " WHERE team_id = %(t)s ORDER BY seq DESC LIMIT 1) WHERE team_id = %(t)s",
                {"t": team.pk},
            )


def said(*args: str) -> str:
    out = StringIO()
    call_command("audit_verify", *args, stdout=out)
    return out.getvalue()


def test_command_finds_what_was_cut_off_though_the_chain_fits(owner_db: Any, tmp_path: Path):
    cast = make_cast()
    record(cast.team_a)
    file = tmp_path / "head.json"
    head = sign_head(cast.team_a.pk)
    file.write_text(json.dumps(head.to_json()))
    assert "valid, no entries were removed from the end" in said(
        cast.team_a.slug, "--head", str(file)
    )

    cut(owner_db, cast.team_a, heads_too=True)

    assert audit.verify(cast.team_a.pk).intact  # the chain alone doesn't see it
    with pytest.raises(CommandError, match="1 of 1 signed heads failed verification"):
        said(cast.team_a.slug, "--head", str(file))
    record(cast.team_a)  # nor does it help to write something else in its place
    assert check_head(head).finding == "changed"


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"format": "mnemoflow-audit-head", "version": 1}'])  # fmt: skip
def test_file_that_holds_no_head_is_said(cast: Cast, tmp_path: Path, text: str):
    file = tmp_path / "head.json"
    file.write_text(text)

    with pytest.raises(CommandError) as refused:
        said("--head", str(file))

    assert refused.value.returncode == 2


@pytest.mark.django_db
def test_checkpoint_of_each_day_adds_a_line_for_each_team(
    cast: Cast, tmp_path: Path, settings: Any
):
    settings.AUDIT_HEADS_FILE = tmp_path / "kept" / "heads.jsonl"

    assert (write_checkpoint(), write_checkpoint()) == (2, 2)

    heads = list(read_heads(settings.AUDIT_HEADS_FILE.read_text()))
    assert {head.team_id for head in heads} == {cast.team_a.pk, cast.team_b.pk}
    assert len(heads) == 4
    assert said("--head", str(settings.AUDIT_HEADS_FILE)).count("valid") == 4
    assert "2 of" not in said(cast.team_a.slug, "--head", str(settings.AUDIT_HEADS_FILE))


def test_beat_asks_for_a_checkpoint_each_day():
    app.finalize()

    row = app.conf.beat_schedule["accounts-audit-checkpoint"]
    assert (row["task"], row["schedule"]) == ("accounts.audit_checkpoint", 24 * 60 * 60)
