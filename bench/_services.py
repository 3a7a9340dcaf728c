"""The services of a benchmark: a temporary database and, for some, the whole product as a server.

Without ``DATABASE_URL`` the database is an embedded server in a temporary folder, never the one of ``MNEMOFLOW_HOME``.
A database that contains teams is refused unless the option ``--really`` is given.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from bench._common import ROOT
from config.embedded.layout import find_layout  # reads no environment


REFUSED: Final = 2  # the exit status, as of leakcheck
START_SECONDS: Final = 180  # a server may start slowly on a busy machine


def add_really_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--really",
        action="store_true",
        help="use DATABASE_URL even if it contains teams; it will be filled with test data",
    )


@contextmanager
def make_scratch_folder(prefix: str = "mnemoflow-bench-") -> Iterator[str]:
    """Provide a folder for the data of a server, and remove it at the end together with its database.

    For root, that lies somewhere else: PostgreSQL runs as another user, who may not enter a temporary folder.
    """
    with TemporaryDirectory(prefix=prefix) as scratch:
        server_home = find_layout(Path(scratch) / "home").server_home
        try:
            yield scratch
        finally:
            shutil.rmtree(server_home, ignore_errors=True)


@contextmanager
def run_temporary_services(*, really: bool = False) -> Iterator[None]:
    """Run the services of a benchmark and set up Django for the duration of the block. See the module's docstring."""
    with make_scratch_folder() as scratch:
        # The environment is read once, so it is set before any module of the product is imported.
        home = {"MNEMOFLOW_HOME": str(Path(scratch) / "home")}
        with patch.dict(os.environ, home):
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
            with _set_up_django():
                if not really:
                    _refuse_database_with_teams()
                yield


@contextmanager
def _set_up_django() -> Iterator[None]:
    import django

    from config.embedded.session import run_services

    with run_services():
        django.setup()
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", database="owner", verbosity=0, interactive=False)
        try:
            yield
        finally:
            connections.close_all()


def _refuse_database_with_teams() -> None:
    from accounts.models import Team

    if teams := Team.objects.count():
        sys.stderr.write(
            f"DATABASE_URL contains {teams} team(s), and a benchmark fills its database with test data. "
            "Use another database, or none for a temporary one; --really runs it anyway.\n"
        )
        raise SystemExit(REFUSED)


def create_operator() -> tuple[Any, Any]:
    """Create a user and a team, and return both."""
    from accounts.models import User
    from accounts.services import create_team
    from config.ids import uuid7

    user = User.objects.create_user(f"bench-{uuid7().hex}@example.org", name="Bench")
    return user, create_team(owner=user, name="Bench")


@contextmanager
def run_server(home: str, port: int) -> Iterator[str]:
    """Run the product as ``make run`` does, with its data in ``home``, and provide the URL that signs in once."""
    log = Path(home) / "up.log"
    environment = {**os.environ, "MNEMOFLOW_HOME": str(Path(home) / "home")}
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(port)]
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        yield _wait_for_sign_in_url(log, server)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def _wait_for_sign_in_url(log: Path, server: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        if match := re.search(r"http://\S+/start/\S+", log.read_text()):
            return match[0]
        time.sleep(0.2)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")
