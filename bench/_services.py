"""A database of a bench's own: what it writes is nobody's memory, and is gone with it.

Without ``DATABASE_URL`` that is an embedded server in a folder made for it, never the one of ``MNEMOFLOW_HOME``. A
database that was named is the one meant, but one with teams in it is refused unless ``--really`` is said.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from unittest.mock import patch


REFUSED: Final = 2  # as leakcheck


def takes_really(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--really",
        action="store_true",
        help="although DATABASE_URL has teams in it: it will be filled",
    )


@contextmanager
def own_services(*, really: bool = False) -> Iterator[None]:
    """Django set up on services that run as long as this does."""
    with TemporaryDirectory(prefix="mnemoflow-bench-") as scratch:
        # Read once, so it has to be said before anything of ours is imported.
        home = {"MNEMOFLOW_HOME": str(Path(scratch) / "home")}
        with patch.dict(os.environ, home):
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
            with _set_up():
                if not really:
                    _refuse_data()
                yield


@contextmanager
def _set_up() -> Iterator[None]:
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


def _refuse_data() -> None:
    from accounts.models import Team

    if teams := Team.objects.count():
        sys.stderr.write(
            f"There is data of {teams} team(s) in DATABASE_URL, and a bench fills its database and leaves it "
            "so. Name another one, or none for one of its own; --really runs it all the same.\n"
        )
        raise SystemExit(REFUSED)
