"""Rows for code, HTTP and list nodes; ``tables`` joins them to the rest."""

from collections.abc import Mapping
from typing import Any

from tests.spec.nodes.rows import Row
from tests.support.documents import document, end, node, start
from workflows.engine.testing.backends import Request


def _code(
    name: str,
    source: str,
    types: Mapping[str, Any],
    expected: Mapping[str, Any] | None,
    *,
    inputs: Mapping[str, Any] | None = None,
    **data: Any,
) -> Row:
    """``expected`` None: the node fails."""
    inputs = dict(inputs or {})
    declared = {key: kind if isinstance(kind, dict) else {"type": kind, "children": None}
                for key, kind in types.items()}  # fmt: skip
    variables = [{"variable": key, "value_selector": ["start", key]} for key in inputs]
    written = {"code_language": "python3", "code": source, "variables": variables,
               "outputs": declared, **data}  # fmt: skip
    code = node("c", "code", **written)
    ends = end("end", **{key: ["c", key] for key in expected or types})
    made = document([start(*inputs), code, ends], ["start -> c", "c -> end"])
    request = Request(made, inputs=inputs, checked=True)
    if expected is None:
        return Row(name, request, status="failed")
    return Row(name, request, expected)


def _returns(value: str, kind: str, expected: Any) -> Row:
    source = f"def main():\n    return {{'r': {value}}}"
    made = None if expected is _FAILS else {"r": expected}
    return _code(f"code gives {value[:40]} as {kind}", source, {"r": kind}, made)


_FAILS = object()
_DEEP = {"a": {"b": {"c": {"d": 1}}}}

CODE = [
    _code("code gets inputs by name, null included", "def main(a, b):\n    return {'r': [b, a]}",
          {"r": "array[number]"}, {"r": [None, 1]}, inputs={"a": 1, "b": None}),
    _returns("'a\\x00b'", "string", "ab"),
    _returns("None", "array[object]", None),
    _returns("True", "number", 1),
    _returns("[True, 2.5, None]", "array[number]", [1, 2.5, None]),
    _returns("1", "boolean", _FAILS),
    _returns("'1'", "number", _FAILS),
    _returns("1", "string", _FAILS),
    _returns("[1]", "object", _FAILS),
    _returns("{}", "array[string]", _FAILS),
    _returns("['a', 1]", "array[string]", _FAILS),
    _returns("(1, 2)", "array[number]", [1, 2]),
    _returns("'x' * 400000", "string", "x" * 400_000),
    _returns("'x' * 400001", "string", _FAILS),
    _returns("2 ** 63 - 1", "number", 2**63 - 1),
    _returns("-2 ** 63 + 1", "number", -(2**63) + 1),
    _returns("2 ** 63", "number", _FAILS),
    _returns("1e-20", "number", 1e-20),
    _returns("1e-21", "number", _FAILS),
    _returns("['x'] * 30", "array[string]", ["x"] * 30),
    _returns("['x'] * 31", "array[string]", _FAILS),
    _returns("[{}] * 31", "array[object]", _FAILS),
    _returns("[1] * 1000", "array[number]", [1] * 1000),
    _returns("[1] * 1001", "array[number]", _FAILS),
    _returns(repr(_DEEP), "object", _DEEP),
    _returns(repr({"z": _DEEP}), "object", _FAILS),
    _returns("{'a': 'x\\x00', 'b': [1, 'x', None]}", "object", {"a": "x", "b": [1, "x", None]}),
    _code("code misses an output", "def main():\n    return {}", {"r": "string"}, None),
    _code("code gives more than is declared", "def main():\n    return {'r': 'a', 's': 1}",
          {"r": "string"}, None),
    _code("code gives no object", "def main():\n    return 'a'", {"r": "string"}, None),
    _code("code whose object has children", "def main():\n    return {'o': {'a': True}}",
          {"o": {"type": "object", "children": {"a": {"type": "number", "children": None}}}},
          {"o": {"a": 1}}),
    _code("code whose object lacks a child", "def main():\n    return {'o': {}}",
          {"o": {"type": "object", "children": {"a": {"type": "number", "children": None}}}}, None),
    _code("code called with one object keeps what isn't declared",
          "def main(inputs):\n    return {'r': inputs['a'], 's': [1]}", {"r": "string"},
          {"r": "x", "s": [1]}, inputs={"a": "x"}, calling="inputs"),
    _code("code that raises", "def main():\n    return 1 / 0", {"r": "string"}, None),
    _code("code in a language that has no runner", "function main() {}", {"r": "string"}, None,
          code_language="ruby"),
    _code("code that never ends", "def main():\n    while True: pass", {"r": "string"}, None,
          timeout_secs=0.5),
]  # fmt: skip


def _http(name: str, replies: list[Any], expected: Mapping[str, Any] | None, **data: Any) -> Row:
    request = node("h", "http-request", **{"method": "get", "url": "http://h.test/", **data})
    ends = end("end", **{key: ["h", key] for key in expected or {"body": 1}})
    made = document([start("q"), request, ends], ["start -> h", "h -> end"])
    asked = Request(made, inputs={"q": "v"}, mocks={"type:http-request": {"http": replies}})
    if expected is None:
        return Row(name, asked, status="failed")
    recovered = len(replies) > 1 or "error_strategy" in data
    return Row(name, asked, expected, "partial-succeeded" if recovered else "succeeded")


_JSON = {"content-type": "application/json", "x-a": "1"}
_RETRY = {"retry_enabled": True, "max_retries": 1, "retry_interval": 0}
HTTP = [
    _http("request takes text", [{"status": 201, "headers": _JSON, "body": "{}"}],
          {"status_code": 201, "body": "{}", "headers": _JSON}),
    _http("request takes an error status", [{"status": 500, "body": "e"}],
          {"status_code": 500, "body": "e"}),
    _http("request fails on an error status", [{"status": 500}], None, fail_on_error_status=True),
    _http("request tries again", [{"status": 500}, {"status": 200, "body": "k"}], {"body": "k"},
          retry_config=_RETRY),
    _http("request gives up", [{"status": 500}, {"status": 502}], None, retry_config=_RETRY),
    _http("request without an answer", [{"network_error": "no route"}], None),
    _http("request whose failure has a default", [{"network_error": "no route"}],
          {"body": "instead"}, error_strategy="default-value",
          default_value=[{"key": "body", "type": "string", "value": "instead"}]),
    _http("request to no address", [{"status": 200}], None, url="{{#start.nothing#}}"),
    _http("answer that is too large", [{"status": 200, "body_repeat": ["a", 2_000_000]}], None),
]  # fmt: skip


def _list(name: str, items: Any, expected: Any, **data: Any) -> Row:
    lists = node("l", "list-operator", variable=["start", "items"], **data)
    ends = end("end", r=["l", "result"], f=["l", "first_record"], l=["l", "last_record"])
    made = document([start("items"), lists, ends], ["start -> l", "l -> end"])
    request = Request(made, inputs={"items": items}, checked=True)
    if expected is _FAILS:
        return Row(name, request, status="failed")
    first, last = (expected[0], expected[-1]) if expected else (None, None)
    return Row(name, request, {"r": expected, "f": first, "l": last})


def _filter(operator: str, value: Any, key: str = "") -> dict[str, Any]:
    condition = {"key": key, "comparison_operator": operator, "value": value}
    return {"enabled": True, "conditions": [condition]}


_ON = {"enabled": True}
_FILES = [
    {"transfer_method": "remote_url", "type": "document", "name": "b.pdf", "extension": ".pdf", "size": 9},
    {"transfer_method": "remote_url", "type": "image", "name": "a.png", "extension": "png", "size": 20},
]  # fmt: skip
_WORDS = ["pear", "apple", "fig"]
LISTS = [
    _list("list as it is", _WORDS, _WORDS),
    _list("list that is empty", [], [], extract_by={**_ON, "serial": "9"}),
    _list("list of texts that contain", _WORDS, ["pear", "apple"], filter_by=_filter("contains", "p")),
    _list("list of texts in a list", _WORDS, ["fig"], filter_by=_filter("in", ["fig", "x"])),
    _list("list of numbers above", [1, 5, 3], [5, 3], filter_by=_filter("≥", "3")),
    _list("list of booleans", [True, False], [True], filter_by=_filter("is", "true")),
    _list("list of files by size", _FILES, _FILES[1:], filter_by=_filter(">", "10", "size")),
    _list("list of files by extension", _FILES, _FILES[1:], filter_by=_filter("in", ["png"], "extension")),
    _list("list in order", _WORDS, sorted(_WORDS), order_by={**_ON, "value": "asc"}),
    _list("list of files in order", _FILES, _FILES[::-1], order_by={**_ON, "key": "name", "value": "asc"}),
    _list("list of which one is taken", _WORDS, ["apple"], extract_by={**_ON, "serial": "2"}),
    _list("list that hasn't so many items", _WORDS, _FAILS, extract_by={**_ON, "serial": "4"}),
    _list("list cut, filtered and ordered", [3, 1, 2, 9], [9, 3], filter_by=_filter(">", "1"),
          order_by={**_ON, "value": "desc"}, limit={**_ON, "size": 2}),
    _list("list of objects", [{"a": 1}], _FAILS),
    _list("list that is none", "text", _FAILS),
    _list("list of numbers asked for texts", [1], _FAILS, filter_by=_filter("contains", "1")),
]  # fmt: skip

PROGRAMS = [*CODE, *HTTP, *LISTS]
