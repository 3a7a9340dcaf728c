"""Checks the operations that a model wants to do to memory, before any of them counts.

The id must be one that it was shown, and nothing is forgotten unless the person asked for it. Memory compares the operation
with the person's own words: its evidence must stand there, say what the text says, and speak of the entry that is to change.
So a page, a tool's answer or an invention changes nothing about a person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from workflows.engine.language.document import Json
from workflows.engine.memory_ports import FactOperation
from workflows.engine.sentences import MAX_STATEMENT_LENGTH, MAX_STATEMENTS


ADD, REPLACE, END, FORGET, ASK = "add", "replace", "end", "forget", "ask"
MIN_CHOICES: Final = 2
DATES: Final = ("valid_from", "valid_until")

OPERATIONS_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": [ADD, REPLACE, END, FORGET, ASK]},
                    "id": {"type": "string"},
                    "ids": {"type": "array", "items": {"type": "string"}},
                    "text": {"type": "string"},
                    "evidence": {"type": "string"},
                    "valid_from": {"type": "string"},
                    "valid_until": {"type": "string"},
                },
                "required": ["action", "evidence"],
            },
        }
    },
    "required": ["operations"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Dropped:
    """An operation that was dropped, and why."""

    operation: Mapping[str, Json]
    reason: str


class FindFault(Protocol):
    """Says why the person's own words don't say what an operation does, as ``FactProposal.find_fault``."""

    def __call__(self, operation: Mapping[str, Json]) -> str: ...


def check_operations(
    operations: Sequence[Mapping[str, Json]],
    ids: Mapping[str, str],
    find_fault: FindFault,
    *,
    may_forget: bool,
) -> tuple[tuple[FactOperation, ...], tuple[Dropped, ...]]:
    """Return the operations that count, with the entries' own ids, and those that were dropped.

    ``ids`` maps the ids that the model was shown to those of the entries.
    """
    checked: dict[FactOperation, None] = {}
    dropped = []
    for operation in operations:
        reason = _find_fault_of_form(operation, ids, may_forget=may_forget)
        reason = reason or _find_fault_of_dates(operation)
        reason = reason or find_fault(asdict(_build_operation(operation, ids)))
        if reason or len(checked) >= MAX_STATEMENTS:
            dropped.append(Dropped(operation, reason or "too many operations"))
        else:
            checked.setdefault(_build_operation(operation, ids))
    return tuple(checked), tuple(dropped)


def _find_fault_of_form(
    operation: Mapping[str, Json], ids: Mapping[str, str], *, may_forget: bool
) -> str:
    """Return why an operation doesn't count whatever the person wrote, or an empty string."""
    action = operation["action"]
    if action in (ADD, REPLACE) and not str(operation.get("text") or "").strip():
        return "the text is missing"
    if action != ADD and not _list_ids(operation) <= ids.keys():
        return "the id is not one that was shown"
    if action == ASK and len(_list_ids(operation)) < MIN_CHOICES:
        return "there is nothing to choose"
    if action in (FORGET, ASK) and not may_forget:
        return "the person did not ask to forget anything"
    return ""


def _build_operation(operation: Mapping[str, Json], ids: Mapping[str, str]) -> FactOperation:
    action = str(operation["action"])
    text = " ".join(str(operation.get("text") or "").split())[:MAX_STATEMENT_LENGTH]
    targets = () if action == ADD else tuple(ids[name] for name in sorted(_list_ids(operation)))
    has_text = action in (ADD, REPLACE)
    dates = {name: str(operation.get(name) or "") for name in DATES} if has_text else {}
    evidence = str(operation["evidence"])
    return FactOperation(action, text if has_text else "", targets, evidence, **dates)


def _find_fault_of_dates(operation: Mapping[str, Json]) -> str:
    """Return why the dates of an operation don't count, or an empty string."""
    try:
        moments = [_read_moment(str(operation.get(name) or "")) for name in DATES]
    except ValueError:
        return "the date is not an ISO date"
    valid_from, valid_until = moments
    is_turned = valid_from and valid_until and valid_until <= valid_from
    return "it would end before it begins" if is_turned else ""


def _read_moment(text: str) -> datetime | None:
    moment = datetime.fromisoformat(text) if text else None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _list_ids(operation: Mapping[str, Json]) -> set[str]:
    """Return the ids that the operation names: of a question, those of which the person is to choose."""
    names = operation.get("ids") if operation["action"] == ASK else [operation.get("id")]
    return {str(name) for name in names or [None]}
