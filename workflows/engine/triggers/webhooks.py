"""The settings of a webhook trigger, as Dify writes them, and our own for its authentication."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator
from pydantic import Field as Bounded

from workflows.engine.configuration import ConfigPart, NodeConfig


METHODS: Final = ("get", "post", "put", "patch", "delete", "head")
CONTENT_TYPES: Final = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
    "application/octet-stream",
)
JSON, URL_ENCODED, MULTIPART, TEXT, BINARY = CONTENT_TYPES
# The types of values; the ones of headers, query parameters and form fields are read from text.
TYPES: Final = (
    *("string", "number", "boolean", "object", "file"),
    *("array[string]", "array[number]", "array[boolean]", "array[object]"),
)
PLAIN_TYPES: Final = ("string", "number", "boolean")
DEFAULT_ANSWER: Final = '{"status": "accepted"}'


class Authentication(StrEnum):
    """The proof that a caller must give besides the address, which is itself hard to guess."""

    NONE = "none"
    SECRET = "secret"  # noqa: S105  # the caller sends the secret in a header
    SIGNATURE = "hmac"  # the caller signs each request with the secret


def _read_list(value: Any) -> Any:  # Any: whatever a document has there
    return () if value is None else value


def _read_name(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


class ExpectedValue(ConfigPart):
    """A header, a query parameter or a value of the body that becomes an output of the node."""

    name: str = Bounded(min_length=1, max_length=100)
    type: str = "string"
    required: bool = False


ExpectedValues = Annotated[tuple[ExpectedValue, ...], BeforeValidator(_read_list)]


class WebhookConfig(NodeConfig):
    method: Annotated[
        Literal["get", "post", "put", "patch", "delete", "head"], BeforeValidator(_read_name)
    ] = "get"
    content_type: Annotated[
        Literal[
            "application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain",
            "application/octet-stream",
        ],
        BeforeValidator(_read_name),
    ] = "application/json"
    headers: ExpectedValues = ()
    params: ExpectedValues = ()
    body: ExpectedValues = ()
    status_code: int = Bounded(default=200, ge=200, le=399)
    response_body: str = ""
    authentication: Authentication = Authentication.NONE

    @property
    def has_body(self) -> bool:
        return self.method not in ("get", "head")

    def iter_values(self) -> Iterator[tuple[str, int, ExpectedValue]]:
        """Yield each expected value with the name of its list and its place in it."""
        lists = (("headers", self.headers), ("params", self.params), ("body", self.body))
        for name, values in lists:
            for index, value in enumerate(values):
                yield name, index, value


def get_output_name(source: str, name: str) -> str:
    """Return the name of the output for a value. Nodes can't refer to a name with a hyphen, such as most headers have."""
    return name.replace("-", "_") if source == "headers" else name
