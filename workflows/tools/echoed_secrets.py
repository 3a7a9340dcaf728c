"""Removes the secret of a connection from what its server answers: some repeat the headers or the address of a request."""

from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolAsks, ToolResult
from workflows.tools.openapi.security import Security
from workflows.tools.operations import Operation
from workflows.tools.secret_finder import MIN_LENGTH, SecretFinder


REDACTED: Final = "[secret]"


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Removes a secret from texts and values, in every form in which a request showed it. Without a secret, nothing changes."""

    finder: SecretFinder

    def __call__(self, text: str) -> str:
        return self.finder.replace(text, REDACTED) if self.finder else text

    def clean_value(self, value: Json) -> Json:
        return self.finder.replace_in(value, REDACTED) if self.finder else value


NO_CLEANER: Final = Cleaner(SecretFinder(()))


def build_cleaner(secret: str | None, security: Security) -> Cleaner:
    return Cleaner(SecretFinder(_list_secrets(secret or "", security)))


def clean_result(result: ToolResult, clean: Cleaner) -> ToolResult:
    data = [clean.clean_value(value) for value in result.data]
    return replace(result, text=clean(result.text), data=data)


def clean_fault(fault: ToolFailed, clean: Cleaner) -> ToolFailed:
    return ToolFailed(
        clean(fault.message), retryable=fault.retryable, retry_after=fault.retry_after
    )


def clean_operation(operation: Operation, clean: Cleaner) -> Operation:
    """Return what a server says about a tool. How it is called stays as the server wants it."""
    description, parameters = clean(operation.description), operation.parameters
    return replace(operation, description=description, parameters=clean.clean_value(parameters))


def clean_question(question: ToolAsks, clean: Cleaner) -> ToolAsks:
    """Return the question as people may see it. Its state goes back to its server as it came."""
    return ToolAsks(
        {name: clean.clean_value(value) for name, value in question.form.items()}, question.state
    )


def _list_secrets(secret: str, security: Security) -> tuple[str, ...]:
    """Return the secret, what the header has of it, and for a user with a password the password alone."""
    parts = [secret]
    if header := security.build_header(secret):
        parts.append(header[1].rpartition(" ")[2])
    if security.type == "basic":
        parts.append(secret.partition(":")[2])
    return tuple(dict.fromkeys(part for part in parts if len(part) >= MIN_LENGTH))
