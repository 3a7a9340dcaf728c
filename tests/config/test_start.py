"""What a start must not wait for, and what it says of a wrong setting."""

import os
import subprocess
import sys

import pytest

from config.env import ROOT


def test_start_of_the_web_server_loads_no_models_package():
    """It takes longer to load than everything else together; the first call of a model loads it."""
    code = (
        "import sys, config.asgi, config.urls, config.celery;"
        "print([name for name in ('openai', 'schemathesis', 'pytest') if name in sys.modules])"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=90,
    )  # fmt: skip

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "command",
    [["manage.py", "check"], ["-c", "import config.asgi"], ["-m", "celery", "-A", "config.celery", "report"]],
    ids=["command", "web server", "worker"],
)  # fmt: skip
def test_wrong_scope_of_a_memory_place_is_one_sentence(command: list[str]):
    environment = {**os.environ, "MEMORY_PLACES": "sessions=redis"}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"

    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=90,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.strip().startswith(
        "MEMORY_PLACES: 'sessions=redis': Unknown memory scope 'sessions'; use one of: "
    )
    assert len(done.stderr.strip().splitlines()) == 1
