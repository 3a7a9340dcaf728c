"""The tool ``calculator``: evaluates an arithmetic expression over its syntax tree, with bounded numbers."""

import ast
import math
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, DecimalException, localcontext
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.local_tool import LocalTool, ToolServices, build_error


MAX_LENGTH: Final = 1000
MAX_DEPTH: Final = 50
MAX_BITS: Final = 1024  # of any number on the way
MAX_FACTORIAL: Final = 170
MAX_ARGUMENTS: Final = 100
_SHOWN_DIGITS: Final = 20

Number = int | Decimal

_CONTEXT: Final = Context(prec=40, Emax=400, Emin=-400)
_REPLACEMENTS: Final = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**"})
_CONSTANTS: Final[Mapping[str, Number]] = {
    "pi": Decimal("3.141592653589793238462643383279502884197"),
    "e": Decimal("2.718281828459045235360287471352662497757"),
}


class ExpressionInvalid(Exception):
    """The expression can't be calculated."""


async def calculate(arguments: Mapping[str, Json], _services: ToolServices) -> ToolResult:
    try:
        value = evaluate_expression(arguments["expression"])
    except ExpressionInvalid as invalid:
        return build_error(str(invalid))
    number: Json = value if isinstance(value, int) else float(value)
    return ToolResult(_format_number(value), data=({"result": number},))


def evaluate_expression(expression: str) -> Number:
    """Return the value of an expression. Raises ExpressionInvalid, which says what is wrong with it."""
    if len(expression) > MAX_LENGTH:
        raise ExpressionInvalid(f"The expression is longer than {MAX_LENGTH} characters")
    tree = _parse(expression.translate(_REPLACEMENTS).strip())
    try:
        with localcontext(_CONTEXT):
            return _evaluate(tree, 0)
    except ZeroDivisionError:
        raise ExpressionInvalid("The expression divides by zero") from None
    except (DecimalException, OverflowError):
        raise ExpressionInvalid("A number is too large or is undefined") from None
    except ValueError:
        raise ExpressionInvalid("A function is not defined for its number") from None
    except TypeError:
        raise ExpressionInvalid("A function has the wrong number of arguments") from None


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        reason = f"at character {error.offset}: {error.msg}" if error.offset else error.msg
        raise ExpressionInvalid(f"The expression is invalid {reason}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionInvalid("The expression is invalid or nested too deeply") from None


def _evaluate(node: ast.expr, depth: int) -> Number:
    if depth > MAX_DEPTH:
        raise ExpressionInvalid(f"The expression is nested more than {MAX_DEPTH} levels deep")
    match node:
        case ast.Constant(value=bool()):
            raise ExpressionInvalid("Only numbers can be calculated")
        case ast.Constant(value=int() | float() as value):
            return _limit(value if isinstance(value, int) else Decimal(repr(value)))
        case ast.UnaryOp(op=operator, operand=operand) if type(operator) in _UNARY:
            return _UNARY[type(operator)](_evaluate(operand, depth + 1))
        case ast.BinOp(op=operator, left=left, right=right) if type(operator) in _BINARY:
            operands = _evaluate(left, depth + 1), _evaluate(right, depth + 1)
            return _limit(_BINARY[type(operator)](*operands))
        case ast.Name(id=name) if name.lower() in _CONSTANTS:
            return _CONSTANTS[name.lower()]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, arguments, depth)
        case _:
            raise ExpressionInvalid(_explain(node))


def _call(name: str, arguments: list[ast.expr], depth: int) -> Number:
    function = _FUNCTIONS.get(name.lower())
    if function is None:
        known = ", ".join(_FUNCTIONS)
        raise ExpressionInvalid(f"There is no function {name[:40]!r}; there are: {known}")
    if not 1 <= len(arguments) <= MAX_ARGUMENTS:
        raise ExpressionInvalid(f"{name} takes between 1 and {MAX_ARGUMENTS} numbers")
    return _limit(function(*(_evaluate(argument, depth + 1) for argument in arguments)))


def _limit(value: Number) -> Number:
    """Return the value, or raise if it is too large or not a number."""
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise OverflowError
        return value
    if not value.is_finite():
        raise OverflowError
    return value


def _divide(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int) and right and left % right == 0:
        return left // right
    if not right:
        raise ZeroDivisionError
    return Decimal(left) / Decimal(right)


def _floor_divide(left: Number, right: Number) -> Number:
    if not right:
        raise ZeroDivisionError
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    return math.floor(Decimal(left) / Decimal(right))


def _remainder(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    # Decimal's own remainder has the sign of the left number, unlike that of whole numbers.
    return left - right * _floor_divide(left, right)


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        # The size is known before anything is multiplied.
        if abs(base) > 1 and (base.bit_length() - 1) * exponent > MAX_BITS:
            raise OverflowError
        return int(base**exponent)  # a whole power of a whole number
    if not base and Decimal(exponent) < 0:
        raise ZeroDivisionError
    return Decimal(base) ** Decimal(exponent)


def _round(value: Number, digits: Number = 0) -> Number:
    if digits != int(digits) or not -100 <= digits <= 100:
        raise ExpressionInvalid("round takes a whole number of digits")
    rounded = round(Decimal(value), int(digits))
    return int(rounded) if digits <= 0 else rounded


def _factorial(value: Number) -> Number:
    if value != int(value) or not 0 <= value <= MAX_FACTORIAL:
        raise ExpressionInvalid(f"factorial takes a whole number up to {MAX_FACTORIAL}")
    return math.factorial(int(value))


def _logarithm(value: Number, base: Number | None = None) -> Number:
    if base is None:
        return Decimal(value).ln()
    return Decimal(value).ln() / Decimal(base).ln()


def _use_floats(function: Callable[..., float]) -> Callable[..., Number]:
    return lambda *values: Decimal(repr(function(*map(float, values))))


def _use_integers(function: Callable[..., int]) -> Callable[..., Number]:
    def run(*values: Number) -> Number:
        if any(value != int(value) for value in values):
            raise ExpressionInvalid(f"{function.__name__} takes whole numbers")
        return function(*map(int, values))

    return run


def _explain(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return f"There is no constant {node.id[:40]!r}; there are: {', '.join(_CONSTANTS)}"
    return f"An expression can't contain {type(node).__name__}; only numbers, + - * / // % ** and functions"


def _format_number(value: Number) -> str:
    if isinstance(value, int):
        return str(value)
    shown = Context(prec=_SHOWN_DIGITS).plus(value)
    plain = f"{shown:f}" if -10 < shown.adjusted() < 30 else str(shown)
    return plain.rstrip("0").rstrip(".") if "." in plain and "E" not in plain else plain


_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Number], Number]]] = {
    ast.UAdd: lambda value: value,
    ast.USub: lambda value: -value,
}
_BINARY: Final[Mapping[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: _divide,
    ast.FloorDiv: _floor_divide,
    ast.Mod: _remainder,
    ast.Pow: _power,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "abs": abs,
    "round": _round,
    "floor": lambda value: math.floor(value),
    "ceil": lambda value: math.ceil(value),
    "sqrt": lambda value: Decimal(value).sqrt(),
    "exp": lambda value: Decimal(value).exp(),
    "ln": _logarithm,
    "log": _logarithm,
    "log10": lambda value: Decimal(value).log10(),
    "log2": lambda value: _logarithm(value, 2),
    "sin": _use_floats(math.sin),
    "cos": _use_floats(math.cos),
    "tan": _use_floats(math.tan),
    "asin": _use_floats(math.asin),
    "acos": _use_floats(math.acos),
    "atan": _use_floats(math.atan),
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "sum": lambda *values: sum(values),
    "factorial": _factorial,
    "gcd": _use_integers(math.gcd),
    "lcm": _use_integers(math.lcm),
}

CALCULATOR: Final = LocalTool(
    ToolSpec(
        "calculator",
        gettext_noop(
            "Calculate an arithmetic expression exactly, such as (2 + 3) * 4 ** 2 or sqrt(2) / 3."
        ),
        {
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string",
                    "description": gettext_noop(
                        "Numbers, + - * / // % **, brackets, pi, e, and functions: abs, round, floor, ceil, sqrt, exp, ln, log, log10, log2, sin, cos, tan, asin, acos, atan, min, max, sum, factorial, gcd, lcm"
                    ),
                }
            },
            "required": ["expression"],
            "additionalProperties": False,
        },
    ),
    calculate,
    title=gettext_noop("Calculator"),
    is_untrusted=False,
)
