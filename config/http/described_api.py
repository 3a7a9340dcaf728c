"""The description of the API: readable ids, and for every operation its permission, its errors and an example.

What Ninja can't know comes from the table of errors, from the docstrings of the operations, which name the errors that are
their own, and from the table of permissions.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ninja import NinjaAPI, Schema
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import Field

from config.http.key_scopes import get_scopes
from config.http.pages import ListParameters


Json = Any  # a part of the description

# Status → the errors that have no class in the table of errors, because Ninja or the server raises them.
_GENERAL: Final[Mapping[int, tuple[str, str]]] = {
    400: ("NotStrictJson", "The body is not JSON."),
    401: ("NotSignedIn", "The API key is missing, revoked or expired."),
    403: ("NotAllowed", "The API key or the person lacks the permission."),
    404: ("NotFound", "What the request names doesn't exist, or isn't yours."),
    409: ("Conflict", "The state of what the request names doesn't allow it now."),
    413: ("BodyTooLarge", "The body or a value is too large."),
    415: ("UnsupportedMediaType", "The body is not declared as JSON."),
    422: ("InvalidRequest", "A value doesn't fit; each problem names its field."),
    429: ("TooManyRequests", "A limit is reached. Retry-After says how long to wait."),
    503: ("ServiceUnavailable", "The database or a provider can't be reached. Try again."),
}
ROOT: Final = "/api/v1"
_ALWAYS: Final = (401, 403, 429, 503)
_WITH_BODY: Final = (400, 413, 415)
_CONFLICT_WORDS: Final = re.compile(r"\b409\b")


class ApiProblemOut(Schema):
    """One problem of a request or a document."""

    code: str | None = None
    message: str | None = None
    field: str | None = Field(None, description="The field of the request or of the node.")
    node: str | None = None
    edge: str | None = None
    severity: str | None = None
    title: str | None = Field(None, description="The title of the node.")


class ApiErrorDetailOut(Schema):
    type: str = Field(description="The name of the error, for programs.")
    message: str = Field(description="A sentence for people.")
    retryable: bool = Field(description="Whether the same request may succeed later.")
    problems: list[ApiProblemOut] | None = None


class ApiErrorOut(Schema):
    """The answer to every request that fails."""

    error: ApiErrorDetailOut


class DescribedAPI(NinjaAPI):
    """An API whose description is complete.

    ``statuses`` are the errors with their statuses.
    """

    def __init__(self, *, statuses: Mapping[type[Exception], int], **options: Any) -> None:
        super().__init__(**options)
        self._statuses = {error.__name__: status for error, status in statuses.items()}
        self._descriptions: dict[str, OpenAPISchema] = {}

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """Return the description, which nobody may change: it is built once, because that takes a second."""
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        if prefix not in self._descriptions:
            self._descriptions[prefix] = self._describe(prefix)
        return self._descriptions[prefix]

    def _describe(self, prefix: str) -> OpenAPISchema:
        schema = super().get_openapi_schema(path_prefix=prefix)
        components = schema["components"]["schemas"]
        components.update(_build_error_schemas())
        for path, method, operation in _list_operations(schema):
            _complete_summary(operation)
            _add_scopes(path, method, operation)
            self._add_errors(path, operation)
            operation["x-codeSamples"] = [_build_sample(path, method, operation, components)]
        return schema

    def _add_errors(self, path: str, operation: Json) -> None:
        """Add the errors that any such request can get, and those that the docstring names."""
        named: dict[int, list[str]] = defaultdict(list)
        for name in re.findall(r"\b[A-Z]\w+\b", operation["description"]):
            if name in self._statuses and name not in named[self._statuses[name]]:
                named[self._statuses[name]].append(name)
        statuses = {*_ALWAYS, *named}
        if "{" in path or "requestBody" in operation or _names_rows(operation):
            statuses.add(404)
        if "requestBody" in operation:
            statuses.update(_WITH_BODY)
        if "requestBody" in operation or operation.get("parameters"):
            statuses.add(422)
        if _CONFLICT_WORDS.search(operation["description"]):
            statuses.add(409)
        for status in sorted(statuses - {int(key) for key in operation["responses"]}):
            operation["responses"][status] = _build_error(status, named.get(status, []))


def _add_scopes(path: str, method: str, operation: Json) -> None:
    scopes = get_scopes(method, path.removeprefix(ROOT))
    names = " and ".join(f"`{scope}`" for scope in scopes or ())
    if scopes is None:
        sentence = "API keys can't do this."
    elif scopes:
        sentence = f"An API key needs {names}."
    else:
        sentence = "Any API key can do this."
    operation["x-scopes"] = None if scopes is None else list(scopes)
    operation["description"] = f"{operation.get('description', '').strip()}\n\n{sentence}"


def _build_error(status: int, named: list[str]) -> Json:
    general, sentence = _GENERAL.get(status, ("", ""))
    names = [general, *named] if general else named
    return {
        "description": f"{', '.join(names)}: {sentence}" if sentence else ", ".join(names),
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ApiErrorOut"}}},
    }


def _build_error_schemas() -> dict[str, Json]:
    schema = ApiErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "ApiErrorOut": schema}


def _list_operations(schema: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _complete_summary(operation: Json) -> None:
    """Write the summary that Ninja makes of a name, such as List Teams, as a sentence."""
    name = operation["operationId"]
    if operation["summary"] == name.title().replace("_", " "):
        operation["summary"] = name.capitalize().replace("_", " ")


def _names_rows(operation: Json) -> bool:
    """Return whether the query of the request may name rows, and not only a page of them."""
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    return bool(names - ListParameters.model_fields.keys())


def _build_sample(path: str, method: str, operation: Json, components: Json) -> Json:
    """Return the request as a command that can be pasted once the names in braces are replaced."""
    words = ["curl"] if method == "GET" else [f"curl -X {method}"]
    words += [f'"$API{path.removeprefix(ROOT)}{_build_query(operation)}"']
    words += ['-H "Authorization: Bearer $MNEMOFLOW_KEY"']
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        example = _find_example(content["application/json"]["schema"], components)
        text = json.dumps(example, ensure_ascii=False).replace("'", "'\\''")
        words += ['-H "Content-Type: application/json"', f"-d '{text}'"]
    for name in _list_form_fields(content, components):
        words.append(f"-F {name}=…")
    return {"lang": "Shell", "label": "curl", "source": " \\\n  ".join(words)}


def _build_query(operation: Json) -> str:
    required = [
        parameter["name"]
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and parameter.get("required")
    ]
    return f"?{'&'.join(f'{name}=…' for name in required)}" if required else ""


def _list_form_fields(content: Json, components: Json) -> list[str]:
    form = content.get("multipart/form-data")
    if form is None:
        return []
    schema = form["schema"]
    resolved = components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return list(resolved.get("required", ()))


def _find_example(schema: Json, components: Json) -> Json:
    reference = schema.get("$ref", "")
    return components.get(reference.rpartition("/")[2], schema).get("example", {})
