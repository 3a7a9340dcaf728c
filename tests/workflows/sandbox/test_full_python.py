"""Complete Python: only in a jail, one program a process, and the strict walls hold even without the jail.

Every test runs in the real jail, where this machine has bubblewrap, and with a stand-in that only
starts the program: what is tested then is all that stands inside the jail.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workflows.sandbox.conftest import require_jail
from tests.workflows.sandbox.walls import take_turns
from workflows.engine.nodes import build_kinds
from workflows.sandbox import process
from workflows.sandbox.checking import CodeChecker
from workflows.sandbox.code import CodeLimits, CodeOutcome
from workflows.sandbox.escape_tests.corpus import ESCAPES, RESOURCES
from workflows.sandbox.escape_tests.runner import provide_target
from workflows.sandbox.full_python import FullPython, list_languages


LIMITS = CodeLimits(seconds=60, memory_bytes=216 * 1024 * 1024)
SHORT = replace(LIMITS, seconds=0.3)  # for what runs until it is ended
STAND_IN = '#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift; exec "$@"\n'


JAILS = ("bubblewrap", "stand-in")


@pytest.fixture(scope="module", params=JAILS)
def jail(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FullPython]:
    folder: Path = tmp_path_factory.mktemp("bin")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "stand-in":
            stand_in = folder / "bwrap"
            stand_in.write_text(STAND_IN)
            stand_in.chmod(0o755)
            patch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        require_jail()
        runner = FullPython()
        yield runner
        runner.close()
    process.get_jail.cache_clear()


def run(
    runner: FullPython, source: str, limits: CodeLimits = LIMITS, **inputs: object
) -> CodeOutcome:
    return asyncio.run(runner.run(source, inputs, limits))


def test_without_a_jail_it_is_not_offered_and_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    process.get_jail.cache_clear()
    try:
        outcome = run(FullPython(), "def main(): return {}")
        offered = list_languages()
    finally:
        process.get_jail.cache_clear()

    assert not outcome.ok
    assert "needs bubblewrap" in outcome.error
    assert offered == []


def test_python_is_complete(jail: FullPython) -> None:
    source = (
        "import enum, statistics, uuid\n"
        "class Colour(enum.Enum):\n    RED = 1\n"
        "def numbers():\n    yield from (1, 2, 3)\n"
        "def main(a):\n    print('hi')\n    return {'m': statistics.mean(numbers()), 'a': a, 'c': Colour.RED.name}"
    )

    outcome = run(jail, source, a=[None])

    assert outcome.value == {"m": 2, "a": [None], "c": "RED"}
    assert outcome.stdout == "hi\n"
    assert ("python-full", "Python 3 (full)") in list_languages()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def main():\n    return 1 / 0", "Line 2: ZeroDivisionError: division by zero"),
        ("def main(:", "Line 1: Syntax error: "),
        ("x = 1", "The code must define a function main"),
        ("def main(): return {1}", "The code's result is not JSON"),
        ("def main(): exit(3)", "Line 1: "),
    ],
)
def test_failure_has_its_line(jail: FullPython, source: str, error: str) -> None:
    assert run(jail, source).error.startswith(error)


@pytest.mark.parametrize("name", ESCAPES)
def test_escape_reaches_nothing(jail: FullPython, name: str) -> None:
    with provide_target() as place:
        outcome = run(jail, place.fill_in(ESCAPES[name]))

        assert place.canary not in f"{outcome.value}{outcome.stdout}{outcome.error}"
        assert outcome.value not in ({"r": "killed"}, {"r": "written"})
        assert not place.written_file.exists()
        assert not place.was_called()


LONG = (
    *("endless loop", "loop that swallows", "small objects", "recursion", "bigint chain", "forks"),
    *("threads", "disk", "output", "large result", "regular expression"),
)


@pytest.mark.parametrize(("jail", "name"), take_turns(JAILS, LONG), indirect=["jail"])
def test_attack_on_resources_ends_in_time(
    jail: FullPython, name: str, time_limits: list[float], grace_seconds: float
) -> None:
    with provide_target() as place:
        run(jail, place.fill_in(RESOURCES[name]), limits=SHORT)

        assert set(time_limits) == {SHORT.seconds + grace_seconds}
        assert not place.written_file.exists()
    assert run(jail, "def main(): return {'alive': 1}").value == {"alive": 1}


def test_checking_takes_what_only_complete_python_has(jail: FullPython) -> None:
    checker = CodeChecker()
    try:
        fine = "import numpy\nclass A(Exception): pass\ndef main():\n    yield 1"
        assert checker.check(fine, "python-full") == []
        assert checker.check("def main(:", "python-full")[0].message.startswith("Syntax error")
    finally:
        checker.close()


def test_form_offers_the_language(jail: FullPython) -> None:
    code = build_kinds(languages=list_languages())["code"]
    (field,) = [field for field in code.fields if field.name == "code_language"]

    # JavaScript comes after them where its engine can be run.
    assert [value for value, _label in field.choices][:2] == ["python3", "python-full"]


def test_one_program_leaves_nothing_for_the_next(jail: FullPython) -> None:
    run(jail, "import json\njson.left = 1\ndef main(): return {}")

    assert run(jail, "import json\ndef main(): return hasattr(json, 'left')").value is False


def test_program_that_writes_its_own_answer_is_believed_no_more_than_any_other(
    jail: FullPython,
) -> None:
    source = "import os\ndef main():\n    os.write(1, b'\\xff\\xff\\xff\\xff')\n    return {'r': 1}"

    assert not run(jail, source).ok
    assert run(jail, "def main(): return {'r': 2}").value == {"r": 2}
