"""Removes the secret of a connection from what its server answers: some repeat the headers or the address of a request."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolAsks, ToolResult
from workflows.tools.openapi.security import Security
from workflows.tools.operations import Operation
from workflows.tools.secret_finder import MIN_LENGTH, SecretFinder


REDACTED: Final = "[secret]"

Clean = Callable[[str], str]


def build_cleaner(secret: str | None, security: Security) -> Clean:
    """Return the function that removes the secret from a text, in every form in which the request showed it."""
    finder = SecretFinder(_list_secrets(secret or "", security))
    return partial(finder.replace, mask=REDACTED) if finder else _keep


def clean_result(result: ToolResult, clean: Clean) -> ToolResult:
    data = [_clean_value(value, clean) for value in result.data]
    return replace(result, text=clean(result.text), data=data)


def clean_fault(fault: ToolFailed, clean: Clean) -> ToolFailed:
    return ToolFailed(
        clean(fault.message), retryable=fault.retryable, retry_after=fault.retry_after
    )


def clean_operation(operation: Operation, clean: Clean) -> Operation:
    """Return what a server says about a tool. How it is called stays as the server wants it."""
    description, parameters = clean(operation.description), operation.parameters
    return replace(operation, description=description, parameters=_clean_value(parameters, clean))


def clean_question(question: ToolAsks, clean: Clean) -> ToolAsks:
    """Return the question as people may see it. Its state goes back to its server as it came."""
    return ToolAsks(
        {name: _clean_value(value, clean) for name, value in question.form.items()}, question.state
    )


def _list_secrets(secret: str, security: Security) -> tuple[str, ...]:
    """Return the secret, what the header has of it, and for a user with a password the password alone."""
    parts = [secret]
    if header := security.build_header(secret):
        parts.append(header[1].rpartition(" ")[2])
    if security.type == "basic":
        parts.append(secret.partition(":")[2])
    return tuple(dict.fromkeys(part for part in parts if len(part) >= MIN_LENGTH))


def _keep(text: str) -> str:
    return text


def _clean_value(value: Json, clean: Clean) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_value(item, clean) for item in value]
    if isinstance(value, dict):
        return {clean(key): _clean_value(item, clean) for key, item in value.items()}
    return value
