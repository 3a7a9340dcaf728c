"""What a start must not wait for."""

import os
import subprocess
import sys

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
