"""The tool ``json_query``: picks values out of JSON with a JMESPath expression, with a bounded amount of work."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from jmespath import exceptions, parser, visitor

from workflows.engine.language.document import Json
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.local_tool import (
    MAX_RESULT_CHARACTERS,
    LocalTool,
    ToolServices,
    build_error,
)


MAX_QUERY_LENGTH: Final = 1000
MAX_DATA_CHARACTERS: Final = 2_000_000
MAX_WORK: Final = 1_000_000  # values that are looked at


class QueryInvalid(Exception):
    """The query or its data can't be used."""


async def query_json(arguments: Mapping[str, Json], _services: ToolServices) -> ToolResult:
    try:
        data = read_data(arguments["data"])
        value = await asyncio.to_thread(search, arguments["query"], data)
        text = json.dumps(value, ensure_ascii=False)
    except (QueryInvalid, RecursionError) as invalid:
        return build_error(str(invalid) or "The data is nested too deeply")
    if len(text) > MAX_RESULT_CHARACTERS:
        return build_error(
            f"The result has {len(text):,} characters, which is more than {MAX_RESULT_CHARACTERS:,}; "
            "select less"
        )
    return ToolResult(value if isinstance(value, str) else text, data=({"result": value},))


def read_data(data: Json) -> Json:
    """Return the data, which may be JSON as text. Raises QueryInvalid."""
    if not isinstance(data, str):
        return data
    if len(data) > MAX_DATA_CHARACTERS:
        raise QueryInvalid(f"The data has more than {MAX_DATA_CHARACTERS:,} characters")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise QueryInvalid(f"The data is not JSON: {error}") from None


def search(query: str, data: Json) -> Json:
    """Return what the query selects. Raises QueryInvalid, also for a query that takes too much work."""
    if len(query) > MAX_QUERY_LENGTH:
        raise QueryInvalid(f"The query is longer than {MAX_QUERY_LENGTH} characters")
    try:
        parsed = parser.Parser().parse(query)
        return _BoundedInterpreter().visit(parsed.parsed, data)
    except exceptions.JMESPathError as error:
        raise QueryInvalid(f"The query is invalid: {error}") from None
    except RecursionError:
        raise QueryInvalid("The query or the data is nested too deeply") from None
    except (ValueError, TypeError, AttributeError, KeyError, ZeroDivisionError) as error:
        # The library raises plain errors for some wrong arguments of its functions.
        raise QueryInvalid(f"The query can't be answered: {error}") from None


class _BoundedInterpreter(visitor.TreeInterpreter):  # type: ignore[misc] # the library has no types
    """Counts the values that a query makes.

    Expressions such as ``[@,@]|[@,@]`` double their result with each part although they copy nothing, and a function
    such as ``to_string`` then writes all of it out.
    """

    def __init__(self) -> None:
        super().__init__()
        self._work = MAX_WORK

    def visit(self, node: Mapping[str, Any], *args: Any, **options: Any) -> Any:
        result = super().visit(node, *args, **options)
        self._spend(1)
        if node["type"] in _BUILDERS:
            self._measure(result)
        return result

    def _measure(self, result: Any) -> None:
        """Count the values in a result, which is stopped by the limit however often parts of it are shared."""
        waiting = [result]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                self._spend(1 + len(value) // 100)
            elif isinstance(value, list | dict):
                self._spend(1 + len(value))
                waiting.extend(value.values() if isinstance(value, dict) else value)

    def _spend(self, amount: int) -> None:
        self._work -= amount
        if self._work < 0:
            raise QueryInvalid("The query takes too much work; make it simpler")


# The parts of an expression that make new values.
_BUILDERS: Final = frozenset(
    {
        *("multi_select_list", "multi_select_dict", "function_expression", "flatten"),
        *("projection", "value_projection", "filter_projection"),
    }
)

JSON_QUERY: Final = LocalTool(
    ToolSpec(
        "json_query",
        gettext_noop(
            "Select values from JSON with a JMESPath expression, such as items[?price > `10`].name."
        ),
        {
            "type": "object",
            "properties": {
                "data": {"description": gettext_noop("The JSON, as a value or as text")},
                "query": {"type": "string", "description": gettext_noop("A JMESPath expression")},
            },
            "required": ["data", "query"],
            "additionalProperties": False,
        },
    ),
    query_json,
    title=gettext_noop("JSON query"),
    # What it selects is part of what it was given; the node follows whether that is untrusted.
    is_untrusted=False,
)
