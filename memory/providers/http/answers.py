"""The parsing of the other installation's answers into entries and errors of our own."""

import json
from collections.abc import Mapping
from typing import Any

from memory.core import errors
from memory.core.entry_codec import ENTRY, from_json
from memory.core.errors import MemoryFault, ProviderError
from memory.core.records import MemoryEntry


# By their names in the API. Any other error is a fault of the store, not of the caller.
FAULTS: Mapping[str, type[MemoryFault]] = {
    "NotFound": errors.NotFound,
    "AlreadyExists": errors.AlreadyExists,
    "AccessDenied": errors.AccessDenied,
    "QuotaExceeded": errors.QuotaExceeded,
    "ValueTooLarge": errors.ValueTooLarge,
    "InvalidInput": errors.InvalidInput,
    "NotAdmitted": errors.NotAdmitted,
    "Serialization": errors.Serialization,
    "ProviderError": errors.ProviderError,
    "RetrievalError": errors.RetrievalError,
    # Errors of accounts, of the API itself and of its JSON parser
    "NotSignedIn": errors.AccessDenied,
    "NotAllowed": errors.AccessDenied,
    "InvalidRequest": errors.InvalidInput,
    "NotStrictJson": errors.InvalidInput,
}
REJECTED_STATUSES = (401, 403)
MAX_MESSAGE_LENGTH = 500  # characters of the other installation's message


def read_answer(status: int, body: bytes) -> Any:  # JSON
    """Parse the answer's JSON; raise the error that the other installation reports."""
    try:
        answer = json.loads(body)
    except ValueError:
        raise ProviderError(
            f"The memory service answered with status {status} and invalid JSON."
        ) from None
    if 200 <= status < 300:
        return answer
    raise build_fault(status, answer)


def build_fault(status: int, answer: Any) -> MemoryFault:  # JSON, of whatever form
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if not isinstance(error, Mapping):
        return ProviderError(f"The memory service answered with status {status}.")
    kind = FAULTS.get(str(error.get("type")))
    if kind is None and status in REJECTED_STATUSES:
        return errors.AccessDenied("The memory service rejected this API key.")
    if kind is None:
        return ProviderError(f"The memory service failed ({status}).")
    return kind(_build_message(error)[:MAX_MESSAGE_LENGTH])


def parse_entry(answer: Any) -> MemoryEntry:  # JSON, checked here
    """Parse an entry. Raise ProviderError if it is none: the server is then not an installation of ours."""
    try:
        return from_json(MemoryEntry, {name: answer[name] for name in ENTRY})
    except (KeyError, TypeError, ValueError):
        raise build_unexpected_answer_error() from None


def get_part(answer: Any, name: str, kind: type) -> Any:  # JSON of that kind
    value = answer.get(name) if isinstance(answer, Mapping) else None
    if not isinstance(value, kind):
        raise build_unexpected_answer_error()
    return value


def build_unexpected_answer_error() -> ProviderError:
    return ProviderError("The memory service sent an unexpected answer.")


def _build_message(error: Mapping[str, Any]) -> str:
    problems = error.get("problems")
    messages = [
        f"{problem.get('field', '')}: {problem.get('message', '')}"
        for problem in (problems if isinstance(problems, list) else [])
        if isinstance(problem, Mapping)
    ]
    return "; ".join(messages) or str(error.get("message", ""))
