"""What is generated is not stale."""

from config.env import ROOT
from config.management.commands.export_env import render_example


def test_env_example_says_what_env_says():
    assert (ROOT / ".env.example").read_text() == render_example()


def test_requirements_name_no_host():
    for name in ("requirements.txt", "requirements-dev.txt"):
        assert "://" not in (ROOT / name).read_text()
        assert "--index" not in (ROOT / name).read_text()
