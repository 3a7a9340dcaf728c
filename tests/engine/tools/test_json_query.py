"""What a query selects, and that no query takes more than a bounded amount of work."""

import json
from typing import Any

import pytest

from tests.engine.tools.conftest import CallTool
from tests.support.cases import for_each
from tests.support.process_use import measure_growth
from tests.support.steps import count_steps
from workflows.engine.tools import json_query


ORDERS = {"orders": [{"id": 1, "sum": 5}, {"id": 2, "sum": 20}], "name": "Ada"}


@for_each(
    "query, value",
    [
        ("name", "Ada"),
        ("orders[?sum > `10`].id", [2]),
        ("sum(orders[*].sum)", 25),
        ("orders[0]", {"id": 1, "sum": 5}),
        ("sort_by(orders, &sum)[-1].id", 2),
        ("missing.path", None),
    ],
)
@for_each("data", [ORDERS, json.dumps(ORDERS)], ids=["value", "text"])
async def test_query_selects(call: CallTool, query: str, value: Any, data: Any) -> None:
    result = await call("json_query", data=data, query=query)

    assert result.data == ({"result": value},)
    assert result.text == (value if isinstance(value, str) else json.dumps(value))


@for_each(
    "data, query, reason",
    [
        ("{", "a", "The data is not JSON"),
        ("[" * 100_000, "a", "The data is not JSON"),
        (ORDERS, "orders[", "The query is invalid"),
        (ORDERS, "nothing(@)", "Unknown function"),
        (ORDERS, "sum(name)", "invalid type"),
        (ORDERS, "orders[::0]", "step"),
        (ORDERS, "a" * 1001, "longer than 1000 characters"),
        ("[" + "1," * 1_500_000 + "1]", "@", "more than 2,000,000 characters"),
        (["x" * 60_000, "y" * 60_000], "@", "select less"),
    ],
)
async def test_wrong_query_or_data_is_a_result_that_says_why(
    call: CallTool, data: Any, query: str, reason: str
) -> None:
    result = await call("json_query", data=data, query=query)

    assert result.is_error
    assert reason in result.text


@pytest.mark.parametrize(
    "query",
    [
        "[@,@]" + "|[@,@]" * 150,
        "{a:@,b:@}" + "|{a:@,b:@}" * 80,
        "[@,@]|" * 100 + "to_string(@)",
        "[@,@]|" * 60 + "@==[@,@]",
        "[@,@]|" * 40 + "[][][][][][][][][][]",
        "join('',[to_string(@),to_string(@)])" + "|join('',[@,@])" * 40,
        "map(&[@,@],@)" + "|map(&[@,@],@)" * 60,
        "(" * 900,
        "[" * 900,
        "!" * 900 + "@",
    ],
)
async def test_hostile_query_ends_soon(
    call: CallTool, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert json_query.MAX_WORK <= 1_000_000
    monkeypatch.setattr(json_query, "MAX_WORK", 50_000)  # the work grows with it

    with measure_growth() as growth, count_steps(10 * json_query.MAX_WORK):
        result = await call("json_query", data=[3, 1, 2], query=query)

    assert result.is_error
    assert growth.kilobytes < 30_000
