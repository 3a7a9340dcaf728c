"""The settings of an HTTP request in documents: Dify's, and a few of xworkflow's that Dify lacks."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from workflows.engine.configuration import ConfigPart, NodeConfig


BodyType = Literal["none", "form-data", "x-www-form-urlencoded", "raw-text", "json", "binary"]
NullableText = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
# The settings for which null means the default.
_NULLABLE: Final = (
    *("headers", "params", "authorization", "body", "timeout"),
    *("ssl_verify", "fail_on_error_status"),
)
# Seconds, if a document sets no timeout.
CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 600.0
# The maximum for an exchange, even if the timeouts of the document are longer.
MAX_SECONDS: Final = 600.0


class KeyValue(ConfigPart):
    key: NullableText = ""
    value: NullableText = ""


class AuthConfig(ConfigPart):
    type: Literal["basic", "bearer", "custom"] | None = None
    api_key: NullableText = ""
    header: NullableText = ""


class Authorization(ConfigPart):
    """The authorization of a request; only ``no-auth`` and ``api-key`` are Dify's.

    ``api-key`` uses ``config``, ``in-query`` uses ``key`` and ``value``, and ``custom-headers`` uses ``headers``.
    """

    type: Literal["no-auth", "api-key", "in-query", "custom-headers"] = "no-auth"
    config: AuthConfig | None = None
    key: str = ""
    value: str = ""
    headers: tuple[KeyValue, ...] = ()


class BodyItem(KeyValue):
    type: Literal["text", "file"] = "text"
    file: Annotated[tuple[str, ...], BeforeValidator(lambda value: value or ())] = ()


class Body(ConfigPart):
    type: BodyType = "none"
    data: tuple[BodyItem, ...] | str = ()

    @property
    def items(self) -> tuple[BodyItem, ...]:
        """Return the items of the body, of which a body written as text has none."""
        return () if isinstance(self.data, str) else self.data

    @field_validator("data", mode="before")
    @classmethod
    def _replace_null_items(cls, value: Any) -> Any:
        return () if value is None else value


class Timeout(ConfigPart):
    """Timeouts in seconds; zero and null mean the default. ``write`` is kept for exports but has no effect.

    The ``max_*_timeout`` of some exports only limit a form.
    """

    connect: float | None = Field(default=None, ge=0)
    read: float | None = Field(default=None, ge=0)
    write: float | None = Field(default=None, ge=0)


class HttpConfig(NodeConfig):
    method: str = "GET"
    url: str = ""
    headers: str | tuple[KeyValue, ...] = ""
    params: str | tuple[KeyValue, ...] = ""
    authorization: Authorization = Authorization()
    body: Body = Body()
    timeout: Timeout | float = Timeout()
    ssl_verify: bool = True
    fail_on_error_status: bool = False

    @field_validator(*_NULLABLE, mode="before")
    @classmethod
    def _replace_null(cls, value: Any, info: ValidationInfo) -> Any:
        return cls.model_fields[str(info.field_name)].default if value is None else value


def get_timeouts(timeout: Timeout | float) -> tuple[float, float, float]:
    """Return the seconds to connect, to wait for the next part of the response, and for the whole exchange."""
    if not isinstance(timeout, Timeout):
        total = min(timeout or READ_SECONDS, MAX_SECONDS)
        return min(CONNECT_SECONDS, total), total, total
    idle = min(timeout.read or READ_SECONDS, MAX_SECONDS)
    connect = min(timeout.connect or CONNECT_SECONDS, MAX_SECONDS)
    return connect, idle, min(connect + idle, MAX_SECONDS)


def parse_pairs(source: str | tuple[KeyValue, ...]) -> tuple[tuple[str, str], ...]:
    """Return keys and values. Text has one ``key:value`` in each line; a key without a colon has an empty value."""
    if not isinstance(source, str):
        return tuple((item.key.strip(), item.value.strip()) for item in source)
    pairs = (line.partition(":") for line in source.splitlines() if line.strip())
    return tuple((key.strip(), value.strip()) for key, _colon, value in pairs)


def has_failure_handling(data: Mapping[str, Any]) -> bool:
    """Return whether the node retries or has an error strategy; an error status then counts as a failure."""
    retry, strategy = data.get("retry_config"), data.get("error_strategy")
    if isinstance(strategy, Mapping):
        strategy = strategy.get("type")
    retries = isinstance(retry, Mapping) and bool(retry.get("retry_enabled"))
    return retries or strategy not in (None, "", "none")
