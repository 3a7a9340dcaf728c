"""The gate before what a file brings: no secret in any of its lines, and what reads like orders waits for a person.

A file is a stranger, whoever sends it. That a person said it or has approved it, is no more than what
the file says, so nothing passes for that. What is harmless comes just as it stands there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from memory.core.filters import same_json
from memory.core.records import Json, StoreParams, Tier
from memory.core.values import MAX_KEY_LENGTH
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import (
    FindingReason,
    IngressOutcome,
    ScreeningResult,
    screen_params,
)
from memory.logic.entries.origins import ContentOrigin
from memory.logic.entries.secrets import find_secrets, redact
from memory.logic.entries.tiers import TierAction
from memory.services.transfer import file_format


@dataclass(frozen=True, slots=True)
class Found:
    """In a line. ``secrets``: their kinds; ``orders``: what they were known by, where it is held for them."""

    line: int
    secrets: tuple[str, ...] = ()
    orders: str = ""


@dataclass(slots=True)
class Unit:
    """An entry with its past as they passed the gate, and the line it stands in. ``said``: what stood there."""

    number: int
    line: file_format.EntryLine
    said: file_format.EntryLine
    past: list[file_format.RevisionLine] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)

    @property
    def is_held(self) -> bool:
        return any(one.orders and one.line == self.number for one in self.found)

    @property
    def secret_lines(self) -> int:
        return sum(bool(one.secrets) for one in self.found)

    def hold_apart(self) -> None:
        """Under a key of its own, so that what is in use under its key stays in use."""
        line = self.line
        apart = hold_entry(
            line.key, StoreParams("", line.key, value=line.value, metadata=line.metadata)
        )
        self.line = _with(line, key=apart.key, metadata=apart.metadata)
        if self.past:
            self.past[-1] = _with(self.past[-1], metadata=apart.metadata)


@dataclass(slots=True)
class Gate:
    """Line after line. What says the same as the entry or the line before is not judged again."""

    _entry: "_Known | None" = None
    _before: "_Known | None" = None

    def entry(self, number: int, said: file_format.EntryLine) -> Unit:
        self._entry = None
        line, found = self._passed(number, said)
        self._entry = self._before
        key, kinds = _redacted([said.key], MAX_KEY_LENGTH)
        source, more = _redacted_fields(said.source, _OF_SOURCE)
        if kinds or more:
            line = _with(line, key=key[0], source=_with(said.source, **source))
        unit = Unit(number, line, said)
        _note(unit, found, (*kinds, *more))
        return unit

    def revision(self, number: int, said: file_format.RevisionLine, unit: Unit) -> None:
        line, found = self._passed(number, said)
        texts, kinds = _redacted_fields(said, _OF_REVISION)
        unit.past.append(_with(line, **texts) if kinds else line)
        if unit.is_held:  # which is said of the entry
            found = Found(number, found.secrets)
        _note(unit, found, kinds)

    def _passed(self, number: int, line: "L") -> tuple["L", Found]:
        known = (one for one in (self._entry, self._before) if one and _says(line, one))
        self._before = next(known, None) or (line, _judge(line))
        judged = self._before[1]
        if not judged.findings:
            return line, Found(number)
        kept, said = judged.params, {one.reason: one.detail for one in judged.findings}
        changes: dict[str, Any] = {"value": kept.value, "metadata": dict(kept.metadata)}
        if judged.outcome is IngressOutcome.QUARANTINE:
            changes |= {"tier": Tier.QUARANTINE, "expires_at": None}
            changes["metadata"] = _undecided(changes["metadata"])
        secrets = (
            tuple(said.get(FindingReason.SECRET, "").split(", "))
            if FindingReason.SECRET in said
            else ()
        )
        return _with(line, **changes), Found(
            number, secrets, said.get(FindingReason.HAS_INSTRUCTIONS, "")
        )


_Known = tuple[file_format.EntryLine | file_format.RevisionLine, ScreeningResult]
L = TypeVar("L", file_format.EntryLine, file_format.RevisionLine)
_M = TypeVar("_M", file_format.EntryLine, file_format.RevisionLine, file_format.Source)

# Texts beside the value, and how long each may be.
_OF_SOURCE: Final = {"actor": 120, "run_id": 80, "node_id": 200, "message": 80, "rule": 120}
_OF_REVISION: Final = {"actor": 120, "run_id": 80, "node_id": 200, "reason": 500}


def _says(line: file_format.EntryLine | file_format.RevisionLine, known: _Known) -> bool:
    """What was judged before: as JSON has it, where a yes is not a one."""
    before, _judged = known
    same = same_json([line.value, line.metadata], [before.value, before.metadata])
    return same and line.tier is before.tier


def _judge(line: file_format.EntryLine | file_format.RevisionLine) -> ScreeningResult:
    """What waits over there waits here, for the reasons it has."""
    waits = line.tier is Tier.QUARANTINE
    params = StoreParams("", "", value=line.value, metadata=line.metadata, tier=line.tier)
    return screen_params(params, ContentOrigin.PERSON if waits else ContentOrigin.TOOL)


def _undecided(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """That it was approved somewhere else decides nothing here; that it was rejected, may stay."""
    if metadata.get("review") == TierAction.REJECT:
        return dict(metadata)
    return {name: value for name, value in metadata.items() if name not in _DECISION}


_DECISION: Final = frozenset({"review", "review_reason"})


def _redacted(texts: Iterable[str], most: int) -> tuple[list[str], tuple[str, ...]]:
    done = [redact(text) for text in texts]
    kinds = [kind for one in done for kind in one.kinds]
    return [str(one.value)[:most] for one in done], tuple(kinds)


def _redacted_fields(
    line: file_format.Source | file_format.RevisionLine, fields: Mapping[str, int]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Only where there is a secret in one of them, which one look tells."""
    texts = {name: getattr(line, name) for name in fields}
    if not find_secrets("\n".join(texts.values())):
        return {}, ()
    kinds: list[str] = []
    for name, text in texts.items():
        (texts[name],), found = _redacted([text], fields[name])
        kinds += found
    return texts, tuple(kinds)


def _with(line: _M, **changes: Any) -> _M:
    return line.model_copy(update=changes)


def _note(unit: Unit, found: Found, kinds: tuple[str, ...]) -> None:
    secrets = tuple(dict.fromkeys((*found.secrets, *kinds)))
    if secrets or found.orders:
        unit.found.append(Found(found.line, secrets, found.orders))
