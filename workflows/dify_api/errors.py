"""The errors of Dify's service API: a code, a message and a status, from a table of our own errors."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from accounts import errors as account_errors
from workflows import errors as workflow_errors
from workflows.engine import errors as engine_errors
from workflows.services.budgets.checks import SECONDS_UNTIL_RUNS_END


USER_MISSING: Final = "Arg user must be provided."
NO_CONVERSATION: Final = "Conversation Not Exists."
NO_MESSAGE: Final = "Message Not Exists."
NO_RUN: Final = "Workflow run not found"
TEAM_KEY: Final = (
    "This API key is for a whole team. The key selects the app here: make a key for the workflow, "
    "on its page under Publish, and use that one."
)
UNPUBLISHED: Final = "App unavailable: the workflow has not been published yet."


class DifyError(Exception):
    """A refusal in the words of Dify's service API. ``params`` names the field that is at fault."""

    def __init__(self, status: int, code: str, message: str, params: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.params = status, code, params


def refuse_parameter(message: str, params: str = "") -> DifyError:
    return DifyError(400, "invalid_param", message, params)


def refuse_as_missing(message: str, code: str = "not_found") -> DifyError:
    return DifyError(404, code, message)


# Our error → status and code. The most specific class wins.
CODES: Final[Mapping[type[Exception], tuple[int, str]]] = {
    account_errors.NotSignedIn: (401, "unauthorized"),
    account_errors.NotAllowed: (403, "forbidden"),
    account_errors.NotFound: (404, "not_found"),
    engine_errors.InputRejected: (400, "invalid_param"),
    engine_errors.DocumentInvalid: (400, "app_unavailable"),
    engine_errors.ModelNeeded: (400, "provider_not_initialize"),
    engine_errors.ModelFailed: (400, "completion_request_error"),
    workflow_errors.NoModelConnected: (400, "provider_not_initialize"),
    workflow_errors.InvalidValue: (400, "invalid_param"),
    workflow_errors.FileRefused: (400, "invalid_param"),
    workflow_errors.ContentTooLarge: (413, "file_too_large"),
    workflow_errors.FileTooLarge: (413, "file_too_large"),
    workflow_errors.WorkflowArchived: (403, "forbidden"),
    workflow_errors.QueueFull: (429, "too_many_requests"),
    workflow_errors.BudgetExceeded: (429, "rate_limit_error"),
    workflow_errors.WaitClosed: (412, "human_input_form_expired"),
    workflow_errors.KeyReused: (422, "idempotency_key_reused"),
    workflow_errors.KeyInUse: (409, "idempotency_key_in_use"),
}
# Status → code of every other error.
STATUS_CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "file_too_large",
    415: "unsupported_media_type",
    422: "invalid_param",
    429: "too_many_requests",
    503: "service_unavailable",
}
# The type of the error that ended a run, as its step recorded it → the code. Dify names any other one invalid_param.
RUN_ERROR_CODES: Final[Mapping[str, str]] = {
    engine_errors.ModelNeeded.__name__: "provider_not_initialize",
    engine_errors.ModelFailed.__name__: "completion_request_error",
}


def translate(error: Exception, status: int | None = None) -> DifyError:
    """Return the error of ours as Dify's clients know it. ``status`` is that of an error without a row in the table."""
    if isinstance(error, DifyError):
        return error
    row = next((CODES[parent] for parent in type(error).__mro__ if parent in CODES), None)
    if row is None:
        number = status or 500
        row = (number, STATUS_CODES.get(number, "internal_server_error"))
    return DifyError(*_refine(error, row), _describe(error), _find_field(error))


def parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _refine(error: Exception, row: tuple[int, str]) -> tuple[int, str]:
    """Return the more exact code of an error that has several reasons."""
    # Whoever has too many runs at once may try again soon; what is used up for the day comes back tomorrow.
    is_of_budget = isinstance(error, workflow_errors.BudgetExceeded)
    if is_of_budget and error.retry_after == SECONDS_UNTIL_RUNS_END:  # type: ignore[attr-defined]  # checked before
        return 429, "too_many_requests"
    return row


def _describe(error: Exception) -> str:
    problems = getattr(error, "problems", None)
    if problems:
        return "; ".join(str(problem.message) for problem in problems)
    return str(error) or (type(error).__doc__ or "").strip()


def _find_field(error: Exception) -> str:
    problems = getattr(error, "problems", None) or ()
    fields = [problem.field for problem in problems if getattr(problem, "field", None)]
    return str(fields[0] if fields else getattr(error, "field", None) or "")
