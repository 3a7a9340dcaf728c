"""What the calculator answers, and that no expression holds it up."""

import pytest

from tests.engine.tools.conftest import CallTool
from tests.support.cases import for_each
from tests.support.steps import count_steps
from workflows.engine.tools import calculator


@for_each(
    "expression, text",
    [
        ("1 + 2 * 3", "7"),
        ("0.1 + 0.2", "0.3"),
        ("100 * 1.10", "110"),
        ("1 / 3", "0.33333333333333333333"),
        ("7 / 7", "1"),
        ("2^10", "1024"),
        ("2 ** -3", "0.125"),
        ("6 × 7 ÷ 2 − 1", "20"),
        ("-7 % 3", "2"),
        ("-7.5 % 3", "1.5"),
        ("-7 // 2", "-4"),
        ("sqrt(2)", "1.4142135623730950488"),
        ("log(8, 2)", "3"),
        ("round(2.567, 2)", "2.57"),
        ("round(2567, -2)", "2600"),
        ("max(1, 2.5, -3)", "2.5"),
        ("gcd(12, 18)", "6"),
        ("factorial(5)", "120"),
        ("floor(PI)", "3"),
        ("12345678901234567890 * 98765432109876543210", "1219326311370217952237463801111263526900"),
    ],
)
async def test_expression_is_calculated(call: CallTool, expression: str, text: str) -> None:
    result = await call("calculator", expression=expression)

    assert (result.text, result.is_error) == (text, False)


async def test_result_is_data_too(call: CallTool) -> None:
    assert (await call("calculator", expression="1 / 4")).data == ({"result": 0.25},)


@for_each(
    "expression, reason",
    [
        ("1 / 0", "divides by zero"),
        ("0 ** -1", "divides by zero"),
        ("sqrt(-1)", "too large or is undefined"),
        ("acos(2)", "not defined for its number"),
        ("round(1, 2, 3)", "wrong number of arguments"),
        ("round(1, 1e9)", "whole number of digits"),
        ("gcd(1.5, 2)", "gcd takes whole numbers"),
        ("factorial(1.5)", "whole number up to 170"),
        ("sin()", "between 1 and 100 numbers"),
        ("2 +", "The expression is invalid"),
        ("'a' * 10", "can't contain Constant"),
        ("True", "Only numbers"),
        ("x + 1", "There is no constant 'x'"),
        ("__import__('os').system('true')", "can't contain"),
        ("open('/etc/passwd')", "There is no function 'open'"),
        ("(1).__class__", "can't contain Attribute"),
        ("[1 for _ in (1,)]", "can't contain ListComp"),
        ("max(*(1, 2))", "can't contain Starred"),
        ("round(1, ndigits=2)", "can't contain Call"),
        ("lambda: 1", "can't contain Lambda"),
        ("1\x002", "invalid"),
    ],
)
async def test_wrong_expression_is_a_result_that_says_why(
    call: CallTool, expression: str, reason: str
) -> None:
    result = await call("calculator", expression=expression)

    assert result.is_error
    assert reason in result.text


@pytest.fixture
def bits_of_numbers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of each whole number on the way to a result."""
    sizes: list[int] = []
    limit = calculator._limit

    def watched(value: calculator.Number) -> calculator.Number:
        if isinstance(value, int):
            sizes.append(value.bit_length())
        return limit(value)

    monkeypatch.setattr(calculator, "_limit", watched)
    return sizes


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "9**9**9**9",
        "(2**1000)**1000",
        "10**400",
        "1e400",
        "1.5**1e9",
        "2**0.5**-1e9",
        "factorial(factorial(20))",
        "factorial(170) ** 2",
        "exp(10**300)",
        "lcm(" + ",".join(str(10**12 + n) for n in range(60)) + ")",
        "9" * 999,
        "(" * 190 + "1" + ")" * 190 + "**9" * 100,
        "-" * 990 + "1",
        "1" + "+1" * 499,
        "(" * 500,
        "1" * 100_000,
        "sqrt(" * 60 + "2" + ")" * 60,
    ],
)
async def test_hostile_expression_ends_at_once(
    call: CallTool, expression: str, bits_of_numbers: list[int]
) -> None:
    with count_steps(20_000):
        result = await call("calculator", expression=expression)

    assert result.is_error
    assert max(bits_of_numbers, default=0) < 10 * calculator.MAX_BITS


def test_description_names_every_function():
    description = calculator.CALCULATOR.spec.parameters["properties"]["expression"]["description"]

    assert description.endswith("functions: " + ", ".join(calculator._FUNCTIONS))
