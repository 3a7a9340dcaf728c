"""Odd requests to every operation the API describes: refused in JSON, never a server error."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import cycle, islice
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from django.http import QueryDict
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from config.api import api
from memory.services import MemoryCaller, list_namespace_page, remember
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db

METHODS = ("get", "post", "put", "patch", "delete")

ODD = (
    "99999999999999999999999",
    "-99999999999999999999999",
    "9223372036854775808",
    "9223372036854775807",
    "2147483648",
    "-1",
    "0",
    "1e400",
    "NaN",
    "1.5",
    "",
    " ",
    "null",
    "\x00",
    "a:b",
    "сa",
    "x\ny",
    "٣",
    "'; --",
    "x" * 5_000,
)


@cache
def description() -> Any:
    return json.loads(json.dumps(api.get_openapi_schema(), default=str))


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            if method in METHODS:
                yield method, path, operation


# Method, path, the parameter's name.
Place = tuple[str, str, str]


def parameters(where: str) -> dict[Place, str]:
    """Each with the kind of value it takes: what reads that is the same for all of a kind."""
    return {
        (method, path, parameter["name"]): kind_of(parameter["schema"])
        for method, path, operation in operations()
        for parameter in operation.get("parameters", [])
        if parameter["in"] == where
    }


def kind_of(schema: Mapping[str, Any]) -> str:
    first = schema.get("anyOf", [schema])[0]
    return " ".join(str(first.get(name, "")) for name in ("type", "format", "pattern", "$ref"))


def in_turn(where: str, values: Sequence[str], least: int) -> Iterator[tuple[Place, list[str]]]:
    """Each kind is given every value; a parameter its share of them, and never fewer than so many."""
    places = parameters(where)
    turns = {kind: cycle(values) for kind in places.values()}
    for place, kind in places.items():
        share = -(-len(values) // list(places.values()).count(kind))
        yield place, list(islice(turns[kind], max(share, least)))


def askers(cast: Cast, api_key: Any) -> dict[str, Client]:
    return {"editor": cast.bob.client, "admin": cast.ada.client, "key": api_key(cast.alice)}


def filled(path: str, **given: str) -> str:
    for _method, other, operation in operations():
        if other == path:
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    name = parameter["name"]
                    path = path.replace(f"{{{name}}}", given.get(name, str(uuid4())))
            break
    return path


def send(client: Client, method: str, address: str, body: Any = None) -> Any:
    client.raise_request_exception = False
    return client.generic(
        method.upper(),
        address,
        json.dumps(body) if body is not None else "",
        content_type="application/json",
    )


@pytest.mark.parametrize(
    ("least", "by"),
    [
        pytest.param(3, 1, id="by one"),
        pytest.param(len(ODD), 3, id="by all", marks=pytest.mark.nightly),
    ],
)
def test_query_parameter_given_an_odd_value_is_answered(
    least: int, by: int, cast: Cast, api_key: Any
) -> None:
    """By one after another in turn, or by night each value in each place by all three."""
    turn = cycle(askers(cast, api_key).items())
    wrong = []
    for (method, path, name), values in in_turn("query", ODD, least):
        for value in values:
            for who, client in islice(turn, by):
                answer = send(client, method, f"{filled(path)}?{urlencode({name: value})}")
                if answer.status_code >= 500 or not is_as_described(answer, method, path):
                    wrong.append((who, path, name, value, answer.status_code))

    assert wrong == []


ODD_PARTS = (*ODD[:8], *ODD[13:], "abc")


@pytest.mark.parametrize(
    "least",
    [
        pytest.param(2, id="in turn"),
        pytest.param(len(ODD_PARTS), id="all", marks=pytest.mark.nightly),
    ],
)
def test_path_given_an_odd_value_is_answered_in_json(least: int, cast: Cast) -> None:
    client = cast.bob.client
    wrong = []
    for (method, path, name), values in in_turn("path", ODD_PARTS, least):
        for value in values:
            part = quote(value, safe="")
            answer = send(client, method, filled(path, **{name: part}), {})
            # An empty part may make another address, with an answer of its own
            if answer.status_code >= 500 or (value and not is_error(answer)):
                wrong.append((path, name, value, answer.status_code, answer.content[:80]))

    assert wrong == []


PAGES = ("/", "/runs/", "/memory/", "/runs/?workflow=x", "/memory/namespaces/{namespace}/")
ASKED = ("page", "offset", "limit", "text", "category", "tier", "filter", "status", "workflow")


@pytest.mark.parametrize(
    "alone",
    [pytest.param(False, id="together"), pytest.param(True, id="each", marks=pytest.mark.nightly)],
)
def test_page_given_an_odd_value_is_answered(
    alone: bool, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every value under every name: in the company of others, and by night alone."""
    caller = MemoryCaller(cast.bob.principal, cast.team_a.pk)
    remember(caller, namespace="global:odd", key="k", value=1)
    namespace = list_namespace_page(caller).rows[0].pk
    client = cast.bob.client
    client.raise_request_exception = False

    wrong = []
    for page in (address.format(namespace=namespace) for address in PAGES):
        # What a page doesn't read it can't mind: one name stands for all of those.
        heeded = [name for name in ASKED if name in names_read(client, page, monkeypatch)]
        assert heeded or page == "/"
        names = (*heeded, "nothing_we_know")
        together = (
            {name: ODD[(first + at) % len(ODD)] for at, name in enumerate(names)}
            for first in range(len(ODD))
        )
        each = ({name: value} for name in names for value in ODD)
        wrong += [
            (page, query)
            for query in (each if alone else together)
            if client.get(page, query).status_code >= 500
        ]

    assert wrong == []


def names_read(client: Client, page: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What this page asks its address for."""
    read: set[str] = set()

    class Watched(QueryDict):
        def __getitem__(self, name: str) -> Any:
            read.add(name)
            return super().__getitem__(name)

        def __contains__(self, name: object) -> bool:
            read.add(str(name))
            return super().__contains__(name)

        def _getlist(self, key: str, default: Any = None, force_list: bool = False) -> Any:
            read.add(key)
            return super()._getlist(key, default, force_list)

    with monkeypatch.context() as patch:
        patch.setattr("django.core.handlers.wsgi.QueryDict", Watched)
        client.get(page)
    return read


@pytest.mark.parametrize("address", ["/api/v1/workflows/abc", "/api/nothing", "/api/v1/runs/1"])
def test_address_that_is_none_is_said_in_json(address: str, cast: Cast, client: Client) -> None:
    for asker in (cast.bob.client, client):
        answer = asker.get(address)

        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")


def test_wrong_method_is_said_in_json_with_the_right_ones(cast: Cast) -> None:
    answer = send(cast.bob.client, "delete", "/api/v1/runs")

    assert answer.status_code == 405
    assert answer["Allow"] == "GET"
    assert answer.json()["error"]["type"] == "MethodNotAllowed"


def test_error_nobody_foresaw_is_said_in_json(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("workflows.selectors.list_runs", broken)
    answer = send(cast.bob.client, "get", "/api/v1/runs")

    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "ServerError")
    assert b"secret detail" not in answer.content


@pytest.mark.parametrize(
    ("method", "address", "body", "field"),
    [
        ("post", "/api/v1/workflows/validate", {"document": "x", "zzz": 1}, "zzz"),
        ("post", "/api/v1/workflows/validate", {}, "document"),
        ("get", "/api/v1/runs?limit=0", None, "limit"),
        ("get", "/api/v1/memory/entries?namespace=user:x&limit=0", None, "limit"),
        ("get", "/api/v1/memory/entries?namespace=user:x&zzz=1", None, "zzz"),
    ],
)
def test_field_that_does_not_fit_is_named_as_the_client_wrote_it(
    method: str, address: str, body: Any, field: str, cast: Cast
) -> None:
    answer = send(cast.bob.client, method, address, body)

    assert answer.status_code == 422
    assert [one["field"] for one in answer.json()["error"]["problems"]] == [field]


# Streams and starts that wait are asked elsewhere: nothing here is ever driven to its end.
WAITS = ("/events",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "examples", "with_body_only"),
    [
        pytest.param(["editor", "admin", "key"], 2, True, id="short"),
        *(
            pytest.param([one], 60, False, id=f"long-{one}", marks=pytest.mark.nightly)
            for one in ("editor", "admin", "key")
        ),
    ],
)
def test_request_of_the_described_form_is_never_a_server_error(
    who: list[str], examples: int, with_body_only: bool, cast: Cast, api_key: Any
) -> None:
    """To think a request up takes longer than to answer it: by day each is sent by all three, and none without a body.

    What is odd about a path or a query is asked above.
    """
    # Inline import: it takes half a second, and all processes import this module.
    import schemathesis

    known = askers(cast, api_key)
    clients = [known[one] for one in who]
    for result in schemathesis.openapi.from_dict(description()).get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]  # an invalid one raises here
        has_body = "requestBody" in description()["paths"][operation.path][operation.method.lower()]
        if operation.path.endswith(WAITS) or (with_body_only and not has_body):
            continue
        _throw(clients, operation, examples)


def _throw(clients: Sequence[Client], operation: Any, examples: int) -> None:
    quick = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )

    @quick
    @given(data=st.data())
    def thrown(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy())
        asked = case.as_transport_kwargs(base_url="http://testserver")
        query = urlencode(asked.get("params") or {}, doseq=True)
        body = asked.get("json")
        if isinstance(body, dict) and body.get("response_mode") == "blocking":
            body["wait_seconds"] = 0.01
        address = asked["url"].removeprefix("http://testserver")
        for client in clients:
            answer = send(client, operation.method, f"{address}?{query}", body)

            assert answer.status_code < 500, (operation.label, query, body, answer.content[:300])

    thrown()


def is_json(answer: Any) -> bool:
    kind = answer.headers.get("Content-Type", "")
    return answer.status_code == 204 or kind.startswith(("application/json", "application/yaml"))


def is_as_described(answer: Any, method: str, path: str) -> bool:
    """An answer is in JSON, unless the operation describes another type for one that succeeds."""
    responses = description()["paths"][path][method]["responses"]
    types = responses.get(str(answer.status_code), {}).get("content", {})
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    return is_json(answer) or (answer.status_code < 400 and kind in types)


def is_error(answer: Any) -> bool:
    if answer.status_code < 400:
        return True
    return is_json(answer) and set(answer.json()) == {"error"}
