"""Errors of this API that name a parameter or a code of OpenAI's; domain errors are described like them."""

from collections.abc import Mapping
from typing import Any, Final

from workflows.engine.errors import InputRejected


Body = dict[str, Any]  # Any: JSON

# Name of a field in our services → the parameter of a request from which its value comes.
_PARAMETERS: Final[Mapping[str, str]] = {
    "query": "messages",
    "files": "messages",
    "file": "messages",
    "user": "user",
    "conversation_id": "metadata.conversation_id",
}


class CompletionError(Exception):
    """A request that can't be answered, with the status and OpenAI's ``code`` and ``param``."""

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code


class ModelNotFound(CompletionError):
    """There is no such model, or the key may not use it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=404, param="model", code="model_not_found")


class RunFailed(CompletionError):
    """The run has failed or was stopped. To send the request again would run the workflow again, so no client should by itself."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, status=500, code=code)


def find_parameter(error: Exception) -> str | None:
    """Return the parameter of the request that a domain error is about, or None."""
    field: str | None = getattr(error, "field", None)
    problems = getattr(error, "problems", None)
    if field is None and problems:
        field = problems[0].field
    if field is None:
        return None
    if isinstance(error, InputRejected):
        return f"metadata.inputs.{field}"
    return _PARAMETERS.get(field, field)
