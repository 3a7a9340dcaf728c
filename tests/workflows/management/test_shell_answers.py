"""``run_workflow`` with a workflow that asks: answers from the option, and from the person at the terminal."""

import json
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.durability.test_waits import SIMPLE
from workflows.management import answers
from workflows.management.commands import run_workflow


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "asks.json"
    path.write_text(json.dumps(SIMPLE))
    return str(path)


def run(document: str, *more: str) -> Any:
    out = StringIO()
    with suppress(SystemExit):
        call_command("run_workflow", document, "--json", *more, stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize(
    ("given", "outputs"),
    [
        ({"values": {"name": "Mia"}, "action": "send"}, ("Mia", "send")),
        ([{"action": "skip"}], ("", "skip")),
        ("skip", ("", "skip")),
    ],
)
def test_answer_of_the_option_continues_the_run(
    document: str, given: Any, outputs: tuple[str, str]
) -> None:
    report = run(document, "--answers", json.dumps({"ask": given}))

    assert (report["status"], report["outputs"]["name"], report["outputs"]["way"]) == (
        "succeeded",
        *outputs,
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "waits for an answer at ask: give it with --answers"),
        ({"ask": {"action": "no"}}, "The answer to ask doesn't fit: action must be one of"),
        ({"ask": {"name": "Mia"}}, "The answer to ask has other keys"),
    ],
)
def test_missing_or_wrong_answer_is_an_error_that_names_the_node(
    document: str, given: Any, words: str
) -> None:
    assert words in run(document, "--answers", json.dumps(given))["error"]


def test_person_at_the_terminal_is_asked_until_the_answer_fits(
    document: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = StringIO()
    typed: Iterator[str] = iter(["Mia", "9", "Mia", "1"])
    monkeypatch.setattr("builtins.input", lambda _prompt="": next(typed))
    monkeypatch.setattr(run_workflow, "open_terminal", lambda: screen)

    report = run(document)

    assert (report["outputs"]["name"], report["outputs"]["way"]) == ("Mia", "send")
    assert "Your name?" in screen.getvalue()
    assert screen.getvalue().count("2) Skip") == 2


def test_no_terminal_is_opened_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())

    assert answers.open_terminal() is None
