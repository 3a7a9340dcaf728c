"""Import: a file that memory wrote, checked line by line, then brought in a batch a transaction.

A dry run does all of it and takes it back, so that what it says is what would happen. A file with a line
that can't be read changes nothing. What rights, policy or quota refuse is left out and named; the rest comes
through the gate, as one change a namespace, and they undo together.
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
from memory.providers.postgres.importing import leave_empty
from memory.services.gateway.audit_lines import record
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.history.undo import undo
from memory.services.transfer import file_format
from memory.services.transfer.import_batch import Batch, Here, Terms
from memory.services.transfer.import_check import check_file
from memory.services.transfer.import_gate import Gate, Unit
from memory.services.transfer.import_report import Clash, Imported, Refusal, Target


AT_ONCE: Final = 200  # entries a transaction


@retry_on_conflict
def import_file(
    caller: MemoryCaller,
    file: BinaryIO,
    *,
    clash: str = Clash.NEWER,
    into: Mapping[str, str] = MappingProxyType({}),
    as_mine: bool = False,
    dry_run: bool = True,
    reason: str = "",
) -> Imported:
    """``into``: namespaces of the file by what they shall be here. ``as_mine``: the file's person is who asks."""
    if clash not in frozenset(Clash):
        raise InvalidInput(f"clash: use one of {', '.join(Clash)}.")
    if file.seekable():
        file.seek(0)  # it may be the second try
    checked = check_file(file)
    report = Imported(dry_run=dry_run, header=checked.header, problems=checked.problems)
    if report.problems or checked.header is None:
        return report
    places = {**(_mine(caller, checked.header) if as_mine else {}), **into}
    work = _Work(caller, report, Clash(clash), reason or _("import"), places)
    file.seek(0)
    try:
        with tenant([caller.team_id]):
            targets = {places.get(one, one) for one in checked.namespaces}
            rows.lock_namespaces(caller.team_id, targets)
            work.bring(file)
            if dry_run:
                raise _TakenBack
    except _TakenBack:
        report.changes = []
        with tenant([caller.team_id]):
            _record_rehearsal(caller, report)
    return report


@retry_on_conflict
def undo_import(caller: MemoryCaller, *, changes: Sequence[UUID | str]) -> int:
    """All namespaces of an import or none; how many entries there were."""
    if not 1 <= len(changes) <= 1_000:
        raise InvalidInput("changes: must have 1 to 1000 items.")
    with tenant([caller.team_id]):
        found = Change.objects.unscoped().filter(team_id=caller.team_id, pk__in=changes)
        places = found.values_list("namespace__text", flat=True)
        rows.lock_namespaces(caller.team_id, places)
        for one in changes:
            undo(caller, change_id=one)
        return sum(found.values_list("entry_count", flat=True))


class _TakenBack(Exception):
    """The end of a dry run."""


@dataclass(slots=True)
class _Work(Terms):
    into: Mapping[str, str]

    def bring(self, file: BinaryIO) -> None:
        here: Here | None = None
        waiting: list[Unit] = []
        gate = Gate()
        for number, line in _lines(file):
            if isinstance(line, file_format.RevisionLine):
                gate.revision(number, line, waiting[-1])
                continue
            if len(waiting) >= AT_ONCE or isinstance(
                line, file_format.NamespaceLine | file_format.GroupLine | file_format.EndLine
            ):
                self._batch(here, waiting)
                waiting = []
            if isinstance(line, file_format.NamespaceLine):
                text = self.into.get(line.namespace, line.namespace)
                here = Here(Target(line.namespace, text), number)
                self.report.targets.append(here.target)
                self._open(here)
            elif isinstance(line, file_format.EntryLine):
                waiting.append(gate.entry(number, line))
            elif isinstance(line, file_format.GroupLine):
                self._end_group(here, line)
            elif not isinstance(line, file_format.EndLine):
                self.report.leave(line)
        self.report.caught.sort(key=lambda one: one.line)

    def _open(self, here: Here) -> None:
        """Whether these may come at all is asked once, so that it is said of the namespace and not of each."""
        try:
            with MemoryGateway(self.caller).open_namespace(
                "write", "memory.imported", namespace=here.target.to
            ) as access:
                if access.external is not None:  # which takes nothing back, a dry run's neither
                    raise InvalidInput(
                        _("Importing into memory of an external provider is not supported.")
                    )
                access.claim()
                access.detail.update(keys=0, **{"from": here.target.named})
        except MemoryFault as fault:
            here.refused = True
            here.target.why = str(fault)
            self.report.refuse(Refusal(here.line, here.target.named, "", str(fault)))

    def _batch(self, here: Here | None, units: Sequence[Unit]) -> None:
        if here is None or not units:
            return
        if here.refused:
            here.target.refused += len(units)
            return
        with MemoryGateway(self.caller).open_namespace(
            "write", "memory.imported", namespace=here.target.to
        ) as access:
            batch = Batch(self, here, access, access.claim())
            batch.bring(units)
            access.detail.update(keys=batch.done, **batch.judged, **{"from": here.target.named})
            if here.change is not None:
                access.detail["change"] = str(here.change.pk)

    def _end_group(self, here: Here | None, line: file_format.GroupLine) -> None:
        if here is None or here.refused or line.name not in here.shifts:
            return
        with tenant([self.caller.team_id]):
            namespace = rows.lock_namespace(self.caller.team_id, here.target.to)
            if namespace is not None:
                leave_empty(namespace, line.name, line.last_position, here.shifts)


def _lines(file: BinaryIO) -> Iterator[tuple[int, file_format.Line]]:
    """A second time through what was found good."""
    for one in file_format.read(file, strict_json.loads):
        if isinstance(one, file_format.Problem):
            raise InvalidInput(f"file: line {one.line} changed while the file was read.")
        if not isinstance(one.line, file_format.Header):
            yield one.number, one.line


def _mine(caller: MemoryCaller, header: file_format.Header) -> dict[str, str]:
    if header.of != "person" or caller.principal.user_id is None:
        return {}
    theirs = resolve_namespace("user", {"user_id": header.name})
    return {theirs: resolve_namespace("user", {"user_id": str(caller.principal.user_id)})}


def _record_rehearsal(caller: MemoryCaller, report: Imported) -> None:
    done = {"new": report.new, "overwritten": report.overwritten, "refused": report.refused}
    done |= {"redacted": report.redacted, "held": report.held}
    record(caller, "memory.rehearsed", "import", {"import": True, **done})
