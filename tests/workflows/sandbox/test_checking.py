"""Checking code while it is written: the runner's own parser, and never a line executed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workflows.sandbox.checking import CodeChecker, CodeProblem


@pytest.fixture(scope="module")
def checker() -> Iterator[CodeChecker]:
    made = CodeChecker()
    yield made
    made.close()


def places(problems: list[CodeProblem]) -> list[tuple[int, int]]:
    return [(problem.line, problem.column) for problem in problems]


@pytest.mark.parametrize(
    "source",
    [
        "def main():\n    return {}",
        "import json, re\nfrom datetime import date\ndef main(a: str = 'x') -> dict:\n    return {}",
        "",
        "main = lambda: {}",
        "def main():\n    return '''\nimport requests_in_text'''",
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None\ndef main():\n    return {}",
    ],
)
def test_good_code_has_no_problem(checker: CodeChecker, source: str) -> None:
    assert checker.check(source) == []


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("x = 1\ndef main(:\n    pass", (2, 10), "Syntax error: "),
        ("def main():\n    x = 1\n      y = 2", (3, 1), "Syntax error: "),
        ("def main():\n    return {\n", (3, 1), "Syntax error: "),
        ("class A(B):\n    pass\ndef main(): pass", (1, 1), "This Python has no class inheritance"),
        ("def main():\n    del x", (2, 5), "This Python has no 'del' statement"),
        ("def main():\n    pass\nimport numpy as np", (3, 8), "Module 'numpy' is not available"),
        ("x = 1", (1, 1), "The code must define a function main"),
        ("async def main():\n    return {}", (1, 1), "main must be a plain function"),
    ],
)
def test_problem_has_its_place_and_a_sentence(
    checker: CodeChecker, source: str, place: tuple[int, int], message: str
) -> None:
    (problem,) = checker.check(source)

    assert (problem.line, problem.column) == place, problem
    assert problem.message.startswith(message)


CANARIES = {
    "module": "print('{canary}')\nraise ValueError('{canary}')\ndef main(): pass",
    "decorator": "@print('{canary}')\ndef main(): pass",
    "default": "def main(a=print('{canary}')): pass",
    "annotation": "def main(a: print('{canary}')): pass",
    "class body": "class A:\n    x = 1 / 0\ndef main(): pass",
    "f-string": "x = f'{{1 / 0}}'\ndef main(): pass",
    "loop": "while True: pass\ndef main(): pass",
}


@pytest.mark.parametrize("name", CANARIES)
def test_checking_never_executes(checker: CodeChecker, name: str) -> None:
    """A line that ran would raise, print or hang, and then be a problem."""
    assert checker.check(CANARIES[name].replace("{canary}", "sang")) == []


@pytest.mark.parametrize(
    "source", ["(" * 100_000, "x = " + "-" * 200_000 + "1", "x" + ".a" * 100_000, "\x00", "\ud800", "if " * 50_000]
)  # fmt: skip
def test_source_that_would_harm_a_parser_is_a_problem_and_the_next_is_read(
    checker: CodeChecker, source: str
) -> None:
    assert checker.check(source)
    assert checker.check("def main(): return {}") == []


def test_other_languages_are_refused_in_words(checker: CodeChecker) -> None:
    (problem,) = checker.check("function main() {}", "ruby")

    assert problem.message == "ruby code is not supported, only Python"


def test_nothing_of_the_checker_runs_in_this_process() -> None:
    source = Path("workflows/sandbox/checking.py").read_text()

    assert "import ast" not in source
    assert "compile(" not in source.replace("re.compile(", "")
