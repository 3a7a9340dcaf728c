"""The answers of the other installation, as entries and as errors of our own family."""

import json
from collections.abc import Mapping
from typing import Any

from memory.core import errors
from memory.core.entry_codec import ENTRY, from_json
from memory.core.errors import MemoryFault, ProviderError
from memory.core.records import MemoryEntry


# As the API names them. Whatever else it says is the store's fault, not the caller's.
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
    # Those of accounts, of the API itself, and of its reader of JSON
    "NotSignedIn": errors.AccessDenied,
    "NotAllowed": errors.AccessDenied,
    "InvalidRequest": errors.InvalidInput,
    "NotStrictJson": errors.InvalidInput,
}
NOT_LET_IN = (401, 403)
MOST_SAID = 500  # characters of what the other side says


def read(status: int, body: bytes) -> Any:  # JSON
    """The answer's JSON; raises what the other side raised."""
    try:
        answer = json.loads(body)
    except ValueError:
        raise ProviderError(
            f"The memory service answered with status {status} and invalid JSON."
        ) from None
    if 200 <= status < 300:
        return answer
    raise fault_of(status, answer)


def fault_of(status: int, answer: Any) -> MemoryFault:  # JSON, of whatever form
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if not isinstance(error, Mapping):
        return ProviderError(f"The memory service answered with status {status}.")
    kind = FAULTS.get(str(error.get("type")))
    if kind is None and status in NOT_LET_IN:
        return errors.AccessDenied("The memory service rejected this API key.")
    if kind is None:
        return ProviderError(f"The memory service failed ({status}).")
    return kind(_sentence(error)[:MOST_SAID])


def entry_of(answer: Any) -> MemoryEntry:  # JSON, checked here
    """Raises ProviderError for what is no entry: that is not a service of ours."""
    try:
        return from_json(MemoryEntry, {name: answer[name] for name in ENTRY})
    except (KeyError, TypeError, ValueError):
        raise not_ours() from None


def part(answer: Any, name: str, kind: type) -> Any:  # JSON of that kind
    value = answer.get(name) if isinstance(answer, Mapping) else None
    if not isinstance(value, kind):
        raise not_ours()
    return value


def not_ours() -> ProviderError:
    return ProviderError("The memory service sent an unexpected answer.")


def _sentence(error: Mapping[str, Any]) -> str:
    problems = error.get("problems")
    named = [
        f"{problem.get('field', '')}: {problem.get('message', '')}"
        for problem in (problems if isinstance(problems, list) else [])
        if isinstance(problem, Mapping)
    ]
    return "; ".join(named) or str(error.get("message", ""))
