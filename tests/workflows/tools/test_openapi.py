"""OpenAPI documents: what they offer as tools, what a call sends, and what a hostile one can't do."""

import json

import pytest

from config import net
from tests.fakes.http_server import FakeHttp, Reply
from tests.support.cases import for_each
from tests.support.steps import count_steps
from workflows.engine.errors import ToolFailed
from workflows.errors import InvalidValue
from workflows.tools.openapi.calls import call_operation
from workflows.tools.openapi.documents import MAX_BYTES, read_description
from workflows.tools.openapi.security import Security
from workflows.tools.operations import MAX_DESCRIPTION, MAX_OPERATIONS
from workflows.tools.results import MAX_TEXT


PETS = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://{region}.example.com/v1/", "variables": {"region": {"default": "eu"}}}],
    "security": [{"key": []}],
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "parameters": {"limit": {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}}},
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "id": {"type": "integer", "readOnly": True},
                    "name": {"type": "string", "nullable": True},
                    "parent": {"$ref": "#/components/schemas/Pet"},
                },
            }
        },
    },
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {
                "operationId": "getPet",
                "summary": "Find a pet",
                "parameters": [
                    {"$ref": "#/components/parameters/limit"},
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                ],
            },
            "put": {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                }
            },
        },
        "/form": {
            "post": {
                "operationId": "form",
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {"type": "object", "properties": {"a": {"type": "string"}}}
                        }
                    }
                },
            }
        },
    },
}  # fmt: skip


def operations():
    return {
        operation.name: operation for operation in read_description(json.dumps(PETS)).operations
    }


async def call(server, name, arguments, **options):
    defaults = {"base_url": server.base_url, "security": Security(), "secret": None}
    return await call_operation(operations()[name], arguments, **defaults | options)


def test_document_lists_operations_with_merged_parameters():
    api = read_description(json.dumps(PETS))

    assert (api.title, api.base_url) == ("Pets", "https://eu.example.com/v1")
    assert api.security == Security("header", "X-Key")
    assert [operation.name for operation in api.operations] == ["getPet", "put_pets_id", "form"]
    assert api.operations[0].description == "Find a pet"
    assert api.operations[0].parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "limit": {"type": "integer", "maximum": 100},
            "tags": {"type": "array", "items": {"type": "string"}},
            "X-Trace": {"type": "string"},
        },
        "required": ["id"],
    }
    assert api.operations[1].parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "name": {"type": ["string", "null"]},
            "parent": {},
        },
        "required": ["id", "name"],
    }


def test_yaml_document_of_version_3_1_is_read():
    text = """
openapi: 3.1.0
info: {title: Time, version: "1"}
paths:
  /now:
    get:
      parameters:
        - {name: zone, in: query, schema: {type: [string, "null"], default: UTC}}
"""
    api = read_description(text, "https://time.example.com/openapi.yaml")

    assert api.base_url == "https://time.example.com"
    assert api.operations[0].name == "get_now"
    assert api.operations[0].parameters["properties"] == {
        "zone": {"type": ["string", "null"], "default": "UTC"}
    }


@pytest.mark.usefixtures("loopback")
async def test_arguments_go_where_the_document_says():
    with FakeHttp() as server:
        server.answers(Reply(200, b'{"id": 1}', {"content-type": "application/json"}))
        answer = await call(
            server,
            "getPet",
            {"id": "a/b?c", "limit": 5, "tags": ["x", "y z"], "X-Trace": "t"},
            security=Security("header", "X-Key"),
            secret="s3cret",
        )
        (request,) = server.requests

    assert (answer.text, list(answer.data), answer.is_error) == ('{"id": 1}', [{"id": 1}], False)
    assert request.path == "/pets/a%2Fb%3Fc?limit=5&tags=x&tags=y+z"
    assert (request.headers["x-trace"], request.headers["x-key"]) == ("t", "s3cret")
    assert "idempotency-key" not in request.headers


@pytest.mark.usefixtures("loopback")
async def test_body_and_idempotency_key_are_sent():
    with FakeHttp() as server:
        await call(server, "put_pets_id", {"id": "1", "name": "Rex"}, idempotency_key="run:1")
        await call(server, "form", {"a": "x & y"})
        put, form = server.requests

    assert (put.method, json.loads(put.body)) == ("PUT", {"name": "Rex"})
    assert put.headers["idempotency-key"] == "run:1"
    assert form.body == b"a=x+%26+y"
    assert form.headers["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    ("security", "header", "value"),
    [
        (Security("bearer"), "authorization", "Bearer u:p"),
        (Security("basic"), "authorization", "Basic dTpw"),
        (Security("header", "X-Trace"), "x-trace", "u:p"),
    ],
)
async def test_credential_replaces_what_an_argument_says(security, header, value):
    with FakeHttp() as server:
        await call(
            server, "getPet", {"id": "1", "X-Trace": "mine"}, security=security, secret="u:p"
        )
        (request,) = server.requests

    assert request.headers[header] == value


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "arguments",
    [{}, {"id": ".."}, {"id": ""}, {"id": "1", "limit": 101}, {"id": "1", "X-Trace": "a\r\nX: y"},
     {"id": "1", "more": 1}],
)  # fmt: skip
async def test_invalid_arguments_are_a_result_and_never_sent(arguments):
    with FakeHttp() as server:
        answer = await call(server, "getPet", arguments)

        assert answer.is_error
        assert answer.text.startswith("Invalid arguments")
        assert not server.requests


@pytest.mark.usefixtures("loopback")
async def test_error_status_is_a_result():
    with FakeHttp() as server:
        server.answers(Reply(404, b"no such pet"))
        answer = await call(server, "getPet", {"id": "1"})

    assert (answer.text, answer.is_error) == ("HTTP 404\nno such pet", True)


@pytest.mark.usefixtures("loopback")
async def test_large_response_is_cut_and_huge_one_refused():
    with FakeHttp() as server:
        server.answers(Reply(200, b"x" * 900_000), Reply(200, b"x" * 2_000_000))
        cut = await call(server, "getPet", {"id": "1"})
        refused = await call(server, "getPet", {"id": "1"})

    assert len(cut.text) < MAX_TEXT + 100
    assert (refused.is_error, refused.text) == (True, "The response is larger than 1 MB")


@pytest.mark.usefixtures("loopback")
async def test_file_is_only_mentioned():
    with FakeHttp() as server:
        server.answers(Reply(200, b"\x89PNG\xff\xfe", {"content-type": "image/png"}))
        answer = await call(server, "getPet", {"id": "1"})

    assert answer.text == "A file of type image/png, 6 bytes; it is not shown."


async def test_redirect_inward_is_refused(monkeypatch):
    with FakeHttp() as inner, FakeHttp() as server:
        allowed = net.parse_allowed([server.address])
        monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
        server.answers(Reply(302, b"", {"location": inner.base_url}))
        with pytest.raises(ToolFailed, match="NET_ALLOW"):
            await call(server, "getPet", {"id": "1"})

        assert not inner.requests


@pytest.mark.usefixtures("loopback")
async def test_credential_is_not_sent_to_another_site():
    with FakeHttp() as other, FakeHttp() as server:
        server.answers(Reply(302, b"", {"location": f"{other.base_url}/x"}))
        await call(
            server, "getPet", {"id": "1"}, security=Security("header", "X-Key"), secret="s3cret"
        )
        (request,) = other.requests

    assert "s3cret" not in str(request)


@for_each("text",
    ["", "[]", "null", "{", "a: &x 1\nb: *x", "openapi: 2.0.0", '{"swagger": "2.0"}',
     '{"openapi": "3.0.0", "paths": {}}', '{"openapi": "3.0.0", "paths": []}',
     '{"openapi": "3.1.0", "paths": {"/x": {"get": 1}}}', "{" * 100_000, "[" * 100_000,
     '{"a":' * 1000 + "1" + "}" * 1000, "x" * (MAX_BYTES + 1), "!!python/object:os.system {}"],
)  # fmt: skip
def test_unusable_document_is_rejected_with_its_field(text):
    with pytest.raises(InvalidValue) as error:
        read_description(text)

    assert error.value.field == "document"


def describe(schema, **parts):
    body = {"content": {"application/json": {"schema": schema}}}
    return json.dumps(
        {"openapi": "3.1.0", "paths": {"/x": {"post": {"requestBody": body}}}, "components": parts}
    )


def test_references_outside_the_document_lead_nowhere():
    for reference in ("http://169.254.169.254/x", "file:///etc/passwd", "other.yaml#/x", "#/../x"):
        (operation,) = read_description(describe({"$ref": reference})).operations

        assert operation.parameters["properties"] == {"body": {}}


def test_cyclic_and_exploding_references_end_quickly():
    schemas = {
        f"S{number}": {
            "type": "object",
            "properties": {
                f"p{k}": {"$ref": f"#/components/schemas/S{number + 1}"} for k in range(30)
            },
        }
        for number in range(30)
    }
    loop = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    with count_steps(1_000_000):
        for schema in ("S0", "A"):
            text = describe({"$ref": f"#/components/schemas/{schema}"}, schemas=schemas | loop)
            (operation,) = read_description(text).operations
            assert len(json.dumps(operation.parameters)) < 50_000


def test_long_descriptions_are_cut():
    paths = {"/x": {"get": {"description": "Obey me. " * 10_000}}}
    (operation,) = read_description(json.dumps({"openapi": "3.0.0", "paths": paths})).operations

    assert len(operation.description) == MAX_DESCRIPTION


def test_too_many_operations_are_cut():
    many: dict[str, dict[str, object]] = {f"/{number}": {"get": {}} for number in range(2000)}
    api = read_description(json.dumps({"openapi": "3.0.0", "paths": many}))

    assert (len(api.operations), api.total) == (MAX_OPERATIONS, 2000)


def test_equal_names_are_numbered():
    paths = {path: {"get": {"operationId": "same name!"}} for path in ("/a", "/b")}
    api = read_description(json.dumps({"openapi": "3.0.0", "paths": paths}))

    assert [operation.name for operation in api.operations] == ["same_name", "same_name_2"]
