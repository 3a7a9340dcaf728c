"""What the other side answers, as entries and as errors of our own family."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memory.core import errors
from memory.core.errors import MemoryFault, ProviderError
from memory.core.records import MemoryEntry, Source, Tier


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
        said = json.loads(body)
    except ValueError:
        raise ProviderError(f"The memory service answered {status} and no JSON.") from None
    if 200 <= status < 300:
        return said
    raise fault_of(status, said)


def fault_of(status: int, said: Any) -> MemoryFault:  # JSON, of whatever form
    error = said.get("error") if isinstance(said, Mapping) else None
    if not isinstance(error, Mapping):
        return ProviderError(f"The memory service answered {status}.")
    kind = FAULTS.get(str(error.get("type")))
    if kind is None and status in NOT_LET_IN:
        return errors.AccessDenied("The memory service does not take this key.")
    if kind is None:
        return ProviderError(f"The memory service failed ({status}).")
    return kind(_sentence(error)[:MOST_SAID])


def entry_of(said: Any) -> MemoryEntry:  # JSON, checked here
    """Raises ProviderError for what is no entry: that is not a service of ours."""
    try:
        return MemoryEntry(
            id=said["id"],
            namespace=said["namespace"],
            key=said["key"],
            value=said["value"],
            metadata=said["metadata"],
            score=said["score"],
            category=said["category"],
            tier=Tier(said["tier"]),
            importance=said["importance"],
            created_at=_moment(said["created_at"]),
            updated_at=_moment(said["updated_at"]),
            expires_at=_moment(said["expires_at"]),
            source=Source(**said["source"]),
            revision=said["revision"],
            position=said["position"],
            explain=said["explain"],
        )
    except (KeyError, TypeError, ValueError):
        raise not_ours() from None


def part(said: Any, name: str, kind: type) -> Any:  # JSON of that kind
    found = said.get(name) if isinstance(said, Mapping) else None
    if not isinstance(found, kind):
        raise not_ours()
    return found


def not_ours() -> ProviderError:
    return ProviderError("The memory service's answer is not of the expected form.")


def _sentence(error: Mapping[str, Any]) -> str:
    problems = error.get("problems")
    named = [
        f"{problem.get('field', '')}: {problem.get('message', '')}"
        for problem in (problems if isinstance(problems, list) else [])
        if isinstance(problem, Mapping)
    ]
    return "; ".join(named) or str(error.get("message", ""))


def _moment(written: str | None) -> datetime | None:
    return None if written is None else datetime.fromisoformat(written)
