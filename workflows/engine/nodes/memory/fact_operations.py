"""Checks the operations that a model wants to do to memory, before any of them counts.

Its evidence must stand word for word in what the person wrote, the id must be one that it was shown, and nothing is
forgotten unless the person asked for it. So a page, a tool's answer or an invention changes nothing about a person.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.memory_ports import FactOperation
from workflows.engine.sentences import MAX_STATEMENT_LENGTH, MAX_STATEMENTS


ADD, REPLACE, END, FORGET, ASK = "add", "replace", "end", "forget", "ask"
MIN_EVIDENCE: Final = 2  # characters
MIN_CHOICES: Final = 2

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


def check_operations(
    operations: Sequence[Mapping[str, Json]],
    message: str,
    ids: Mapping[str, str],
    *,
    may_forget: bool,
) -> tuple[tuple[FactOperation, ...], tuple[Dropped, ...]]:
    """Return the operations that count, with the entries' own ids, and those that were dropped.

    ``ids`` maps the ids that the model was shown to those of the entries.
    """
    words = _normalize(message)
    checked: dict[FactOperation, None] = {}
    dropped = []
    for operation in operations:
        reason = _find_fault(operation, words, ids, may_forget=may_forget)
        if reason or len(checked) >= MAX_STATEMENTS:
            dropped.append(Dropped(operation, reason or "too many operations"))
        else:
            checked.setdefault(_build_operation(operation, ids))
    return tuple(checked), tuple(dropped)


def _find_fault(
    operation: Mapping[str, Json], words: str, ids: Mapping[str, str], *, may_forget: bool
) -> str:
    """Return why an operation doesn't count, or an empty string."""
    action, evidence = operation["action"], _normalize(str(operation["evidence"]))
    if len(evidence) < MIN_EVIDENCE or evidence not in words:
        return "the evidence is not in the message"
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
    return FactOperation(action, text if has_text else "", targets, str(operation["evidence"]))


def _list_ids(operation: Mapping[str, Json]) -> set[str]:
    """Return the ids that the operation names: of a question, those of which the person is to choose."""
    names = operation.get("ids") if operation["action"] == ASK else [operation.get("id")]
    return {str(name) for name in names or [None]}


def _normalize(text: str) -> str:
    """Return the text without differences of case, width and white space."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
