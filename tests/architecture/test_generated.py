"""What is generated is not stale."""

from config.env import ROOT
from config.management.commands.export_env import render_example
from workflows.management.reference import render_run_states


def test_env_example_says_what_env_says():
    assert (ROOT / ".env.example").read_text() == render_example()


def test_operators_find_every_command():
    """Left out are those of developers, and those that other pages explain."""
    elsewhere = {"__init__", "export_docs", "export_env", "messages", "migrate", "up", "down"}
    page = (ROOT / "docs" / "operate" / "commands.md").read_text()

    files = ROOT.glob("*/management/commands/*.py")
    missing = {path.stem for path in files if f"`{path.stem}" not in page} - elsewhere

    assert missing == set()


def test_run_states_are_those_of_the_code():
    assert (ROOT / "docs/reference/run-states.md").read_text() == render_run_states()


def test_parked_run_is_documented_as_one_that_can_go_on():
    assert "| failed | queued |" in render_run_states()


def test_requirements_name_no_host():
    for name in ("requirements.txt", "requirements-dev.txt"):
        assert "://" not in (ROOT / name).read_text()
        assert "--index" not in (ROOT / name).read_text()
