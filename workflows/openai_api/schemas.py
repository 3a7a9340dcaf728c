"""The bodies of requests. Fields that this API doesn't know are ignored, as clients send many; some are refused by name.

What can't be carried out but would change the answer is refused: a client that asks for tools waits for calls of them.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from django.utils.translation import gettext as _
from ninja import Schema
from pydantic import ConfigDict, Field

from workflows.openai_api.errors import CompletionError


MAX_MESSAGES: Final = 2_000
MAX_TEXT: Final = 1_000_000  # characters of all messages together

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Json = Any  # JSON


class Loose(Schema):
    model_config = ConfigDict(extra="ignore", frozen=True)


class MessageIn(Loose):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | list[dict[str, Json]] | None = None


class StreamOptionsIn(Loose):
    include_usage: bool | None = None


class CompletionIn(Loose):
    """A request for a completion. ``metadata`` may have ``conversation_id`` and ``inputs``, or ``inputs.name`` for each."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptionsIn | None = None
    user: Annotated[str, Field(max_length=200)] | None = None
    metadata: dict[str, Json] | None = None
    n: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    tools: Json = None
    functions: Json = None
    tool_choice: Json = None
    logprobs: Json = None
    top_logprobs: Json = None
    response_format: Json = None
    modalities: Json = None
    audio: Json = None


def _is_text_format(value: Json) -> bool:
    return isinstance(value, Mapping) and value.get("type") == "text"


# Parameter → whether a value asks for nothing that a workflow can't do. None never does.
_HARMLESS: Final[Mapping[str, Callable[[Json], bool]]] = {
    "n": lambda value: value == 1,
    "tools": lambda value: value == [],
    "functions": lambda value: value == [],
    "tool_choice": lambda value: value in ("none", "auto"),
    "logprobs": lambda value: value is False,
    "top_logprobs": lambda value: value == 0,
    "response_format": _is_text_format,
    "modalities": lambda value: value == ["text"],
    "audio": lambda _value: False,
}


def check_supported(body: CompletionIn) -> None:
    """Raise CompletionError for a parameter that a workflow can't carry out."""
    for name, is_harmless in _HARMLESS.items():
        value = getattr(body, name)
        if value is not None and not is_harmless(value):
            message = _("%(name)s isn't supported: the workflow decides how it answers.")
            raise CompletionError(
                message % {"name": name}, param=name, code="unsupported_parameter"
            )
