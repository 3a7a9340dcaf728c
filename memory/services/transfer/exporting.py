"""Export a namespace, all memory about a person, or the part of a team's memory that the caller may see, as one file.

The file is first written to disk, a few entries at a time, and sent afterwards, so that a slow reader keeps no
transaction open, and a refusal is raised before the first byte.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Final, Literal, TypeVar, cast
from uuid import UUID

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import access, audit
from accounts.models import Team
from accounts.personas import find_player, strip_player
from accounts.request_transaction import pausable_tenant
from config.retry import retry_on_conflict
from memory import permissions
from memory.core.errors import AccessDenied, NotFound
from memory.core.identifiers import normalize_identifier
from memory.core.policy import NO_LIMITS
from memory.core.provider import NamespaceStore
from memory.core.records import Json, MemoryQuery
from memory.core.scopes import parse_namespace, resolve_namespace
from memory.host import get_host
from memory.models import Entry, Group, Namespace, Read, Revision
from memory.providers.postgres import rows
from memory.providers.postgres.vectors import RUN_SCOPES
from memory.routing import find_external_provider
from memory.services.erasure.erase import list_namespaces_of_person
from memory.services.gateway.audit_lines import record_refusal
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess, find_target
from memory.services.transfer import file_format
from memory.services.transfer.export_lines import (
    build_entry_line,
    build_external_revision_line,
    build_read_line,
    build_revision_line,
)


BATCH_SIZE: Final = 100  # entries
MAX_MEMORY_BYTES: Final = 2 * 1024 * 1024  # larger exports go to disk
CHUNK_BYTES: Final = 256 * 1024

ExportKind = Literal["namespace", "person", "team"]
T = TypeVar("T")


@dataclass(slots=True)
class ExportFile:
    """A finished export, whose file can be read once and is closed afterwards."""

    file: BinaryIO
    size: int
    header: file_format.Header

    def read_chunks(self) -> Iterator[bytes]:
        with self.file:
            while chunk := self.file.read(CHUNK_BYTES):
                yield chunk


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of an export: the number of namespaces left out, whether the namespaces are exported without a check
    of the permission, whether reads are included, and the kinds and contents of the host's records.
    """

    left_out: int = 0
    is_owner: bool = False
    reads: bool = False
    records: Sequence[tuple[str, Mapping[str, Json]]] = ()


NO_OPTIONS: Final = ExportOptions()


class _TempFile(SpooledTemporaryFile[bytes]):
    """A temporary file that is closed even when the reader goes away."""

    def __del__(self) -> None:
        self.close()


def check_can_export(access: NamespaceAccess) -> None:
    """Raise AccessDenied under emergency access, because it ends and its reads are recorded, but a file would stay."""
    if access.emergency_access:
        raise AccessDenied(_("Emergency access is view-only; export is not allowed."))


@retry_on_conflict
def export_namespace(caller: MemoryCaller, *, namespace: str) -> ExportFile:
    """Export a namespace that the caller may view other than by emergency access."""
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        if access.target.row is None:
            raise NotFound(_("Memory not found."))
        namespaces = [access.target.row]
    with pausable_tenant([caller.team_id]):
        return _write_file(caller, "namespace", namespace, namespaces)


def export_person(caller: MemoryCaller, *, subject: str) -> ExportFile:
    """Export all memory about a person for themselves or the key that names them, and for others what they may see.

    A key needs the scope to read memory, and the scope to read runs for the records of the host.
    """
    with pausable_tenant([caller.team_id]):
        subject = normalize_identifier(subject)
        namespaces = list_namespaces_of_person(caller.team_id, subject)
        parsed = parse_namespace(resolve_namespace("user", {"user_id": subject}))
        target = find_target(caller, parsed)
        principal = caller.principal
        is_owner = permissions.is_owner(principal, target) and principal.allows("memory:read")
        visible = [row for row in namespaces if is_owner or _can_export(caller, row)]
        if not is_owner and not visible:
            fault = NotFound(_("User not found."))
            if namespaces:
                record_refusal(caller, "memory.exported", parsed.text, fault)
            raise fault
        may_read_runs = is_owner and principal.allows("runs:read")
        records = _list_host_records(caller.team_id, subject) if may_read_runs else []
        left_out = len(namespaces) - len(visible)
        options = ExportOptions(left_out, is_owner=is_owner, reads=True, records=records)
        return _write_file(caller, "person", subject, visible, options)


def export_team(caller: MemoryCaller) -> ExportFile:
    """Export the team's namespaces that an admin may view. The header has the number of the others."""
    access.check(caller.principal, "memory.share", caller.team_id)
    with pausable_tenant([caller.team_id]):
        all_namespaces = Namespace.objects.unscoped().filter(team_id=caller.team_id)
        all_namespaces = all_namespaces.exclude(scope__in=RUN_SCOPES)
        visible = select_visible(caller, Namespace)
        namespaces = list(visible.exclude(scope__in=RUN_SCOPES).order_by("scope", "text", "id"))
        name = Team.objects.values_list("name", flat=True).get(pk=caller.team_id)
        options = ExportOptions(left_out=all_namespaces.count() - len(namespaces))
        return _write_file(caller, "team", name, namespaces, options)


def export_all(
    team_id: UUID, *, namespace: str | None = None, subject: str | None = None
) -> ExportFile:
    """Export for an operator of the installation, including private memory. The audit log names the system as actor."""
    caller = MemoryCaller(_SystemPrincipal(team_id), team_id)
    with pausable_tenant([team_id]):
        if subject is not None:
            subject = normalize_identifier(subject)
            namespaces = list_namespaces_of_person(team_id, subject)
            records = _list_host_records(team_id, subject)
            options = ExportOptions(is_owner=True, reads=True, records=records)
            return _write_file(caller, "person", subject, namespaces, options)
        all_namespaces = Namespace.objects.unscoped().filter(team_id=team_id)
        all_namespaces = all_namespaces.order_by("scope", "text", "id")
        options = ExportOptions(is_owner=True)
        if namespace is None:
            name = Team.objects.values_list("name", flat=True).get(pk=team_id)
            namespaces = list(all_namespaces.exclude(scope__in=RUN_SCOPES))
            return _write_file(caller, "team", name, namespaces, options)
        namespaces = list(all_namespaces.filter(text=namespace))
        if not namespaces:
            raise NotFound(_("Memory not found."))
        return _write_file(caller, "namespace", namespace, namespaces, options)


@dataclass(frozen=True, slots=True)
class _SystemPrincipal:
    """The principal of a command. It has no permissions, only a name for the audit log."""

    team: UUID
    kind: Literal["run"] = "run"
    actor: str = "command:memory_export"
    user_id: None = None
    workflow_id: None = None

    @property
    def team_ids(self) -> frozenset[UUID]:
        return frozenset([self.team])

    def get_role(self, team_id: UUID) -> None:
        return None

    def allows(self, scope: str) -> bool:
        return False


@dataclass(slots=True)
class _ExportBody:
    file: BinaryIO
    lines: int = 1  # the header is written last
    counts: Counter[str] = field(default_factory=Counter)  # by the names of the header's counts

    def add(self, line: file_format.FileLine, counter: str = "") -> None:
        self.file.write(file_format.serialize_line(line))
        self.lines += 1
        if counter:
            self.counts[counter] += 1


def _write_file(
    caller: MemoryCaller,
    kind: ExportKind,
    name: str,
    namespaces: Sequence[Namespace],
    options: ExportOptions = NO_OPTIONS,
) -> ExportFile:
    created_at = timezone.now()
    body = _ExportBody(_open_file())
    try:
        for row in namespaces:
            _write_namespace(body, caller, row, options)
        for record_kind, data in options.records:
            body.add(file_format.AboutLine(kind=record_kind, data=dict(data)))
        body.add(file_format.EndLine(lines=body.lines + 1))
        subjects = [parse_namespace(row.text).ids[0] for row in namespaces if kind == "person"]
        personas = {strip_player(subject) for subject in subjects if find_player(subject)}
        team = Team.objects.get(pk=caller.team_id)
        header = file_format.Header(
            format="mnemoflow-memory",
            version=1,
            of=kind,
            name=name[:200],
            team=file_format.TeamInfo(id=str(team.pk), name=team.name[:200]),
            at=created_at,
            counts=file_format.Counts(**body.counts),
            left_out=options.left_out,
            personas=sorted(personas),
        )
        return _join_header(header, body.file)
    finally:
        body.file.close()


def _join_header(header: file_format.Header, body: BinaryIO) -> ExportFile:
    file = _open_file()
    file.write(file_format.serialize_line(header))
    body.seek(0)
    shutil.copyfileobj(body, file)
    size = file.tell()
    file.seek(0)
    return ExportFile(file, size, header)


def _open_file() -> BinaryIO:
    return cast(BinaryIO, _TempFile(max_size=MAX_MEMORY_BYTES))


def _write_namespace(
    body: _ExportBody, caller: MemoryCaller, row: Namespace, options: ExportOptions
) -> None:
    with _open_namespace(caller, row, is_owner=options.is_owner) as (external, detail):
        size_before, entries_before = body.file.tell(), body.counts["entries"]
        created_at = row.created_at
        line = file_format.NamespaceLine(namespace=row.text, scope=row.scope, created_at=created_at)
        body.add(line, "namespaces")
        if external is not None:
            _write_external(body, row, external)
        else:
            _write_entries(body, row, reads=options.reads)
        detail["bytes"] = body.file.tell() - size_before
        detail["keys"] = body.counts["entries"] - entries_before


@contextmanager
def _open_namespace(
    caller: MemoryCaller, row: Namespace, *, is_owner: bool
) -> Iterator[tuple[NamespaceStore | None, dict[str, Any]]]:
    """Yield the external provider, if any, and the audit details. With ``is_owner``, no permission is checked, so that
    people also get the notes of their runs, which they can't view.
    """
    if not is_owner:
        with open_namespace(caller, "view", "memory.exported", namespace=row.text) as access:
            check_can_export(access)
            yield access.open_store() if access.external else None, access.detail
        return
    detail: dict[str, Any] = {}
    external = find_external_provider(caller.team_id, parse_namespace(row.text), NO_LIMITS)
    yield external.provider if external else None, detail
    is_system = isinstance(caller.principal, _SystemPrincipal)
    audit.record(
        team_id=caller.team_id,
        actor=caller.principal.actor,
        actor_kind="system" if is_system else caller.principal.kind,
        action="memory.exported",
        subject=row.text,
        detail=detail,
    )


def _list_host_records(team_id: UUID, subject: str) -> list[tuple[str, Mapping[str, Json]]]:
    return list(get_host().list_records_of_person(team_id, subject))


def _can_export(caller: MemoryCaller, row: Namespace) -> bool:
    return permissions.can_export(caller.principal, permissions.build_target(row))


def _write_entries(body: _ExportBody, row: Namespace, *, reads: bool) -> None:
    """Write the entries as of one moment, because a single statement reads them. Revisions are never removed."""
    entries = Entry.objects.unscoped().filter(namespace=row)
    # In the order of their numbers, because recall depends on the order within a group.
    ordered = entries.order_by(F("number").asc(nulls_last=True), "created_at", "id")
    for batch in _split_batches(ordered.iterator(chunk_size=BATCH_SIZE), BATCH_SIZE):
        ids = [entry.pk for entry in batch]
        revisions = Revision.objects.unscoped().filter(entry_id__in=ids).order_by("number")
        revisions_by_entry = _group_by_entry(revisions)
        read_rows = Read.objects.unscoped().filter(entry_id__in=ids).order_by("at", "id")
        reads_by_entry = _group_by_entry(read_rows) if reads else {}
        for entry in batch:
            line = build_entry_line(rows.build_entry(entry, row.text), entry.deleted_at)
            body.add(line, "entries")
            for revision in revisions_by_entry.get(entry.pk, ()):
                if revision.number <= entry.revision:
                    body.add(build_revision_line(revision), "revisions")
            for read in reads_by_entry.get(entry.pk, ()):
                body.add(build_read_line(read))
    for group in Group.objects.unscoped().filter(namespace=row).order_by("name"):
        name, position = group.name, group.last_position
        body.add(file_format.GroupLine(namespace=row.text, name=name, last_position=position))


def _write_external(body: _ExportBody, row: Namespace, external: NamespaceStore) -> None:
    """Write the entries of an external provider, with their past and present values as revisions."""
    for entry in reversed(external.recall(MemoryQuery(row.text, include_former=True))):
        body.add(build_entry_line(entry, None), "entries")
        for revision in external.history(row.text, entry.key):
            body.add(build_external_revision_line(entry, revision), "revisions")


def _group_by_entry(records: Iterable[Any]) -> dict[UUID, list[Any]]:  # Any: revisions or reads
    by_entry: dict[UUID, list[Any]] = {}
    for record in records:
        by_entry.setdefault(record.entry_id, []).append(record)
    return by_entry


def _split_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
