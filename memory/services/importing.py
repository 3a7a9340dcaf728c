"""Import: a file that memory wrote, checked line by line, then brought in a batch a transaction.

A dry run does all of it and takes it back, so that what it says is what would happen. A file with a line
that can't be read changes nothing. What rights, policy or quota refuse is left out and named; the rest comes,
as one change a namespace, and they undo together.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import BinaryIO, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.tenancy import tenant
from config import strict
from config.again import tried_again
from config.ids import uuid7
from memory.core.errors import InvalidInput, MemoryFault, QuotaExceeded
from memory.core.policy import check_room, check_value
from memory.core.records import Json, Source, StoreParams
from memory.core.scopes import resolve_namespace
from memory.core.values import check_params, search_text
from memory.models import Change, Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.bringing import Brought, bring, leave_empty, moved_id
from memory.services import exchange
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.importing_check import check_file
from memory.services.importing_report import Clash, Imported, Refusal, Target
from memory.services.undo import undo


AT_ONCE: Final = 200  # entries a transaction
# History that a file tells is told by a file: nobody here has seen who did it, and no run of ours is it.
TOLD: Final = "file:"


@tried_again
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
        raise InvalidInput(f"clash: one of these was expected: {', '.join(Clash)}.")
    if file.seekable():
        file.seek(0)  # it may be the second try
    checked = check_file(file)
    report = Imported(dry_run=dry_run, header=checked.header, problems=checked.problems)
    if report.problems or checked.header is None:
        return report
    places = {**(_mine(caller, checked.header) if as_mine else {}), **into}
    work = _Work(caller, report, Clash(clash), places, reason or _("import"))
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


@tried_again
def undo_import(caller: MemoryCaller, *, changes: Sequence[UUID | str]) -> int:
    """All namespaces of an import or none; how many entries there were."""
    if not 1 <= len(changes) <= 1_000:
        raise InvalidInput("changes: from 1 to 1000 were expected.")
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
class _Unit:
    """An entry with its past, and the line it stands in."""

    number: int
    line: exchange.EntryLine
    past: list[exchange.RevisionLine] = field(default_factory=list)


@dataclass(slots=True)
class _Here:
    """Where the lines go at the moment."""

    target: Target
    line: int
    change: Change | None = None
    shifts: MutableMapping[str, int] = field(default_factory=dict)
    refused: bool = False


@dataclass(slots=True)
class _Work:
    caller: MemoryCaller
    report: Imported
    clash: Clash
    into: Mapping[str, str]
    reason: str

    def bring(self, file: BinaryIO) -> None:
        here: _Here | None = None
        waiting: list[_Unit] = []
        for number, line in _lines(file):
            if isinstance(line, exchange.RevisionLine):
                waiting[-1].past.append(line)
                continue
            if len(waiting) >= AT_ONCE or isinstance(
                line, exchange.NamespaceLine | exchange.GroupLine | exchange.EndLine
            ):
                self._batch(here, waiting)
                waiting = []
            if isinstance(line, exchange.NamespaceLine):
                text = self.into.get(line.namespace, line.namespace)
                here = _Here(Target(line.namespace, text), number)
                self.report.targets.append(here.target)
                self._open(here)
            elif isinstance(line, exchange.EntryLine):
                waiting.append(_Unit(number, line))
            elif isinstance(line, exchange.GroupLine):
                self._end_group(here, line)
            elif not isinstance(line, exchange.EndLine):
                self.report.leave(line)

    def _open(self, here: _Here) -> None:
        """Whether these may come at all is asked once, so that it is said of the namespace and not of each."""
        try:
            with opened(self.caller, "write", "memory.imported", namespace=here.target.to) as door:
                if door.elsewhere is not None:  # which takes nothing back, a dry run's neither
                    raise InvalidInput(_("What is kept elsewhere can't be imported into."))
                door.claim()
                door.detail.update(keys=0, **{"from": here.target.named})
        except MemoryFault as fault:
            here.refused = True
            here.target.why = str(fault)
            self.report.refuse(Refusal(here.line, here.target.named, "", str(fault)))

    def _batch(self, here: _Here | None, units: Sequence[_Unit]) -> None:
        if here is None or not units:
            return
        if here.refused:
            here.target.refused += len(units)
            return
        with opened(self.caller, "write", "memory.imported", namespace=here.target.to) as door:
            batch = _Batch(self, here, door, door.claim())
            batch.bring(units)
            door.detail.update(keys=batch.done, **{"from": here.target.named})
            if here.change is not None:
                door.detail["change"] = str(here.change.pk)

    def _end_group(self, here: _Here | None, line: exchange.GroupLine) -> None:
        if here is None or here.refused or line.name not in here.shifts:
            return
        with tenant([self.caller.team_id]):
            namespace = rows.lock_namespace(self.caller.team_id, here.target.to)
            if namespace is not None:
                leave_empty(namespace, line.name, line.last_position, here.shifts)


@dataclass(slots=True)
class _Batch:
    """One transaction's worth, in a locked namespace."""

    work: _Work
    here: _Here
    door: Door
    namespace: Namespace
    done: int = 0

    def bring(self, units: Sequence[_Unit]) -> None:
        rows.expire(self.namespace, self.door.now)
        keys = [unit.line.key for unit in units if unit.line.forgotten_at is None]
        living = {one.key: one for one in rows.living(self.namespace).filter(key__in=keys)}
        fresh = []
        for unit in units:
            there = living.get(unit.line.key) if unit.line.forgotten_at is None else None
            if there is None:
                fresh.append(unit)
            else:
                self._meet(unit, there)
        self._add(fresh)
        if self.here.change is not None:
            self.here.change.entry_count += self.done
            self.here.change.save(update_fields=["entry_count"])

    def _meet(self, unit: _Unit, there: Entry) -> None:
        """Something lives under that key already."""
        line, target = unit.line, self.here.target
        if _says_the_same(line, there):
            target.same += 1
        elif self.work.clash is Clash.MINE or (
            self.work.clash is Clash.NEWER and line.updated_at <= there.updated_at
        ):
            target.kept += 1
        else:
            self._overwrite(unit, there)

    def _overwrite(self, unit: _Unit, there: Entry) -> None:
        """What the file tells of the time before comes with it, after what was here and before what is from now on."""
        line, now = unit.line, self.door.now
        try:
            self._check_end(line)
            ttl = (line.expires_at - now).total_seconds() if line.expires_at else None
            params = StoreParams(
                namespace=self.namespace.text,
                key=line.key,
                value=line.value,
                metadata=line.metadata,
                category=line.category,
                tier=line.tier,
                importance=line.importance,
                ttl_seconds=ttl,
                source=Source(actor=_told(line.source.actor, 120), rule=line.source.rule),
            )
            check_params(params)
            check_value(self.door.policy, params.value)
            act = self.door.act(Operation.STORE, self.work.reason, self._change())
            with transaction.atomic():
                self._tell_past(unit, there)
                rows.write(self.namespace, params, act, self.door.policy)
        except MemoryFault as fault:
            self._refuse(unit, fault)
            return
        self.here.target.overwritten += 1
        self.done += 1

    def _tell_past(self, unit: _Unit, there: Entry) -> None:
        """Told today: a look back at an earlier day finds what was here then, not what was so elsewhere."""
        told = [_retold(there, one, self._change(), self.door.now) for one in unit.past[:-1]]
        for number, revision in enumerate(told, there.revision + 1):
            revision.number = number
        Revision.objects.unscoped().bulk_create(told)
        there.revision += len(told)
        there.save(update_fields=["revision"])

    def _add(self, units: Sequence[_Unit]) -> None:
        self.namespace.refresh_from_db(fields=["entry_count", "byte_count"])
        taken = self._taken([unit.line.id for unit in units])
        brought: list[Brought] = []
        count = size = 0
        for unit in units:
            try:
                bytes_ = check_value(self.door.policy, unit.line.value)
                if unit.line.forgotten_at is None:
                    self._check_end(unit.line)
                    self._check_room(count + 1, size + bytes_)
                    count, size = count + 1, size + bytes_
            except (QuotaExceeded, InvalidInput) as fault:
                self._refuse(unit, fault)
                continue
            if (one := self._brought(unit, bytes_, taken)) is not None:
                brought.append(one)
        if brought:
            policy = self.door.policy
            rows.take_room(self.namespace, policy, entries=count, size=size)
            bring(self.namespace, brought, self.here.shifts)
        self.here.target.new += count
        self.done += count

    def _check_end(self, line: exchange.EntryLine) -> None:
        if line.expires_at is not None and line.expires_at <= self.door.now:
            raise InvalidInput(_("It has ended."))

    def _check_room(self, entries: int, size: int) -> None:
        row = self.namespace
        check_room(
            self.door.policy,
            row.text,
            entries=row.entry_count + entries,
            size=row.byte_count + size,
        )

    def _taken(self, old: Sequence[UUID]) -> set[UUID]:
        """Of these ids, and of those they would get here, the ones that are here."""
        wanted = [*old, *(moved_id(self.namespace, one) for one in old)]
        found = Entry.objects.unscoped().filter(namespace=self.namespace, pk__in=wanted)
        return set(found.values_list("pk", flat=True))

    def _brought(self, unit: _Unit, size: int, taken: set[UUID]) -> Brought | None:
        """None: what was forgotten over there, and is here as history already."""
        line, now = unit.line, self.door.now
        own = moved_id(self.namespace, line.id)
        if line.forgotten_at is not None and not taken.isdisjoint((own, line.id)):
            return None
        if own in taken:
            own = uuid7()
        entry = Entry(
            id=own,
            team_id=self.namespace.team_id,
            namespace=self.namespace,
            key=line.key,
            value=line.value,
            metadata=line.metadata,
            text=search_text(line.key, line.value),
            size=size,
            category=line.category,
            tier=line.tier.value,
            importance=line.importance,
            revision=line.revision,
            created_at=min(line.created_at, now),
            updated_at=min(line.updated_at, now),
            expires_at=line.expires_at,
            deleted_at=min(line.forgotten_at, now) if line.forgotten_at else None,
            source_actor=_told(line.source.actor, 120),
            source_run=_told(line.source.run_id, 80),
            source_node=line.source.node_id,
            source_message=line.source.message,
            source_rule=line.source.rule,
        )
        change = self._change()
        past = unit.past or [_only(line)]
        revisions = [_revision(entry, one, change, now) for one in past]
        return Brought(entry, line.position, revisions)

    def _change(self) -> UUID:
        """Made with the first entry that needs it."""
        if self.here.change is None:
            self.here.change = Change.objects.unscoped().create(
                team_id=self.namespace.team_id,
                namespace=self.namespace,
                operation=Operation.STORE,
                actor=self.door.caller.principal.actor,
                reason=self.work.reason[:500],
                at=self.door.now,
            )
            self.work.report.changes.append(self.here.change.pk)
        return self.here.change.pk

    def _refuse(self, unit: _Unit, fault: MemoryFault) -> None:
        self.here.target.refused += 1
        self.work.report.refuse(
            Refusal(unit.number, self.here.target.named, unit.line.key, str(fault))
        )


def _lines(file: BinaryIO) -> Iterator[tuple[int, exchange.Line]]:
    """A second time through what was found good."""
    for one in exchange.read(file, strict.loads):
        if isinstance(one, exchange.Problem):
            raise InvalidInput(f"file: line {one.line} changed while it was read.")
        if not isinstance(one.line, exchange.Header):
            yield one.number, one.line


def _mine(caller: MemoryCaller, header: exchange.Header) -> dict[str, str]:
    if header.of != "person" or caller.principal.user_id is None:
        return {}
    theirs = resolve_namespace("user", {"user_id": header.name})
    return {theirs: resolve_namespace("user", {"user_id": str(caller.principal.user_id)})}


def _says_the_same(line: exchange.EntryLine, there: Entry) -> bool:
    mine: tuple[Json, ...] = (there.value, there.metadata, there.category, there.tier)
    theirs = (line.value, line.metadata, line.category, line.tier.value)
    return (
        mine == theirs
        and there.importance == line.importance
        and there.expires_at == line.expires_at
    )


def _told(said: str, longest: int) -> str:
    return said if not said or said.startswith(TOLD) else f"{TOLD}{said}"[:longest]


def _only(line: exchange.EntryLine) -> exchange.RevisionLine:
    """An entry without a past is at its only revision."""
    return exchange.RevisionLine(
        entry=line.id,
        number=line.revision,
        operation="forget" if line.forgotten_at else "store",
        actor=line.source.actor,
        at=line.forgotten_at or line.updated_at,
        **{name: getattr(line, name) for name in _STATE},
    )


_STATE = ("value", "metadata", "category", "tier", "importance", "position", "expires_at")


def _revision(entry: Entry, line: exchange.RevisionLine, change: UUID, now: datetime) -> Revision:
    return Revision(
        team_id=entry.team_id,
        entry=entry,
        number=line.number,
        operation=line.operation,
        value=line.value,
        metadata=line.metadata,
        category=line.category,
        tier=line.tier.value,
        importance=line.importance,
        position=line.position,
        expires_at=line.expires_at,
        actor=_told(line.actor, 120),
        reason=line.reason,
        run_id=_told(line.run_id, 80),
        node_id=line.node_id,
        change_id=change,
        at=min(line.at, now),
    )


def _retold(there: Entry, line: exchange.RevisionLine, change: UUID, now: datetime) -> Revision:
    """As history of an entry that has one of its own; when it was over there stands in the reason."""
    made = _revision(there, line, change, now)
    said = _("%(when)s in the file") % {"when": line.at.isoformat(timespec="minutes")}
    made.reason = (f"{said}: {line.reason}" if line.reason else said)[:500]
    made.position, made.at = there.position, now
    return made


def _record_rehearsal(caller: MemoryCaller, report: Imported) -> None:
    audit.record(
        team_id=caller.team_id,
        actor=caller.principal.actor,
        actor_kind=caller.principal.kind,
        action="memory.rehearsed",
        subject="import",
        detail={"import": True, "new": report.new, "overwritten": report.overwritten,
                "refused": report.refused},
    )  # fmt: skip
