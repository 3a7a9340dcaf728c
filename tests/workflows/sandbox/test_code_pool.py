"""Programs that mean well: what they get, what they give, what their author is told."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.errors import CodeFailed
from workflows.engine.ports import CodeRequest, CodeResult
from workflows.sandbox.code import CodeLimits, CodeOutcome
from workflows.sandbox.code_pool import CodePool
from workflows.sandbox.monty import MontyRunner, _parse_reply
from workflows.sandbox.pool import RunnerPool


@pytest.fixture(scope="module")
def code_pool() -> Iterator[CodePool]:
    pool = CodePool({"python3": MontyRunner(RunnerPool(1, program="code_child"))})
    yield pool
    pool.close()


def run(code_pool: CodePool, source: str, calling: Any = "keywords", **inputs: Any) -> CodeResult:
    return asyncio.run(code_pool.run(CodeRequest("python3", source, inputs, 2, calling)))


def told(code_pool: CodePool, source: str, **inputs: Any) -> str:
    with pytest.raises(CodeFailed) as failed:
        run(code_pool, source, **inputs)
    return failed.value.message


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, 2**53, "", "é你🌍", "a\x00b", [], {}, [[1], {"a": None}], {"": [True]}],
)
def test_value_survives_the_trip(code_pool: CodePool, value: Any) -> None:
    assert run(code_pool, "def main(v): return v", v=value).value == value


def test_inputs_are_arguments_by_name(code_pool: CodePool) -> None:
    assert run(code_pool, "def main(b, a): return [a, b]", a=1, b=2).value == [1, 2]


def test_inputs_are_one_object_where_the_document_says_so(code_pool: CodePool) -> None:
    assert run(code_pool, "def main(inputs): return inputs", "inputs", a=1, b=2).value == {
        "a": 1,
        "b": 2,
    }


def test_variable_may_be_called_like_a_module_or_a_helper(code_pool: CodePool) -> None:
    source = "import json\ndef twice(x): return x * 2\ndef main(json_, twice_): return twice(json_)"

    assert run(code_pool, source, json_=2, twice_=5).value == 4


def test_what_is_printed_comes_along(code_pool: CodePool) -> None:
    result = run(code_pool, "def main():\n    print('one', 2)\n    return 3")

    assert (result.value, result.stdout) == (3, "one 2\n")


def test_printing_more_than_fits_is_cut_and_the_program_goes_on(code_pool: CodePool) -> None:
    result = run(code_pool, "def main():\n    for _ in range(400): print('x' * 1000)\n    return 1")

    assert result.value == 1
    assert 200_000 < len(result.stdout) <= 256 * 1024


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def main():\n    x = 1\n    return x / 0", "Line 3: ZeroDivisionError: division by zero"),
        ("def f():\n    return {}['a']\ndef main():\n    return f()", "Line 2: KeyError: 'a'"),
        ("x = 1\ndef main(:\n    pass", "Line 2: Syntax error: "),
        ("class A(B):\n    pass", "Line 1: This Python has no class inheritance"),
        ("def main():\n    yield 1", "Line 2: This Python has no yield expressions"),
        ("import numpy\ndef main(): return 1", "Line 1: Module 'numpy' is not available; available modules:"),
        ("x = 1", "The code must define a function main"),
        ("def main(a): return a", "missing 1 required positional argument: 'a'"),
        ("def main(): return {1, 2}", "The code's result is not JSON: "),
        ("def main(): return float('nan')", "The code's result is not JSON: "),
        ("def main(): return 'x' * 1_500_000", "The code's result is larger than 1 MB"),
        ("def main():\n    while True: pass", "The code took longer than 2 seconds"),
        ("def main(): return len('a' * 10 ** 12)", "The code used more than 256 MB of memory"),
        ("def main():\n    print('so far')\n    return 1 / 0", "Printed before: so far"),
    ],
)  # fmt: skip
def test_failure_is_a_sentence_with_its_line(
    code_pool: CodePool, source: str, message: str
) -> None:
    assert message in told(code_pool, source)


def test_language_without_a_back_end_is_refused(code_pool: CodePool) -> None:
    with pytest.raises(CodeFailed, match="javascript code is not supported"):
        asyncio.run(code_pool.run(CodeRequest("javascript", "function main() {}", {})))


def test_source_and_inputs_beyond_the_limits_are_refused(code_pool: CodePool) -> None:
    assert "larger than 256 kB" in told(code_pool, "x = 1\n" * 60_000)
    assert "larger than 8 MB" in told(code_pool, "def main(v): return 1", v="x" * 9_000_000)


@for_each(
    "reply",
    [
        {},
        {"ok": 1, "value": "1"},
        {"ok": True, "value": {"a": 1}},
        {"ok": True, "value": "not json"},
        {"ok": True, "value": "[" * 100_000},
        {"ok": True, "value": "NaN"},
        {"ok": True, "value": '"' + "x" * 1_200_000 + '"'},
        {"ok": False, "kind": ["a"], "message": {"b": 1}, "line": "9", "stdout": 5},
        {"ok": False, "kind": "raised", "message": "{0.__class__}", "type": "{limits}"},
    ],
)
def test_reply_of_a_liar_is_a_failure_with_a_sentence(reply: dict[str, Any]) -> None:
    outcome = _parse_reply(reply, CodeLimits())

    assert isinstance(outcome, CodeOutcome)
    assert not outcome.ok
    assert outcome.error


def test_programs_run_at_once_without_hearing_of_each_other(code_pool: CodePool) -> None:
    async def all_of_them() -> list[Any]:
        source = "def main(n):\n    return sum(range(n))"
        requests = [CodeRequest("python3", source, {"n": n}, 5) for n in range(40)]
        return [result.value for result in await asyncio.gather(*map(code_pool.run, requests))]

    assert asyncio.run(all_of_them()) == [sum(range(n)) for n in range(40)]
