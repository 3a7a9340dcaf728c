"""JavaScript in runners of its own: what programs get and give, what their authors are told, and hostile ones."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from workflows.sandbox.checking import CodeChecker
from workflows.sandbox.code import CodeLimits, CodeOutcome
from workflows.sandbox.escape_tests.javascript import ESCAPES, RESOURCES
from workflows.sandbox.escape_tests.runner import JAVASCRIPT, LIMITS, list_successful_attacks
from workflows.sandbox.javascript.runner import JavaScript, is_available
from workflows.sandbox.pool import RunnerPool


SHORT = replace(LIMITS, seconds=0.3)  # for what runs until it is ended

pytestmark = pytest.mark.skipif(not is_available(), reason="this machine has no bubblewrap")


@pytest.fixture(scope="module")
def runner() -> Iterator[JavaScript]:
    javascript = JavaScript(RunnerPool(1, program="javascript.child"))
    yield javascript
    javascript.close()


def run(runner: JavaScript, source: str, **inputs: Any) -> CodeOutcome:
    return asyncio.run(runner.run(source, inputs, CodeLimits(seconds=60)))


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, 2**53, "", "é你🌍", "a\x00b", [], {}, [[1], {"a": None}], {"": [True]}],
)
def test_value_survives_the_trip(runner: JavaScript, value: Any) -> None:
    assert run(runner, "function main({v}) { return {v}; }", v=value).value == {"v": value}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("function main(inputs) { return {sum: inputs.a + inputs.b}; }", {"sum": 3}),
        ("const main = ({a, b}) => ({sum: a + b});", {"sum": 3}),
        ("async function main({a}) { return {a: await Promise.resolve(a)}; }", {"a": 1}),
        ("function main() { return {u: undefined, d: new Date(0), n: NaN}; }",
         {"d": "1970-01-01T00:00:00.000Z", "n": None}),
        ("function main() {}", None),
    ],
)  # fmt: skip
def test_main_gets_its_inputs_as_one_object(runner: JavaScript, source: str, value: Any) -> None:
    assert run(runner, source, a=1, b=2).value == value


def test_printed_text_is_kept_up_to_its_limit(runner: JavaScript) -> None:
    source = "function main() { console.log('a', 1, {b: [2]}); console.error('c'); return {}; }"

    assert run(runner, source).stdout == 'a 1 {"b":[2]}\nc\n'


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("function main() {\n  throw new TypeError('no');\n}", "Line 2: TypeError: no"),
        ("function main() {\n  return x.y;\n}", "Line 2: ReferenceError: x is not defined"),
        ("let other = 1;", "The code must define a function main"),
        ("async function main() { throw new Error('later'); }", "Line 1: Error: later"),
        ("function main() { return Symbol('a'); }", "The code's result is not JSON"),
    ],
)
def test_author_is_told_what_failed_and_where(runner: JavaScript, source: str, error: str) -> None:
    assert run(runner, source).error.startswith(error)


def test_programs_share_nothing(runner: JavaScript) -> None:
    run(runner, "globalThis.kept = 1; Array.prototype.kept = 2; function main() { return {}; }")

    outcome = run(runner, "function main() { return {a: typeof kept, b: [].kept ?? null}; }")

    assert outcome.value == {"a": "undefined", "b": None}


def test_editor_is_told_of_syntax_errors_and_a_missing_main() -> None:
    checker = CodeChecker()
    try:
        source = "function main() {\n  return {;\n}"
        assert [problem.line for problem in checker.check(source, "javascript")] == [2]
        assert checker.check("const main = () => ({});", "javascript") == []
        assert len(checker.check("let a = 1;", "javascript")) == 1
        assert checker.check("while (true) {} function main() {}", "javascript") == []
    finally:
        checker.close()


@pytest.mark.parametrize("name", RESOURCES)
def test_attack_on_resources_ends_in_time(
    runner: JavaScript, name: str, time_limits: list[float], grace_seconds: float
) -> None:
    outcome = asyncio.run(runner.run(RESOURCES[name], {}, SHORT))

    assert len(str(outcome.value)) < 10_000
    assert set(time_limits) == {SHORT.seconds + grace_seconds}


def test_nothing_of_the_host_is_reached(runner: JavaScript) -> None:
    assert len(ESCAPES) > 15

    assert asyncio.run(list_successful_attacks(runner, attacks_of=JAVASCRIPT)) == []
