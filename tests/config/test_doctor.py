"""`manage.py doctor` as a process, on an installation whose walls stand, and with one taken down at a time."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.env import ROOT
from tests.support.stack import LiveStack


def doctor(stack: LiveStack, **changes: str | None) -> tuple[int, str]:
    changed: Mapping[str, str | None] = {**stack.environment, **changes}
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--no-color"],
        cwd=ROOT, env={name: value for name, value in changed.items() if value is not None},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def down(said: str) -> list[str]:
    return [line.split("  ")[2].strip() for line in said.splitlines() if line.startswith("  DOWN")]


def test_doctor_every_wall_stands(live_stack: LiveStack):
    status, said = doctor(live_stack)

    assert (status, down(said)) == (0, []), said
    assert "refuses http://169.254.169.254" in said
    assert "mnemoflow_app is bound by row-level security" in said
    assert "runner" in said
    assert "syscalls" in said


def test_doctor_superuser_for_the_site_is_named(live_stack: LiveStack):
    owner = live_stack.environment["DATABASE_OWNER_URL"]

    status, said = doctor(live_stack, DATABASE_URL=owner)

    assert (status, down(said)) == (1, ["database role", "table owner"]), said


def test_doctor_table_without_its_policy_is_named(live_stack: LiveStack):
    live_stack.sql("alter table workflows_workflow no force row level security")
    try:
        status, said = doctor(live_stack)
    finally:
        live_stack.sql("alter table workflows_workflow force row level security")

    assert (status, down(said)) == (1, ["row-level security"]), said
    assert "not forced on workflows_workflow" in said


def test_doctor_keys_that_others_may_read_are_named(live_stack: LiveStack, tmp_path: Path):
    moved: dict[str, str | None] = {
        "MNEMOFLOW_HOME": str(tmp_path), "SECRET_KEY": None, "SECRET_KEYS_AT_REST": None,
    }  # fmt: skip
    made, _ = doctor(live_stack, **moved)
    (tmp_path / "secrets.json").chmod(0o644)

    status, said = doctor(live_stack, **moved)

    assert made == 0
    assert (status, down(said)) == (1, ["keys"]), said


@pytest.mark.parametrize("address", ["postgresql://nobody@127.0.0.1:1/none"])
def test_doctor_database_gone_says_so(live_stack: LiveStack, address: str):
    status, said = doctor(live_stack, DATABASE_URL=address, DATABASE_POOL_SIZE="0")

    assert status == 1
    assert "doesn't answer" in said
    assert "refuses http://169.254.169.254" in said  # the other walls are looked at all the same


def test_doctor_valkey_gone_is_weak_not_down(live_stack: LiveStack):
    status, said = doctor(live_stack, REDIS_URL=f"unix:///tmp/none-{os.getpid()}.sock")

    assert (status, down(said)) == (0, []), said
    assert "weak   valkey" in said
