"""`manage.py doctor` on an installation whose walls stand, and with some of them taken down.

A process as a shell starts it where the start is part of what is asked, else one forked from what is loaded.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.env import ROOT
from tests.support.stack import LiveStack
from workflows.sandbox.process import is_jailed


# A wall that is down for a single process: what it would have read from its environment is changed in it.
CHANGED = "{change}\nfrom django.core.management import call_command\ncall_command('doctor', '--no-color')"


def started(stack: LiveStack, **changes: str | None) -> tuple[int, str]:
    changed: Mapping[str, str | None] = {**stack.environment, **changes}
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--no-color"],
        cwd=ROOT, env={name: value for name, value in changed.items() if value is not None},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def doctor(stack: LiveStack, change: str = "") -> tuple[int, str]:
    code = CHANGED.format(change=change or "pass")
    status, out, err = stack.command("shell", "--no-imports", "-c", code)
    return status, out + err


def down(said: str) -> list[str]:
    return [
        line.split("  ")[2].strip() for line in said.splitlines() if line.startswith("  FAILED")
    ]


@pytest.mark.slow
def test_doctor_every_wall_stands(live_stack: LiveStack, tmp_path: Path):
    moved: dict[str, str | None] = {
        "MNEMOFLOW_HOME": str(tmp_path), "SECRET_KEY": None, "SECRET_KEYS_AT_REST": None,
    }  # fmt: skip

    # With the keys of the stack: other tests have stored secrets there.
    secrets = {
        "secret_key": "x" * 64,
        "keys_at_rest": live_stack.environment["SECRET_KEYS_AT_REST"].split(","),
    }
    (tmp_path / "secrets.json").touch(mode=0o600)
    (tmp_path / "secrets.json").write_text(json.dumps(secrets))

    status, said = started(live_stack, **moved)

    assert (status, down(said)) == (0, []), said
    assert "refuses http://169.254.169.254" in said
    assert "mnemoflow_app is bound by row-level security" in said
    assert "runner" in said
    assert "syscalls" in said
    assert ("ok      bubblewrap" in said) == is_jailed()
    in_jail = re.search(r"ok      full Python .*protected by .*syscalls", said)
    assert (in_jail is not None) == is_jailed()


# The site's role is the owner's, and anybody may read the keys.
TAKEN_DOWN = """
from pathlib import Path
from django.db import connections
from config.env import env
from config.management import isolation_checks
connections['default'].settings_dict['USER'] = connections['owner'].settings_dict['USER']
of_file = {{'mnemoflow_home': Path({home!r}), 'secret_key': None, 'secret_keys_at_rest': None}}
isolation_checks.env = lambda: env().model_copy(update=of_file)
"""


def test_doctor_each_wall_that_is_down_is_named_and_no_other(live_stack: LiveStack, tmp_path: Path):
    (tmp_path / "secrets.json").touch()
    (tmp_path / "secrets.json").chmod(0o644)
    live_stack.sql("alter table workflows_workflow no force row level security")
    try:
        status, said = doctor(live_stack, TAKEN_DOWN.format(home=str(tmp_path)))
    finally:
        live_stack.sql("alter table workflows_workflow force row level security")

    assert (status, down(said)) == (
        1,
        ["database role", "table owner", "row-level security", "keys"],
    ), said
    assert "not forced on workflows_workflow" in said
    assert "has mode 644, should be 600" in said


# Nobody listens there, and no pool waits for it.
GONE = """
from django.db import connections
settings = connections['default'].settings_dict
settings |= {'HOST': '127.0.0.1', 'PORT': 1, 'USER': 'nobody', 'NAME': 'none'}
settings['OPTIONS'].pop('pool', None)
"""


def test_doctor_database_gone_says_so(live_stack: LiveStack):
    status, said = doctor(live_stack, GONE)

    assert status == 1
    assert "doesn't respond" in said
    assert "refuses http://169.254.169.254" in said  # the other walls are looked at all the same


def test_doctor_valkey_and_bubblewrap_missing_are_weak_and_the_other_walls_stand(
    live_stack: LiveStack,
):
    address = f"unix:///tmp/none-{os.getpid()}.sock"
    change = (
        f"import os; os.environ['PATH'] = '';"
        f"from django.conf import settings; settings.REDIS_URL = {address!r}"
    )

    status, said = doctor(live_stack, change)

    assert (status, down(said)) == (0, []), said
    assert "warn    valkey" in said
    assert "warn    bubblewrap" in said
    assert "ok      full Python" not in said
