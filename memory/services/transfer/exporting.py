"""Export: a namespace, all about a person, or what one may see of a team, as one file.

It is written to disk first, a few entries at a time, and sent afterwards: a slow reader holds no
transaction, and a refusal comes before the first byte.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
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
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory import permissions
from memory.core.entry_codec import get_columns
from memory.core.errors import NotFound
from memory.core.policy import NO_LIMITS
from memory.core.provider import NamespaceStore
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.core.scopes import parse_namespace, resolve_namespace
from memory.host import get_host
from memory.models import Entry, Group, Namespace, Read, Revision
from memory.permissions import NamespaceTarget
from memory.providers.postgres import rows
from memory.routing import find_external_provider
from memory.services.erasure.erase import list_namespaces_of_person
from memory.services.gateway.audit_lines import record_refusal
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.transfer import file_format
from memory.services.transfer.export_access import check_takes_out


AT_ONCE: Final = 100  # entries
IN_MEMORY: Final = 2 * 1024 * 1024  # bytes, before a file is a file
CHUNK: Final = 256 * 1024

T = TypeVar("T")


@dataclass(slots=True)
class Exported:
    """Belongs to whoever asked: to be read once, then closed. ``left_out``: namespaces they may not see."""

    file: BinaryIO
    size: int
    header: file_format.Header

    @property
    def left_out(self) -> int:
        return self.header.left_out

    def chunks(self) -> Iterator[bytes]:
        with self.file:
            while chunk := self.file.read(CHUNK):
                yield chunk


class _Spool(SpooledTemporaryFile[bytes]):
    """A reader who went away closes nothing."""

    def __del__(self) -> None:
        self.close()


@retry_on_conflict
def export_namespace(caller: MemoryCaller, *, namespace: str) -> Exported:
    """Refused as any look into it is, and to whom emergency access alone lets look."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        if access.target.row is None:
            raise NotFound(_("Memory not found."))
        found = [access.target.row]
    with tenant([caller.team_id]):
        return _written(caller, "namespace", namespace, found)


def export_person(caller: MemoryCaller, *, subject: str) -> Exported:
    """All of it for the person themselves and the key that names them; for others what they may see.

    A key also needs to read: memory for what is remembered, runs for what was said.
    """
    with tenant([caller.team_id]):
        theirs = list_namespaces_of_person(caller.team_id, subject)
        named = parse_namespace(resolve_namespace("user", {"user_id": subject}))
        place = NamespaceTarget(
            caller.team_id, named, rows.find_namespace(caller.team_id, named.text)
        )
        who = caller.principal
        own = permissions.is_owner(who, place) and who.allows("memory:read")
        seen = theirs if own else [row for row in theirs if _may_take(caller, row)]
        if not own and not seen:
            fault = NotFound(_("User not found."))
            if theirs:
                record_refusal(caller, "memory.exported", named.text, fault)
            raise fault
        may_read_runs = own and who.allows("runs:read")
        about = _list_host_records(caller.team_id, subject) if may_read_runs else []
        return _written(
            caller, "person", subject, seen,
            Also(left_out=len(theirs) - len(seen), own=own, reads=True, about=about),
        )  # fmt: skip


def export_team(caller: MemoryCaller) -> Exported:
    """For admins, and no more than what they may look into; the rest is counted."""
    access.check(caller.principal, "memory.share", caller.team_id)
    with tenant([caller.team_id]):
        every = Namespace.objects.unscoped().filter(team_id=caller.team_id)
        every = every.exclude(scope__in=rows.OF_RUNS)
        seen = Namespace.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        found = list(seen.exclude(scope__in=rows.OF_RUNS).order_by("scope", "text", "id"))
        name = Team.objects.values_list("name", flat=True).get(pk=caller.team_id)
        return _written(caller, "team", name, found, Also(left_out=every.count() - len(found)))


def export_all(
    team_id: UUID, *, namespace: str | None = None, subject: str | None = None
) -> Exported:
    """For who runs commands here: what is private to others too. The trail says it was the system."""
    caller = MemoryCaller(_System(team_id), team_id)
    with tenant([team_id]):
        if subject is not None:
            found = list_namespaces_of_person(team_id, subject)
            about = _list_host_records(team_id, subject)
            also = Also(own=True, reads=True, about=about)
            return _written(caller, "person", subject, found, also)
        rows_ = Namespace.objects.unscoped().filter(team_id=team_id)
        chosen = (
            rows_.exclude(scope__in=rows.OF_RUNS)
            if namespace is None
            else rows_.filter(text=namespace)
        )
        found = list(chosen.order_by("scope", "text", "id"))
        if namespace is not None and not found:
            raise NotFound(_("Memory not found."))
        of: Literal["namespace", "team"] = "team" if namespace is None else "namespace"
        name = namespace or Team.objects.values_list("name", flat=True).get(pk=team_id)
        return _written(caller, of, name, found, Also(own=True))


def _list_host_records(team_id: UUID, subject: str) -> list[tuple[str, Mapping[str, Json]]]:
    return list(get_host().list_records_of_person(team_id, subject))


@dataclass(frozen=True, slots=True)
class _System:
    """Implements ``accounts.principals.Principal`` for a command: no rights, only a name for the trail."""

    team: UUID
    kind: Literal["run"] = "run"
    actor: str = "command:memory_export"
    user_id: None = None

    @property
    def team_ids(self) -> frozenset[UUID]:
        return frozenset([self.team])

    def get_role(self, team_id: UUID) -> None:
        return None

    def allows(self, scope: str) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Also:
    """``own``: the person's, whatever doors say. ``about``: from other apps."""

    left_out: int = 0
    own: bool = False
    reads: bool = False
    about: Sequence[tuple[str, Mapping[str, Json]]] = ()


NOTHING: Final = Also()


@dataclass(slots=True)
class _Body:
    file: BinaryIO
    lines: int = 1  # the first is written last
    counts: dict[str, int] = field(
        default_factory=lambda: {"namespaces": 0, "entries": 0, "revisions": 0}
    )

    def add(self, line: file_format.Line, counted: str = "") -> None:
        self.file.write(file_format.written(line))
        self.lines += 1
        if counted:
            self.counts[counted] += 1


def _written(
    caller: MemoryCaller,
    of: Literal["namespace", "person", "team"],
    name: str,
    found: Sequence[Namespace],
    also: Also = NOTHING,
) -> Exported:
    at = timezone.now()
    body = _Body(_file())
    try:
        for row in found:
            _write_namespace(body, caller, row, also)
        for kind, data in also.about:
            body.add(file_format.AboutLine(kind=kind, data=dict(data)))
        body.add(file_format.EndLine(lines=body.lines + 1))
        header = _header(caller, of, name, at, body, found, also)
        return _joined(header, body.file)
    finally:
        body.file.close()


def _header(
    caller: MemoryCaller,
    of: Literal["namespace", "person", "team"],
    name: str,
    at: datetime,
    body: _Body,
    found: Sequence[Namespace],
    also: Also,
) -> file_format.Header:
    ids = [parse_namespace(row.text).ids[0] for row in found if of == "person"]
    team = Team.objects.get(pk=caller.team_id)
    return file_format.Header(
        format="mnemoflow-memory",
        version=1,
        of=of,
        name=name[:200],
        team=file_format.Whose(id=str(team.pk), name=team.name[:200]),
        at=at,
        counts=file_format.Counts(**body.counts),
        left_out=also.left_out,
        personas=sorted({strip_player(one) for one in ids if find_player(one)}),
    )


def _joined(header: file_format.Header, body: BinaryIO) -> Exported:
    whole = _file()
    whole.write(file_format.written(header))
    body.seek(0)
    shutil.copyfileobj(body, whole)
    size = whole.tell()
    whole.seek(0)
    return Exported(whole, size, header)


def _file() -> BinaryIO:
    return cast(BinaryIO, _Spool(max_size=IN_MEMORY))


def _write_namespace(body: _Body, caller: MemoryCaller, row: Namespace, also: Also) -> None:
    with _let_in(caller, row, own=also.own) as (there, detail):
        before = body.file.tell(), body.counts["entries"]
        line = file_format.NamespaceLine(
            namespace=row.text, scope=row.scope, created_at=row.created_at
        )
        body.add(line, "namespaces")
        if there is not None:
            _write_external(body, row, there)
        else:
            _write_entries(body, row, reads=also.reads)
        detail["bytes"] = body.file.tell() - before[0]
        detail["keys"] = body.counts["entries"] - before[1]


@contextmanager
def _let_in(
    caller: MemoryCaller, row: Namespace, *, own: bool
) -> Iterator[tuple[NamespaceStore | None, dict[str, Any]]]:
    """What is a person's own they take with them, notes of their runs too, that no door opens to people."""
    if not own:
        with MemoryGateway(caller).open_namespace(
            "view", "memory.exported", namespace=row.text
        ) as access:
            check_takes_out(access)
            yield access.store() if access.external else None, access.detail
        return
    detail: dict[str, Any] = {}
    external = find_external_provider(caller.team_id, parse_namespace(row.text), NO_LIMITS)
    yield external.provider if external else None, detail
    audit.record(
        team_id=caller.team_id,
        actor=caller.principal.actor,
        actor_kind="system" if isinstance(caller.principal, _System) else caller.principal.kind,
        action="memory.exported",
        subject=row.text,
        detail=detail,
    )


def _may_take(caller: MemoryCaller, row: Namespace) -> bool:
    place = NamespaceTarget(caller.team_id, parse_namespace(row.text), row)
    return permissions.can_export(caller.principal, place)


def _write_entries(body: _Body, row: Namespace, *, reads: bool) -> None:
    """One statement over all entries is one moment; revisions are only ever added, so those of it are there."""
    entries = Entry.objects.unscoped().filter(namespace=row)
    # By number: who came before whom in a group is what recall is about.
    ordered = entries.order_by(F("number").asc(nulls_last=True), "created_at", "id")
    for batch in _batches(ordered.iterator(chunk_size=AT_ONCE), AT_ONCE):
        ids = [entry.pk for entry in batch]
        past = _by_entry(Revision.objects.unscoped().filter(entry_id__in=ids).order_by("number"))
        seen = (
            _by_entry(Read.objects.unscoped().filter(entry_id__in=ids).order_by("at", "id"))
            if reads
            else {}
        )
        for entry in batch:
            body.add(_entry_line(rows.entry_of(entry, row.text), entry.deleted_at), "entries")
            for revision in past.get(entry.pk, ()):
                if revision.number <= entry.revision:
                    body.add(_revision_line(revision), "revisions")
            for read in seen.get(entry.pk, ()):
                body.add(_read_line(read))
    for group in Group.objects.unscoped().filter(namespace=row).order_by("name"):
        body.add(
            file_format.GroupLine(
                namespace=row.text, name=group.name, last_position=group.last_position
            )
        )


def _write_external(body: _Body, row: Namespace, there: NamespaceStore) -> None:
    """What another provider keeps has no places to keep; its values are its revisions."""
    for entry in reversed(there.recall(MemoryQuery(row.text))):
        body.add(_entry_line(entry, None), "entries")
        for past in there.history(row.text, entry.key):
            body.add(_value_line(entry, past), "revisions")


def _entry_line(entry: MemoryEntry, forgotten_at: datetime | None) -> file_format.EntryLine:
    made = entry.created_at or entry.updated_at or timezone.now()
    return file_format.EntryLine(
        namespace=entry.namespace,
        id=UUID(entry.id),
        key=entry.key,
        revision=entry.revision,
        created_at=made,
        updated_at=entry.updated_at or made,
        forgotten_at=forgotten_at,
        source=file_format.Source(**asdict(entry.source)),
        **get_columns(entry),
    )


def _revision_line(one: Revision) -> file_format.RevisionLine:
    operation: Any = one.operation  # one of the words, as the database holds it
    return file_format.RevisionLine(
        entry=one.entry_id,
        number=one.number,
        operation=operation,
        actor=one.actor,
        reason=one.reason,
        run_id=one.run_id,
        node_id=one.node_id,
        at=one.at,
        **get_columns(one),
    )


def _value_line(entry: MemoryEntry, past: MemoryEntry) -> file_format.RevisionLine:
    at = past.updated_at or past.created_at or timezone.now()
    return file_format.RevisionLine(
        entry=UUID(entry.id),
        number=past.revision,
        operation="store",
        actor=past.source.actor,
        run_id=past.source.run_id,
        node_id=past.source.node_id,
        at=at,
        **get_columns(past),
    )


def _read_line(one: Read) -> file_format.ReadLine:
    return file_format.ReadLine(
        entry=one.entry_id,
        revision=one.revision,
        run_id=one.run_id,
        node_id=one.node_id,
        score=one.score,
        injected=one.injected,
        at=one.at,
    )


def _by_entry(found: Iterable[Any]) -> dict[UUID, list[Any]]:  # revisions, or reads
    sorted_: dict[UUID, list[Any]] = {}
    for one in found:
        sorted_.setdefault(one.entry_id, []).append(one)
    return sorted_


def _batches(found: Iterable[T], size: int) -> Iterator[list[T]]:
    items = iter(found)
    while batch := list(islice(items, size)):
        yield batch
