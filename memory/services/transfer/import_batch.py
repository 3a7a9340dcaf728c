"""Import batches of entries with their revisions, which are added or overwrite existing entries."""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from config.ids import uuid7
from memory.core.entry_codec import CONTENT, get_columns, get_state
from memory.core.errors import InvalidInput, MemoryFault, QuotaExceeded
from memory.core.identifiers import is_uuid
from memory.core.policy import check_room, check_value
from memory.core.records import Source, StoreParams, Tier
from memory.core.values import build_search_text, check_params
from memory.logic.entries.held_entries import build_held_key
from memory.models import Change, Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.importing import ImportedEntry, derive_id, import_entries
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.transfer import file_format
from memory.services.transfer.forgotten_entries import ForgottenEntries
from memory.services.transfer.import_gate import ImportUnit
from memory.services.transfer.import_report import (
    ConflictRule,
    ImportFinding,
    ImportReport,
    ImportTarget,
    Refusal,
)


# Marks actors and runs that only the file claims and this installation can't verify.
FILE_PREFIX: Final = "file:"


@dataclass(slots=True)
class ImportContext:
    """The options of an import, and its report."""

    caller: MemoryCaller
    report: ImportReport
    on_conflict: ConflictRule
    reason: str
    restore: bool  # whether entries that were forgotten here are brought back


@dataclass(slots=True)
class ImportDestination:
    """The namespace that the current lines are imported into."""

    target: ImportTarget
    line: int
    change: Change | None = None
    shifts: MutableMapping[str, int] = field(default_factory=dict)  # of positions, by group
    is_refused: bool = False
    key_hashes: set[int] = field(default_factory=set)  # of the imported keys
    ids: dict[str, str] = field(
        default_factory=dict
    )  # of entries under keys that exist here, by id in the file


@dataclass(slots=True)
class ImportBatch:
    """One transaction of an import, in a locked namespace."""

    context: ImportContext
    destination: ImportDestination
    access: NamespaceAccess
    namespace: Namespace
    count: int = 0
    gate_counts: dict[str, int] = field(default_factory=dict)  # for the audit log

    def import_units(self, units: Sequence[ImportUnit]) -> None:
        """Add the units, or overwrite or keep the existing entries with their keys as the conflict rule says."""
        rows.expire(self.namespace, self.access.now)
        living = self._find_living(units)
        self._point_to_entries_here(units, living)
        new_units = []
        forgotten = None if self.context.restore else ForgottenEntries(self.namespace, units)
        for unit in units:
            if unit.line.forgotten_at is not None:
                new_units.append(unit)
                continue
            existing = self._find_existing(unit, living)
            # Checked first: if the same file is imported again, the first of the two exists already.
            if self._refuse_duplicate(unit):
                continue
            if existing is None:
                if forgotten is None or not self._omit_forgotten(unit, forgotten):
                    new_units.append(unit)
            elif not self._skip_settled(unit, existing):
                self._overwrite(unit, existing)
        self._add_entries(new_units)
        if self.destination.change is not None:
            self.destination.change.entry_count += self.count
            self.destination.change.save(update_fields=["entry_count"])

    def _point_to_entries_here(
        self, units: Sequence[ImportUnit], living: Mapping[str, Entry]
    ) -> None:
        """Let the units name the entries that they replaced, or that replaced them, by the ids that these have here.

        An entry of the file is known by its key here, or else gets an id that follows from that in the file.
        """
        ids = self.destination.ids
        ids |= {
            str(unit.line.id): str(living[unit.line.key].pk)
            for unit in units
            if unit.line.forgotten_at is None and unit.line.key in living
        }
        names = {name for unit in units for name in unit.list_entry_ids() if is_uuid(name)}
        rows_here = rows.find_living(self.namespace).filter(pk__in=[UUID(name) for name in names])
        present = {str(pk) for pk in rows_here.values_list("pk", flat=True)}
        renamed = {
            name: ids.get(name) or str(derive_id(self.namespace, UUID(name)))
            for name in names
            if name in ids or name not in present
        }
        for unit in units:
            unit.rename_entries(renamed)

    def _find_living(self, units: Sequence[ImportUnit]) -> dict[str, Entry]:
        """Return the living entries by key, for the units' keys and those they would have if they were held."""
        living_units = [unit for unit in units if unit.line.forgotten_at is None]
        keys = {unit.line.key for unit in living_units}
        keys |= {build_held_key(unit.line.key) for unit in living_units if unit.is_held}
        return {entry.key: entry for entry in rows.find_living(self.namespace).filter(key__in=keys)}

    def _find_existing(self, unit: ImportUnit, living: Mapping[str, Entry]) -> Entry | None:
        """Return the living entry with the unit's key. A held unit gets a separate key first if its key is in use."""
        existing = living.get(unit.line.key)
        if existing is None or existing.tier == Tier.QUARANTINE or not unit.is_held:
            return existing
        if self._is_kept(unit, existing):
            return existing
        unit.hold_separately()
        return living.get(unit.line.key)

    def _skip_settled(self, unit: ImportUnit, existing: Entry) -> bool:
        """Count the unit and return True if the existing entry stays as it is."""
        target = self.destination.target
        if _is_unchanged(unit, existing):
            target.same_count += 1
        elif self._is_kept(unit, existing):
            target.kept_count += 1
        else:
            return False
        return True

    def _is_kept(self, unit: ImportUnit, existing: Entry) -> bool:
        rule, is_older = self.context.on_conflict, unit.line.updated_at <= existing.updated_at
        is_kept = rule is ConflictRule.MINE or (rule is ConflictRule.NEWER and is_older)
        return is_kept or _is_unchanged(unit, existing)

    def _refuse_duplicate(self, unit: ImportUnit) -> bool:
        """Refuse the unit and return True if an earlier one has its key. Removed secrets can make keys equal."""
        key_hash = hash(unit.line.key)
        if key_hash in self.destination.key_hashes:
            message = _("Another memory in the file has the same key in this namespace.")
            self._refuse(unit, InvalidInput(message))
            return True
        self.destination.key_hashes.add(key_hash)
        return False

    def _omit_forgotten(self, unit: ImportUnit, forgotten: ForgottenEntries) -> bool:
        """Report the unit and return True if it would bring back what was forgotten here."""
        why = forgotten.explain(unit.line)
        if why:
            target = self.destination.target
            target.forgotten_count += 1
            refusal = Refusal(unit.number, target.name_in_file, unit.line.key, why)
            self.context.report.add_refusal(refusal)
        return bool(why)

    def _overwrite(self, unit: ImportUnit, existing: Entry) -> None:
        """Write the file's entry over the existing one, after the file's past revisions."""
        line, now = unit.line, self.access.now
        try:
            self._check_expiry(unit)
            ttl = (line.expires_at - now).total_seconds() if line.expires_at else None
            params = StoreParams(
                namespace=self.namespace.text,
                key=line.key,
                ttl_seconds=ttl,
                source=Source(actor=_mark_as_file(line.source.actor, 120), rule=line.source.rule),
                **get_state(line, CONTENT),
            )
            check_params(params)
            check_value(self.access.policy, params.value, key=params.key, metadata=params.metadata)
            reason, change_id = self.context.reason, self._ensure_change_id()
            context = self.access.build_context(Operation.STORE, reason, change_id)
            with transaction.atomic():
                self._add_past_revisions(unit, existing)
                rows.write(self.namespace, params, context, self.access.policy)
        except MemoryFault as fault:
            self._refuse(unit, fault)
            return
        self.destination.target.overwritten_count += 1
        self.count += 1
        self._report_findings(unit)

    def _add_past_revisions(self, unit: ImportUnit, existing: Entry) -> None:
        """Add the revisions with today's date, so that a snapshot of an earlier day shows what was here then."""
        change_id, now = self._ensure_change_id(), self.access.now
        revisions = [
            _build_past_revision(existing, number, line, change_id, now)
            for number, line in enumerate(unit.revisions[:-1], existing.revision + 1)
        ]
        Revision.objects.unscoped().bulk_create(revisions)
        existing.revision += len(revisions)
        existing.save(update_fields=["revision"])

    def _add_entries(self, units: Sequence[ImportUnit]) -> None:
        self.namespace.refresh_from_db(fields=["entry_count", "byte_count"])
        used_ids = self._find_used_ids([unit.line.id for unit in units])
        entries: list[ImportedEntry] = []
        count = size = 0
        for unit in units:
            try:
                line = unit.line
                entry_size = check_value(
                    self.access.policy, line.value, key=line.key, metadata=line.metadata
                )
                if unit.line.forgotten_at is None:
                    self._check_expiry(unit)
                    self._check_room(count + 1, size + entry_size)
                    count, size = count + 1, size + entry_size
            except (QuotaExceeded, InvalidInput) as fault:
                self._refuse(unit, fault)
                continue
            if (entry := self._build_entry(unit, entry_size, used_ids)) is not None:
                entries.append(entry)
                self._report_findings(unit)
        if entries:
            policy = self.access.policy
            rows.reserve_space(self.namespace, policy, entries=count, size=size)
            import_entries(self.namespace, entries, self.destination.shifts)
        self.destination.target.new_count += count
        self.count += count

    def _check_expiry(self, unit: ImportUnit) -> None:
        expires_at = unit.original.expires_at  # the line of a held entry has no expiry any more
        if expires_at is not None and expires_at <= self.access.now:
            raise InvalidInput(_("Already expired."))

    def _check_room(self, entries: int, size: int) -> None:
        row = self.namespace
        entries, size = row.entry_count + entries, row.byte_count + size
        check_room(self.access.policy, row.text, entries=entries, size=size)

    def _find_used_ids(self, file_ids: Sequence[UUID]) -> set[UUID]:
        """Return those of the ids in the file, and of the ids derived from them, that entries of the namespace have."""
        candidates = [*file_ids, *(derive_id(self.namespace, file_id) for file_id in file_ids)]
        entries = Entry.objects.unscoped().filter(namespace=self.namespace, pk__in=candidates)
        return set(entries.values_list("pk", flat=True))

    def _build_entry(
        self, unit: ImportUnit, size: int, used_ids: set[UUID]
    ) -> ImportedEntry | None:
        """Build the entry, or return None if it was forgotten in the file and was imported before."""
        line, now = unit.line, self.access.now
        entry_id = derive_id(self.namespace, line.id)
        if line.forgotten_at is not None and not used_ids.isdisjoint((entry_id, line.id)):
            return None
        if entry_id in used_ids:
            entry_id = uuid7()
        entry = Entry(
            id=entry_id,
            team_id=self.namespace.team_id,
            namespace=self.namespace,
            key=line.key,
            text=build_search_text(line.key, line.value),
            size=size,
            revision=line.revision,
            created_at=min(line.created_at, now),
            updated_at=min(line.updated_at, now),
            expires_at=line.expires_at,
            deleted_at=min(line.forgotten_at, now) if line.forgotten_at else None,
            source_actor=_mark_as_file(line.source.actor, 120),
            source_run=_mark_as_file(line.source.run_id, 80),
            source_node=line.source.node_id,
            source_message=line.source.message,
            source_rule=line.source.rule,
            **get_columns(line, CONTENT),
        )
        change_id, lines = self._ensure_change_id(), unit.revisions or [_build_only_line(line)]
        revisions = [_build_revision(entry, revision, change_id, now) for revision in lines]
        return ImportedEntry(entry, line.position, revisions)

    def _ensure_change_id(self) -> UUID:
        """Return the id of the change, which is created for the first entry that needs it."""
        if self.destination.change is None:
            reason = self.context.reason
            change = self.access.record_change(self.namespace, Operation.STORE, 0, reason)
            self.destination.change = change
            self.context.report.changes.append(change.pk)
        return self.destination.change.pk

    def _report_findings(self, unit: ImportUnit) -> None:
        """Report the content filter's findings in an imported unit."""
        target, line = self.destination.target, unit.line
        held_count = int(unit.is_held and line.forgotten_at is None)
        target.redacted_count += unit.secret_line_count
        target.held_count += held_count
        for name, count in (("redacted", unit.secret_line_count), ("held", held_count)):
            if count:
                self.gate_counts[name] = self.gate_counts.get(name, 0) + count
        entry = (target.name_in_file, line.key)
        for finding in unit.findings:
            self.context.report.add_finding(
                ImportFinding(finding.line, *entry, finding.secrets, finding.orders)
            )

    def _refuse(self, unit: ImportUnit, fault: MemoryFault) -> None:
        target = self.destination.target
        target.refused_count += 1
        refusal = Refusal(unit.number, target.name_in_file, unit.line.key, str(fault))
        self.context.report.add_refusal(refusal)


def _is_unchanged(unit: ImportUnit, existing: Entry) -> bool:
    """Return whether the existing entry equals the unit before (a member may have approved it) or after the filter."""
    return any(_is_same_state(line, existing) for line in (unit.original, unit.line))


def _is_same_state(line: file_format.EntryLine, existing: Entry) -> bool:
    return get_columns(existing) == {**get_columns(line), "position": existing.position}


def _mark_as_file(name: str, max_length: int) -> str:
    is_unmarked = name and not name.startswith(FILE_PREFIX)
    return f"{FILE_PREFIX}{name}"[:max_length] if is_unmarked else name


def _build_only_line(line: file_format.EntryLine) -> file_format.RevisionLine:
    """Build the only revision of an entry that has no revisions in the file."""
    return file_format.RevisionLine(
        entry=line.id,
        number=line.revision,
        operation="forget" if line.forgotten_at else "store",
        actor=line.source.actor,
        at=line.forgotten_at or line.updated_at,
        **get_columns(line),
    )


def _build_revision(
    entry: Entry, line: file_format.RevisionLine, change_id: UUID, now: datetime
) -> Revision:
    return Revision(
        team_id=entry.team_id,
        entry=entry,
        number=line.number,
        operation=line.operation,
        actor=_mark_as_file(line.actor, 120),
        reason=line.reason,
        run_id=_mark_as_file(line.run_id, 80),
        node_id=line.node_id,
        change_id=change_id,
        at=min(line.at, now),
        **get_columns(line),
    )


def _build_past_revision(
    existing: Entry, number: int, line: file_format.RevisionLine, change_id: UUID, now: datetime
) -> Revision:
    """Build a revision of the file for the history of an existing entry. Its reason says when it was made."""
    revision = _build_revision(existing, line, change_id, now)
    revision.number = number
    origin = _("%(when)s in the file") % {"when": line.at.isoformat(timespec="minutes")}
    revision.reason = (f"{origin}: {line.reason}" if line.reason else origin)[:500]
    revision.position, revision.at = existing.position, now
    return revision
