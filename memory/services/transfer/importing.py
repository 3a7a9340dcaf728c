"""Import a memory file, in one transaction. The file is checked line by line, and then imported in batches.

A dry run does the same and rolls it back, so that its report is exact. A file with a line that can't be read changes
nothing. Entries refused by permission, policy or quota are left out and reported. The others pass the content filter
and become one change in each namespace, and these changes are undone together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.http import strict_json
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, MemoryFault
from memory.core.scopes import resolve_namespace
from memory.models import Change
from memory.providers.postgres import rows
from memory.providers.postgres.importing import reserve_positions
from memory.services.gateway.audit_lines import record
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.marks import is_program
from memory.services.history.undo import undo
from memory.services.review.contradicting import propose_imported_contradictions
from memory.services.transfer.file_format import (
    AboutLine,
    EndLine,
    EntryLine,
    FileLine,
    GroupLine,
    Header,
    LineProblem,
    NamespaceLine,
    ReadLine,
    RevisionLine,
    read_lines,
)
from memory.services.transfer.import_batch import ImportBatch, ImportContext, ImportDestination
from memory.services.transfer.import_check import check_file
from memory.services.transfer.import_gate import ImportGate, ImportUnit
from memory.services.transfer.import_report import (
    ConflictRule,
    DryRunEnd,
    ImportReport,
    ImportTarget,
    Refusal,
)


BATCH_SIZE: Final = 200  # entries


@retry_on_conflict
def import_file(
    caller: MemoryCaller,
    file: BinaryIO,
    *,
    on_conflict: str = ConflictRule.NEWER,
    into: Mapping[str, str] = MappingProxyType({}),
    as_mine: bool = False,
    dry_run: bool = True,
    reason: str = "",
    restore: bool = False,
) -> ImportReport:
    """Import the file or, in a dry run, only report what this would change.

    ``into`` maps the file's namespaces to names here. With ``as_mine``, the file's person is mapped to the caller.
    What was forgotten here since is not brought back, unless ``restore`` is set. Facts that contradict others are
    imported, and proposed for review.
    """
    if on_conflict not in frozenset(ConflictRule):
        raise InvalidInput(f"on_conflict: use one of {', '.join(ConflictRule)}.")
    if file.seekable():
        file.seek(0)  # this may be a retry
    check = check_file(file)
    report = ImportReport(dry_run=dry_run, header=check.header, problems=check.problems)
    if report.problems or check.header is None:
        return report
    renamed = {**(_map_to_caller(caller, check.header) if as_mine else {}), **into}
    rule, reason = ConflictRule(on_conflict), reason or _("import")
    job = _ImportJob(caller, report, rule, reason, restore, renamed)
    file.seek(0)
    try:
        with tenant([caller.team_id]):
            targets = {renamed.get(text, text) for text in check.namespaces}
            rows.lock_namespaces(caller.team_id, targets)
            job.import_units(file)
            if dry_run:
                raise DryRunEnd
            changes = Change.objects.unscoped().filter(pk__in=report.changes)
            report.contradiction_count = sum(
                propose_imported_contradictions(caller, namespace=text, change_id=change_id)
                for change_id, text in changes.values_list("pk", "namespace__text")
            )
    except DryRunEnd:
        report.changes = []
        with tenant([caller.team_id]):
            _record_dry_run(caller, report)
    return report


@retry_on_conflict
def undo_import(caller: MemoryCaller, *, changes: Sequence[UUID | str]) -> int:
    """Undo all changes of an import or none, and return the number of imported entries."""
    if not 1 <= len(changes) <= 1_000:
        raise InvalidInput("changes: must have 1 to 1000 items.")
    with tenant([caller.team_id]):
        matches = Change.objects.unscoped().filter(team_id=caller.team_id, pk__in=changes)
        texts = matches.values_list("namespace__text", flat=True)
        rows.lock_namespaces(caller.team_id, texts)
        for change_id in changes:
            undo(caller, change_id=change_id)
        return sum(matches.values_list("entry_count", flat=True))


@dataclass(slots=True)
class _ImportJob(ImportContext):
    into: Mapping[str, str]

    def import_units(self, file: BinaryIO) -> None:
        destination: ImportDestination | None = None
        units: list[ImportUnit] = []
        gate = ImportGate(is_program=is_program(self.caller))
        for number, line in _read_checked_lines(file):
            if isinstance(line, RevisionLine):
                gate.screen_revision(number, line, units[-1])
                continue
            ends_batch = isinstance(line, NamespaceLine | GroupLine | EndLine)
            if ends_batch or len(units) >= BATCH_SIZE:
                self._import_batch(destination, units)
                units = []
            match line:
                case NamespaceLine():
                    text = self.into.get(line.namespace, line.namespace)
                    destination = ImportDestination(ImportTarget(line.namespace, text), number)
                    self.report.targets.append(destination.target)
                    self._check_namespace(destination)
                case EntryLine():
                    units.append(gate.screen_entry(number, line))
                case GroupLine():
                    self._finish_group(destination, line)
                case ReadLine() | AboutLine():
                    self.report.count_skipped(line)
        self.report.findings.sort(key=lambda finding: finding.line)

    def _check_namespace(self, destination: ImportDestination) -> None:
        """Check that the caller may write to the namespace, so that a refusal is reported once, not for each entry."""
        try:
            with open_namespace(
                self.caller, "write", "memory.imported", namespace=destination.target.to
            ) as access:
                if access.external is not None:  # an external provider can't roll back a dry run
                    raise InvalidInput(
                        _("Importing into memory of an external provider is not supported.")
                    )
                access.claim()
                access.detail.update(keys=0, **{"from": destination.target.name_in_file})
        except MemoryFault as fault:
            target = destination.target
            destination.is_refused, target.why = True, str(fault)
            self.report.add_refusal(Refusal(destination.line, target.name_in_file, "", target.why))

    def _import_batch(
        self, destination: ImportDestination | None, units: Sequence[ImportUnit]
    ) -> None:
        if destination is None or not units:
            return
        if destination.is_refused:
            destination.target.refused_count += len(units)
            return
        with open_namespace(
            self.caller, "write", "memory.imported", namespace=destination.target.to
        ) as access:
            batch = ImportBatch(self, destination, access, access.claim())
            batch.import_units(units)
            access.detail.update(
                keys=batch.count, **batch.gate_counts, **{"from": destination.target.name_in_file}
            )
            if destination.change is not None:
                access.detail["change"] = str(destination.change.pk)

    def _finish_group(self, destination: ImportDestination | None, line: GroupLine) -> None:
        if destination is None or destination.is_refused or line.name not in destination.shifts:
            return
        with tenant([self.caller.team_id]):
            namespace = rows.lock_namespace(self.caller.team_id, destination.target.to)
            if namespace is not None:
                reserve_positions(namespace, line.name, line.last_position, destination.shifts)


def _read_checked_lines(file: BinaryIO) -> Iterator[tuple[int, FileLine]]:
    """Yield the numbers and the lines of a checked file. Raise InvalidInput if it has changed since the check."""
    for item in read_lines(file, strict_json.loads):
        if isinstance(item, LineProblem):
            raise InvalidInput(f"file: line {item.line} changed while the file was read.")
        if not isinstance(item.line, Header):
            yield item.number, item.line


def _map_to_caller(caller: MemoryCaller, header: Header) -> dict[str, str]:
    if header.of != "person" or caller.principal.user_id is None:
        return {}
    file_namespace = resolve_namespace("user", {"user_id": header.name})
    return {file_namespace: resolve_namespace("user", {"user_id": str(caller.principal.user_id)})}


def _record_dry_run(caller: MemoryCaller, report: ImportReport) -> None:
    names = ("new", "overwritten", "refused", "forgotten", "redacted", "held")
    counts = {name: getattr(report, f"{name}_count") for name in names}
    record(caller, "memory.rehearsed", "import", {"import": True, **counts})
