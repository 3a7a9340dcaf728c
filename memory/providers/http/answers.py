"""Parses the other installation's responses into entries and errors."""

import json
from collections.abc import Mapping
from typing import Any

from memory.core import errors
from memory.core.entry_codec import ENTRY, from_json
from memory.core.errors import MemoryFault, ProviderAway, ProviderError
from memory.core.records import MemoryEntry


# Errors by their names in the API. Any other error counts as a failure of the other installation.
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
    "ProviderAway": errors.ProviderAway,
    "RetrievalError": errors.RetrievalError,
    # Errors of accounts, of the API itself and of its JSON parser
    "NotSignedIn": errors.AccessDenied,
    "NotAllowed": errors.AccessDenied,
    "ServiceUnavailable": errors.ProviderAway,
    "TooManyRequests": errors.ProviderAway,
    "InvalidRequest": errors.InvalidInput,
    "NotStrictJson": errors.InvalidInput,
}
UNAVAILABLE_STATUS = 503  # of a proxy whose web server is away; nothing was done
REJECTED_STATUSES = (401, 403)
UNEXPECTED_ANSWER = "The memory service sent an unexpected answer."
MAX_MESSAGE_LENGTH = 500  # characters of the other installation's message


def read_answer(status: int, body: bytes) -> Any:  # JSON
    """Return the JSON of a response; raise the error that the other installation reports."""
    if status == UNAVAILABLE_STATUS and not body.lstrip().startswith(b"{"):
        raise ProviderAway(f"The memory service answered with status {status}.")
    try:
        response = json.loads(body)
    except ValueError:
        raise ProviderError(
            f"The memory service answered with status {status} and invalid JSON."
        ) from None
    if 200 <= status < 300:
        return response
    raise build_fault(status, response)


def build_fault(status: int, response: Any) -> MemoryFault:  # any JSON
    """Build the error of a response from the type that the response names, or else from its status."""
    error = response.get("error") if isinstance(response, Mapping) else None
    if not isinstance(error, Mapping):
        return ProviderError(f"The memory service answered with status {status}.")
    fault_type = FAULTS.get(str(error.get("type")))
    if fault_type is None and status in REJECTED_STATUSES:
        return errors.AccessDenied("The memory service rejected this API key.")
    if fault_type is None:
        return ProviderError(f"The memory service failed ({status}).")
    return fault_type(_build_message(error)[:MAX_MESSAGE_LENGTH])


def parse_entry(response: Any) -> MemoryEntry:  # JSON, checked here
    """Parse an entry; raise ProviderError if the JSON isn't one, because the server is then not Mnemoflow."""
    try:
        return from_json(MemoryEntry, {name: response[name] for name in ENTRY})
    except (KeyError, TypeError, ValueError):
        raise ProviderError(UNEXPECTED_ANSWER) from None


def get_member(response: Any, name: str, expected_type: type) -> Any:  # JSON of that type
    """Return the value under the name; raise ProviderError if it is missing or of another type."""
    value = response.get(name) if isinstance(response, Mapping) else None
    if not isinstance(value, expected_type):
        raise ProviderError(UNEXPECTED_ANSWER)
    return value


def _build_message(error: Mapping[str, Any]) -> str:
    problems = error.get("problems")
    messages = [
        f"{problem.get('field', '')}: {problem.get('message', '')}"
        for problem in (problems if isinstance(problems, list) else [])
        if isinstance(problem, Mapping)
    ]
    return "; ".join(messages) or str(error.get("message", ""))
