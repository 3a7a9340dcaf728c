"""The settings of an HTTP request in documents: Dify's, and a few of xworkflow's that Dify lacks."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from workflows.engine.configuration import ConfigPart, NodeConfig


BodyType = Literal["none", "form-data", "x-www-form-urlencoded", "raw-text", "json", "binary"]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
# The settings for which null means the default.
_NULLABLE: Final = (
    *("headers", "params", "authorization", "body", "timeout"),
    *("ssl_verify", "fail_on_error_status"),
)
# Seconds, if a document sets no timeout.
CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 600.0
# The maximum for an exchange, also if the document has longer timeouts.
MAX_SECONDS: Final = 600.0


class KeyValue(ConfigPart):
    key: Text = ""
    value: Text = ""


class AuthConfig(ConfigPart):
    type: Literal["basic", "bearer", "custom"] | None = None
    api_key: Text = ""
    header: Text = ""


class Authorization(ConfigPart):
    """``in-query`` and ``custom-headers`` are xworkflow's; Dify has the first two."""

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
        """Return the rows of the data; text has none."""
        return () if isinstance(self.data, str) else self.data

    @field_validator("data", mode="before")
    @classmethod
    def _replace_null_items(cls, value: Any) -> Any:
        return () if value is None else value


class Timeout(ConfigPart):
    """Zero and null mean the default. Exports may also have ``max_*_timeout``, which are limits of a form."""

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
    """Return the timeouts to connect, to wait for the next piece, and for the whole exchange."""
    if not isinstance(timeout, Timeout):
        total = min(timeout or READ_SECONDS, MAX_SECONDS)
        return min(CONNECT_SECONDS, total), total, total
    idle = min(timeout.read or READ_SECONDS, MAX_SECONDS)
    connect = min(timeout.connect or CONNECT_SECONDS, MAX_SECONDS)
    return connect, idle, min(connect + idle, MAX_SECONDS)


def split_lines(lines: str | tuple[KeyValue, ...]) -> tuple[tuple[str, str], ...]:
    """Split ``key:value`` lines at the first colon; a key alone has an empty value."""
    if not isinstance(lines, str):
        return tuple((item.key.strip(), item.value.strip()) for item in lines)
    pairs = (line.partition(":") for line in lines.splitlines() if line.strip())
    return tuple((key.strip(), value.strip()) for key, _colon, value in pairs)


def has_strategy(data: Mapping[str, Any]) -> bool:
    """Return whether the node handles its failures, so that an error status counts as a failure."""
    retry, strategy = data.get("retry_config"), data.get("error_strategy")
    if isinstance(strategy, Mapping):
        strategy = strategy.get("type")
    retries = isinstance(retry, Mapping) and bool(retry.get("retry_enabled"))
    return retries or strategy not in (None, "", "none")
