"""The content filter for imports, which removes secrets and holds entries with instructions for a review.

A file is always untrusted: that a person wrote or approved an entry is only a claim of the file and has no effect. What a
program imports is marked as what it stores is. Other entries without findings are imported unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from memory.core.filters import is_same_json
from memory.core.records import StoreParams, Tier
from memory.core.values import MAX_KEY_LENGTH
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import (
    FindingReason,
    IngressOutcome,
    ScreeningResult,
    screen_params,
)
from memory.logic.entries.origins import ContentOrigin, drop_approval, is_approved
from memory.logic.entries.secrets import find_secrets, redact
from memory.services.gateway.marks import mark_for_program
from memory.services.transfer.file_format import EntryLine, RevisionLine, Source


_Line = TypeVar("_Line", EntryLine, RevisionLine)
_Model = TypeVar("_Model", EntryLine, RevisionLine, Source)
_ScreenedLine = tuple[EntryLine | RevisionLine, ScreeningResult]

# The other texts of a line and their maximum lengths.
_SOURCE_LENGTHS: Final = {"actor": 120, "run_id": 80, "node_id": 200, "message": 80, "rule": 120}
_REVISION_LENGTHS: Final = {"actor": 120, "run_id": 80, "node_id": 200, "reason": 500}


@dataclass(frozen=True, slots=True)
class LineFinding:
    """The findings in a line: the kinds of secrets, and the rule that recognized instructions for which it is held."""

    line: int
    secrets: tuple[str, ...] = ()
    orders: str = ""


@dataclass(slots=True)
class ImportUnit:
    """An entry with its revisions after the content filter, its line number, and the ``original`` line."""

    number: int
    line: EntryLine
    original: EntryLine
    revisions: list[RevisionLine] = field(default_factory=list)
    findings: list[LineFinding] = field(default_factory=list)

    @property
    def is_held(self) -> bool:
        return any(finding.orders and finding.line == self.number for finding in self.findings)

    @property
    def secret_line_count(self) -> int:
        return sum(bool(finding.secrets) for finding in self.findings)

    def list_entry_ids(self) -> set[str]:
        """Return the ids in the file of the entries that this one replaced, or that replaced it, at any time."""
        lines = (self.line, self.original, *self.revisions)
        return {name for line in lines for name in (line.replaces, line.replaced_by) if name}

    def rename_entries(self, ids: Mapping[str, str]) -> None:
        """Exchange these ids of other entries."""
        self.line, self.original = _rename(self.line, ids), _rename(self.original, ids)
        self.revisions = [_rename(revision, ids) for revision in self.revisions]

    def hold_separately(self) -> None:
        """Give the entry a separate key so that the existing entry under its key stays in use."""
        line = self.line
        params = StoreParams("", line.key, value=line.value, metadata=line.metadata)
        held_entry = hold_entry(line.key, params)
        self.line = _replace(line, key=held_entry.key, metadata=held_entry.metadata)
        if self.revisions:
            self.revisions[-1] = _replace(self.revisions[-1], metadata=held_entry.metadata)


@dataclass(slots=True)
class ImportGate:
    """The content filter for consecutive lines. One that equals its entry or the previous line isn't screened again."""

    is_program: bool = False  # a program imports the file for itself
    _entry: _ScreenedLine | None = None
    _previous: _ScreenedLine | None = None

    def screen_entry(self, number: int, original: EntryLine) -> ImportUnit:
        """Return the entry after the content filter, as a unit with its findings."""
        self._entry = None
        line, finding = self._screen(number, self._mark(original))
        self._entry = self._previous
        key, kinds = _redact_text(original.key, MAX_KEY_LENGTH)
        source, source_kinds = _redact_fields(original.source, _SOURCE_LENGTHS)
        if kinds or source_kinds:
            line = _replace(line, key=key, source=_replace(original.source, **source))
        unit = ImportUnit(number, line, original)
        _add_finding(unit, finding, (*kinds, *source_kinds))
        return unit

    def screen_revision(self, number: int, original: RevisionLine, unit: ImportUnit) -> None:
        """Add the revision after the content filter, and its findings, to the unit of its entry."""
        line, finding = self._screen(number, self._mark(original))
        texts, kinds = _redact_fields(original, _REVISION_LENGTHS)
        unit.revisions.append(_replace(line, **texts) if kinds else line)
        if unit.is_held:  # already reported for the entry
            finding = LineFinding(number, finding.secrets)
        _add_finding(unit, finding, kinds)

    def _mark(self, line: _Line) -> _Line:
        """Return the line without an approval, and with the origin that its importer may state."""
        if self.is_program:
            return _replace(line, metadata=mark_for_program(line.metadata))
        if not is_approved(line.metadata):
            return line
        return _replace(line, metadata=drop_approval(line.metadata))

    def _screen(self, number: int, line: _Line) -> tuple[_Line, LineFinding]:
        earlier_lines = (screened for screened in (self._entry, self._previous) if screened)
        same_lines = (screened for screened in earlier_lines if _is_same(line, screened[0]))
        self._previous = next(same_lines, None) or (line, _screen_line(line))
        result = self._previous[1]
        if not result.findings:
            return line, LineFinding(number)
        params = result.params
        details = {finding.reason: finding.detail for finding in result.findings}
        changes: dict[str, Any] = {"value": params.value, "metadata": dict(params.metadata)}
        if result.outcome is IngressOutcome.QUARANTINE:
            changes |= {"tier": Tier.QUARANTINE, "expires_at": None}
        has_secrets = FindingReason.SECRET in details
        secrets = tuple(details[FindingReason.SECRET].split(", ")) if has_secrets else ()
        orders = details.get(FindingReason.HAS_INSTRUCTIONS, "")
        return _replace(line, **changes), LineFinding(number, secrets, orders)


def _is_same(line: EntryLine | RevisionLine, other: EntryLine | RevisionLine) -> bool:
    """Return whether the lines are equal for the filter. They are compared as JSON, where true and 1 differ."""
    is_equal = is_same_json([line.value, line.metadata], [other.value, other.metadata])
    return is_equal and line.tier is other.tier


def _screen_line(line: EntryLine | RevisionLine) -> ScreeningResult:
    """Screen the line. An entry that was in quarantine stays there without being held for instructions again."""
    is_quarantined = line.tier is Tier.QUARANTINE
    params = StoreParams("", "", value=line.value, metadata=line.metadata, tier=line.tier)
    return screen_params(params, ContentOrigin.PERSON if is_quarantined else ContentOrigin.TOOL)


def _redact_text(text: str, length: int) -> tuple[str, tuple[str, ...]]:
    redaction = redact(text)
    return str(redaction.value)[:length], tuple(redaction.kinds)


def _redact_fields(
    line: Source | RevisionLine, fields: Mapping[str, int]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the fields without their secrets, and the kinds of these. Both are empty if there are no secrets."""
    texts = {name: getattr(line, name) for name in fields}
    if not find_secrets("\n".join(texts.values())):
        return {}, ()
    kinds: list[str] = []
    for name, text in texts.items():
        texts[name], field_kinds = _redact_text(text, fields[name])
        kinds += field_kinds
    return texts, tuple(kinds)


def _replace(model: _Model, **changes: Any) -> _Model:
    return model.model_copy(update=changes)


def _rename(line: _Line, ids: Mapping[str, str]) -> _Line:
    names = {"replaces": line.replaces, "replaced_by": line.replaced_by}
    renamed = {field: ids[name] for field, name in names.items() if name in ids}
    return _replace(line, **renamed) if renamed else line


def _add_finding(unit: ImportUnit, finding: LineFinding, kinds: tuple[str, ...]) -> None:
    secrets = tuple(dict.fromkeys((*finding.secrets, *kinds)))
    if secrets or finding.orders:
        unit.findings.append(LineFinding(finding.line, secrets, finding.orders))
